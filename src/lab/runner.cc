#include "lab/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <future>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "lab/experiments.h"
#include "lab/folder.h"
#include "lab/page.h"
#include "lab/report/gnuplot.h"
#include "lab/report/paper.h"
#include "lab/report/report.h"
#include "lab/settings.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;

// Results with what they say.
Finished found(const Experiment& experiment, const Study::Collect& collect) {
  Finished finished = collect();
  Results& results = finished.results;
  add_findings(experiment, results);
  for (const Group& group : results.groups) {
    if (group.runs == 0) continue;
    const auto last = group.values.end() - static_cast<std::ptrdiff_t>(group.runs);
    const auto failed = std::count_if(last, group.values.end(), is_failed);
    if (failed > 0)
      results.notes.push_back(fmt::format(
          "{} of {} failed.", counted(static_cast<std::size_t>(failed), "run"), group.method));
  }
  return finished;
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
  if (failed)
    throw Error(fmt::format("{} cannot be created: {}.", folder.string(), failed.message()));
}

// The progress of several studies as that of one.
class Progress {
 public:
  Progress(const std::vector<Experiment>& experiments, const RunOptions& options)
      : options_(options) {
    for (const Experiment& one : experiments) all_ += one.study->weight();
  }
  [[nodiscard]] std::function<void(double)> of(const Study& study) const {
    if (!options_.progress) return {};
    const double weight = study.weight();
    return [this, weight](double share) { options_.progress((done_ + share * weight) / all_); };
  }
  void finished(const Study& study) { done_ += study.weight(); }

 private:
  const RunOptions& options_;
  double all_ = 0, done_ = 0;
};

}  // namespace

Finished run_experiment(const Experiment& experiment, const StudyContext& context) {
  return found(experiment, experiment.study->run(experiment, context));
}

std::vector<ResultFolder> open_folders(const std::vector<Place>& places,
                                       const RunOptions& options) {
  check_page(options.out / "index.html");
  for (const Place& place : places)
    if (!options.replace) check_same_settings(options.out / place.name, place.config);
  make_folder(options.out);
  remove_leftovers(options.out);
  std::vector<ResultFolder> folders;
  folders.reserve(places.size());
  for (const Place& place : places) folders.emplace_back(options.out / place.name);
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
  if (drawn.valid()) {
    const std::string failure = drawn.get();
    if (!failure.empty() && options.warn) options.warn(failure);
  }
  for (ResultFolder& folder : folders) folder.commit();
  const std::size_t fresh = sections.size();
  sections = sections_of(options.out, std::move(sections), options.warn);
  const std::string out = shell_word(options.out.string());
  // Of results that other commands made, none of them makes the page again.
  const std::string command = sections.size() != fresh  ? "medgrad report " + out
                              : options.command.empty() ? ""
                                                        : options.command + " --out " + out;
  write_file(
      (options.out / "index.html").string(),
      report_html(sections,
                  {.command = command, .origin = origin_here(), .built_in = built_in_names()}));
}

void write_results(const std::vector<Finished>& experiments, const RunOptions& options) {
  std::vector<Place> places;
  places.reserve(experiments.size());
  for (const Finished& one : experiments) places.push_back({one.results.experiment, one.config});
  write_results(experiments, open_folders(places, options), options);
}

std::vector<Results> run_experiments(const std::vector<Experiment>& experiments,
                                     const RunOptions& options) {
  std::vector<Place> places;
  for (const Experiment& one : experiments) {
    one.study->require_data();
    places.push_back({one.name, one.study->config(one)});
  }
  const bool was_there = fs::exists(options.out);
  std::vector<ResultFolder> folders = open_folders(places, options);
  const fs::path unfinished = options.out / ".unfinished";
  Progress progress(experiments, options);
  std::vector<Study::Collect> measured;
  std::optional<Stopped> stopped;
  for (const Experiment& one : experiments) {
    try {
      measured.push_back(one.study->run(one, {.pool = options.pool,
                                              .work = unfinished / one.name,
                                              .memory = options.memory,
                                              .progress = progress.of(*one.study),
                                              .stop = options.stop}));
    } catch (const Interrupted& interrupted) {
      stopped = Stopped{.finished = {}, .experiment = one.name, .kept = interrupted.kept};
      break;
    } catch (...) {
      folders.clear();
      std::error_code ignored;
      if (!was_there) fs::remove(options.out, ignored);  // stays where anything is in it
      throw;
    }
    progress.finished(*one.study);
  }

  // Those that are finished are written, even where the rest was stopped.
  std::vector<Finished> finished(measured.size());
  for_each(options.pool, finished.size(),
           [&](std::size_t i) { finished[i] = found(experiments[i], measured[i]); });
  while (folders.size() > finished.size()) folders.pop_back();
  if (!finished.empty()) write_results(finished, std::move(folders), options);
  std::vector<Results> results;
  results.reserve(finished.size());
  for (Finished& one : finished) results.push_back(std::move(one.results));
  if (stopped) {
    for (const Results& one : results) stopped->finished.push_back(one.experiment);
    throw Stopped(std::move(*stopped));
  }
  std::error_code ignored;
  for (const Experiment& one : experiments) fs::remove_all(unfinished / one.name, ignored);
  fs::remove(unfinished, ignored);  // stays where other experiments wait in it
  return results;
}

}  // namespace medgrad::lab
