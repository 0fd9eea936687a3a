// Studies made of tasks: all of them on the threads there are, those of an earlier run that was
// stopped aside.
#include <fmt/core.h>

#include <atomic>
#include <memory>
#include <optional>

#include "base/file.h"
#include "lab/journal.h"
#include "lab/study.h"

namespace medgrad::lab {
namespace {

using Numbers = std::vector<std::vector<double>>;

// The bytes of every data file a document names.
void append_files(const Node& node, std::string& text) {
  if (const Node::Object* object = node.object()) {
    for (const auto& [key, value] : *object) {
      if (key == "file" && value.text() != nullptr) text += read_whole(*value.text());
      append_files(value, text);
    }
  }
  if (const Node::List* list = node.list())
    for (const Node& item : *list) append_files(item, text);
}

// Everything the numbers depend on.
std::string identity_of(const Experiment& experiment) {
  std::string text = to_text(experiment.document);
  append_files(experiment.document, text);
  return text;
}

}  // namespace

Study::Collect TaskStudy::run(const Experiment& experiment, const StudyContext& context) const {
  const auto numbers = std::make_shared<Numbers>(tasks());
  std::optional<Journal> journal;
  std::atomic<std::size_t> done = 0;
  if (!context.work.empty()) {
    journal.emplace(context.work, identity_of(experiment));
    done = journal->restore(*numbers);
  }
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < numbers->size(); ++i)
    if ((*numbers)[i].empty()) missing.push_back(i);
  const auto run_one = [&](std::size_t k) {
    if (context.stopped()) return;
    const std::size_t task = missing[k];
    (*numbers)[task] = run_task(task);
    if (journal) journal->add(task, (*numbers)[task]);
    const std::size_t now = ++done;
    if (context.progress)
      context.progress(static_cast<double>(now) / static_cast<double>(numbers->size()));
  };
  try {
    for_each(context.pool, missing.size(), run_one);
  } catch (...) {
    if (journal) journal->flush();
    throw;
  }
  if (journal) journal->flush();
  if (done < numbers->size())
    throw Interrupted{fmt::format("{} of {} parts are done", done, numbers->size())};
  return [this, &experiment, numbers] {
    return Finished{{.experiment = experiment.name,
                     .title = experiment.title,
                     .description = experiment.description,
                     .notes = {},
                     .groups = collect(*numbers),
                     .claims = {},
                     .figures = {}},
                    config(experiment)};
  };
}

}  // namespace medgrad::lab
