#include "lab/runner.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <fstream>
#include <future>
#include <iterator>

#include "core/text.h"
#include "lab/experiments.h"
#include "lab/folder.h"
#include "lab/journal.h"
#include "lab/report/gnuplot.h"
#include "lab/report/paper.h"
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
  std::string csv, summary, figures;
};

Files files_of(const Results& results) {
  std::vector<Figure> figures = results.figures;
  for (Figure& figure : figures) figure.paper = paper_figure(results.experiment, figure.id);
  return {results_csv(results), summary_json(results), to_json_text(figures)};
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

std::vector<ResultFolder> open_folders(const fs::path& out, const std::vector<std::string>& names) {
  make_folder(out);
  remove_leftovers(out);
  std::vector<ResultFolder> folders;
  folders.reserve(names.size());
  for (const std::string& name : names) folders.emplace_back(out / name);
  return folders;
}

void write_results(const std::vector<Finished>& experiments, std::vector<ResultFolder> folders,
                   const RunOptions& options) {
  std::vector<Files> files(experiments.size());
  // gnuplot draws while the other files are made.
  std::vector<Drawing> drawings;
  for (std::size_t i = 0; i < experiments.size(); ++i)
    drawings.push_back({experiments[i].results.figures, folders[i].path()});
  std::future<std::string> drawn;
  if (options.svg || options.pdf) {
    drawn = std::async(std::launch::async,
                       [&] { return draw(drawings, {.svg = options.svg, .pdf = options.pdf}); });
  }
  for_each(options.pool, experiments.size(), [&](std::size_t i) {
    files[i] = files_of(experiments[i].results);
    folders[i].write("config.json", experiments[i].config);
    folders[i].write("results.csv", files[i].csv);
    folders[i].write("summary.json", files[i].summary);
    folders[i].write("figures.json", files[i].figures);
  });
  std::vector<ReportSection> sections;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    const std::string& name = experiments[i].results.experiment;
    sections.push_back({name, name, experiments[i].config, files[i].summary, files[i].figures});
  }
  std::string command = options.command;
  if (!command.empty()) command += " --out " + shell_word(options.out.string());
  const std::string page = report_html(
      sections, {.command = command, .origin = origin_here(), .built_in = built_in_names()});
  if (drawn.valid()) {
    const std::string failure = drawn.get();
    if (!failure.empty() && options.warn) options.warn(failure);
  }
  for (ResultFolder& folder : folders) folder.commit();
  write_file((options.out / "index.html").string(), page);
}

void write_results(const std::vector<Finished>& experiments, const RunOptions& options) {
  std::vector<std::string> names;
  names.reserve(experiments.size());
  for (const Finished& one : experiments) names.push_back(one.results.experiment);
  write_results(experiments, open_folders(options.out, names), options);
}

std::vector<Results> run_experiments(const std::vector<Experiment>& experiments,
                                     const RunOptions& options) {
  std::vector<std::string> names;
  std::size_t total = 0;
  for (const Experiment& experiment : experiments) {
    names.push_back(experiment.name);
    total += experiment.study->tasks();
  }
  std::vector<ResultFolder> folders = open_folders(options.out, names);

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

  std::vector<Finished> finished(experiments.size());
  for_each(options.pool, experiments.size(), [&](std::size_t i) {
    finished[i] = {results_of(experiments[i], numbers[i]), to_text(experiments[i].document)};
  });
  write_results(finished, std::move(folders), options);
  std::error_code ignored;
  for (const Experiment& experiment : experiments) fs::remove(journals / experiment.name, ignored);
  fs::remove(journals, ignored);  // stays where other experiments wait in it
  std::vector<Results> results;
  results.reserve(finished.size());
  for (Finished& one : finished) results.push_back(std::move(one.results));
  return results;
}

}  // namespace medgrad::lab
