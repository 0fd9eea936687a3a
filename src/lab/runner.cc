#include "lab/runner.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <fstream>
#include <future>
#include <iterator>

#include "lab/experiments.h"
#include "lab/folder.h"
#include "lab/journal.h"
#include "lab/report/gnuplot.h"
#include "lab/report/report.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<std::vector<double>>;

Results results_of(const Experiment& experiment, const Numbers& numbers) {
  Results results{.experiment = experiment.name,
                  .title = experiment.title,
                  .description = experiment.description,
                  .notes = {},
                  .groups = experiment.study->collect(numbers),
                  .claims = {},
                  .figures = {}};
  add_findings(experiment, results);
  for (const Group& group : results.groups) {
    if (group.runs == 0) continue;
    const auto last = group.values.end() - static_cast<std::ptrdiff_t>(group.runs);
    const auto failed = std::count_if(last, group.values.end(), is_failed);
    if (failed > 0)
      results.notes.push_back(std::to_string(failed) + " runs of " + group.method + " failed.");
  }
  return results;
}

// The texts of a folder's files, made before anything is written.
struct Files {
  std::string config, csv, summary, figures;
};

Files files_of(const Experiment& experiment, const Results& results) {
  return {to_text(experiment.document), results_csv(results), summary_json(results),
          to_json_text(results.figures)};
}

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error(folder.string() + " cannot be made: " + failed.message() + ".");
}

// The bytes of every data file a document names.
void append_files(const Node& node, std::string& text) {
  if (const Node::Object* object = node.object()) {
    for (const auto& [key, value] : *object) {
      if (key == "file" && value.text() != nullptr) {
        std::ifstream in(*value.text(), std::ios::binary);
        text.append(std::istreambuf_iterator<char>(in), {});
      }
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

// All tasks of one experiment, those of the journal aside.
Numbers run_tasks(const Experiment& experiment, Journal& journal, const RunOptions& options,
                  std::atomic<std::size_t>& done, std::size_t total) {
  Numbers numbers(experiment.study->tasks());
  done += journal.restore(numbers);
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i].empty()) missing.push_back(i);
  for_each(options.pool, missing.size(), [&](std::size_t k) {
    const std::size_t task = missing[k];
    numbers[task] = experiment.study->run(task);
    journal.add(task, numbers[task]);
    const std::size_t now = ++done;
    if (options.progress) options.progress(now, total);
  });
  return numbers;
}

}  // namespace

Results run_experiment(const Experiment& experiment, ThreadPool* pool) {
  Numbers numbers(experiment.study->tasks());
  for_each(pool, numbers.size(), [&](std::size_t i) { numbers[i] = experiment.study->run(i); });
  return results_of(experiment, numbers);
}

std::vector<Results> run_experiments(const std::vector<Experiment>& experiments,
                                     const RunOptions& options) {
  make_folder(options.out);
  remove_leftovers(options.out);
  std::vector<ResultFolder> folders;
  std::size_t total = 0;
  for (const Experiment& experiment : experiments) {
    folders.emplace_back(options.out / experiment.name);
    total += experiment.study->tasks();
  }

  const fs::path journals = options.out / ".unfinished";
  std::atomic<std::size_t> done = 0;
  std::vector<Numbers> numbers;
  std::deque<Journal> kept;
  for (const Experiment& experiment : experiments) {
    Journal& journal = kept.emplace_back(journals / experiment.name, identity_of(experiment));
    try {
      numbers.push_back(run_tasks(experiment, journal, options, done, total));
    } catch (...) {
      for (Journal& one : kept) one.flush();
      throw;
    }
  }

  std::vector<Results> results(experiments.size());
  std::vector<Files> files(experiments.size());
  for_each(options.pool, experiments.size(),
           [&](std::size_t i) { results[i] = results_of(experiments[i], numbers[i]); });
  // gnuplot draws while the other files are made.
  std::vector<Drawing> drawings;
  for (std::size_t i = 0; i < experiments.size(); ++i)
    drawings.push_back({results[i].figures, folders[i].path()});
  std::future<std::string> drawn;
  if (options.svg || options.pdf) {
    drawn = std::async(std::launch::async,
                       [&] { return draw(drawings, {.svg = options.svg, .pdf = options.pdf}); });
  }
  for_each(options.pool, experiments.size(), [&](std::size_t i) {
    files[i] = files_of(experiments[i], results[i]);
    folders[i].write("config.json", files[i].config);
    folders[i].write("results.csv", files[i].csv);
    folders[i].write("summary.json", files[i].summary);
    folders[i].write("figures.json", files[i].figures);
  });
  std::vector<ReportSection> sections;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    sections.push_back({experiments[i].name, experiments[i].name, files[i].config, files[i].summary,
                        files[i].figures});
  }
  const std::string page =
      report_html(sections, {.title = "medgrad report", .command = options.command});
  if (drawn.valid()) {
    const std::string failure = drawn.get();
    if (!failure.empty() && options.warn) options.warn(failure);
  }
  for (ResultFolder& folder : folders) folder.commit();
  write_file((options.out / "index.html").string(), page);
  std::error_code ignored;
  for (const Experiment& experiment : experiments) fs::remove(journals / experiment.name, ignored);
  fs::remove(journals, ignored);  // stays where other experiments wait in it
  return results;
}

}  // namespace medgrad::lab
