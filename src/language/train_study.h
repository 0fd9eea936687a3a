// Training experiments: several methods at fixed learning rates over seeds.
//
//     {"experiment": "train-ptb", "kind": "training", "title": "…", "description": "…",
//      "task": "ptb", "size": "paper", "batch": 0, "accumulate": 0, "dropout": 0.2, "limit": 0,
//      "evaluation_limit": 0, "methods": ["sgd-m", "vclip"], "lr": [1, 3.16], "seeds": 1,
//      "seed": 0, "epochs": 2, "steps": 0, "per_tensor": false, "paper_scale": {"seeds": 5,
//      "epochs": 200}}
//
// `methods` are words as in method.h, or objects: {"name": "vclip", "tau": 0.1}. `lr` has one rate
// per method, or for some a list of rates to try; left out, it is the paper's table. Batch and
// accumulate are the paper's where they are 0 or left out, dropout where it is left out. Schedules
// are factors as in optimize.h:
//
//     "lr_schedule": {"kind": "cosine", "value": 1, "factor": 0.1, "every": 1, "warmup": 0}
//
// With "workers": 8 and "aggregate": "nnm+median" as many workers train together, simulated in one
// process; "f", "topology", "byzantine", "attack" and "events" are as in team_options.h.
//
// With "corrupted": {"share": 0.05, "factor": -100} so many steps have a wrong gradient; other
// kinds are {"share": 0.05, "kind": "bit-flip", "flips": 1} and {"share": 0.05, "kind":
// "shuffled-labels"}. A list of such objects, which differ in kind or share, runs all of it with
// each, at the rates `lr` of its own if it has any, and gives the results of corrupted_results.h.
//
// With "sweep": {"rates": [0.1, 0.316], "extend": 6} in the place of `lr`, learning rates are tuned
// as in runs.h, around the paper's where `rates` is empty; that is what config.json of a sweep is.
// `data` and `tried` are written there for people and not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/reader.h"
#include "lab/study.h"
#include "language/runs.h"

namespace medgrad::language {

struct TrainSettings {
  std::string experiment, title, description;
  std::string task;
  TaskOptions options;
  std::vector<Method> methods;
  struct Part {
    lab::Corruption corrupted = {};
    std::vector<std::vector<double>> rates = {};  // of each method
  };
  std::vector<Part> parts;  // all methods are run with each
  std::size_t seeds = 1, epochs = 1, steps = 0, accumulate = 0;
  std::uint64_t seed = 0;  // the first one
  bool per_tensor = false;
  Schedule lr_schedule = {}, tau_schedule = {};
  std::optional<TeamOptions> workers;
  struct Grid {
    std::vector<double> rates;
    std::size_t extensions = 0;
  };
  std::optional<Grid> sweep;  // instead of rates
  Node document;              // as it was read
};

// Throws Error, with file and line, for anything that is not right.
[[nodiscard]] TrainSettings read_train_settings(const Node& document, const std::string& file);

// What config.json of a sweep holds: its settings, and the rates that it came to try.
[[nodiscard]] std::string sweep_config(const Task& task, const std::string& name,
                                       const SweepOptions& sweep, const TrainingOptions& base,
                                       const std::vector<FinishedRun>& runs);

// config.json of the study as far as it is known before it is run.
[[nodiscard]] std::string planned_config(const TrainSettings& settings);

// A method as text or object.
[[nodiscard]] Method read_training_method(const lab::Reader& reader, const Node& node);

// "events": texts as in events.h; none where there are none.
[[nodiscard]] std::vector<std::string> read_events(lab::Reader& reader);

// "kind": "training".
[[nodiscard]] std::unique_ptr<lab::Study> read_train_study(lab::Reader& reader);

}  // namespace medgrad::language
