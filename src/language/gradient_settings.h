// What an experiment on gradients at fixed weights is: read from a file, and written to
// config.json.
//
//     {"experiment": "fixed-ptb", "kind": "gradients", "title": "…", "description": "…",
//      "task": "ptb", "size": "paper", "batch": [64, 256], "dropout": 0, "limit": 0, "seed": 0,
//      "methods": ["ema", "vclip", "huber:mu=2", {"name": "cclip", "tau": "auto"}],
//      "tau": [0.01], "steps": 400, "order": "cyclic",
//      "noise": false,
//      "paper_scale": {"batch": [64, 256, 1024], "steps": 2000}}
//
// `methods` (none: nothing is followed) see the same gradients, each with every `tau` (numbers or
// "auto") unless it has its own; `noise` measures the distances of batch gradients. `paper_scale`
// is put over the rest by --paper-scale. `data` is written to config.json for people, and not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/reader.h"
#include "language/task.h"

namespace medgrad::language {

// An online method that follows the gradients.
struct FollowedMethod {
  Node given;              // as in the file
  std::string name, key;   // in results, and in the registry
  bool labelled = false;   // does the file say that name?
  ParameterValues values;  // those that are given
};

// Momentum as in the paper, vclip and cclip.
[[nodiscard]] std::vector<FollowedMethod> papers_methods();

struct GradientSettings {
  std::string experiment, title, description;
  std::string findings;  // as declared; empty: not
  std::string task;
  Size size = Size::paper;
  std::vector<std::size_t> batch;  // sizes; 0 is the paper's
  double dropout = 0;
  std::size_t limit = 0;  // batches of a pass; 0: all
  std::uint64_t seed = 0;
  std::vector<FollowedMethod> methods = papers_methods();
  std::vector<double> tau = {0.01};  // of those that do not say; kAutomaticNumber is auto
  std::size_t steps = 400;
  bool random_order = false;
  bool noise = false;
  // The keys in which the paper's run differs, as in the file: for the note that says so.
  Node paper_scale = {};
};

// The values of tau that a method is followed with.
[[nodiscard]] std::vector<double> taus_of(const FollowedMethod& method,
                                          const GradientSettings& settings);

// Throws Error ("fixed-ptb.json:3: …") for anything that is not right. Batch sizes are filled in.
[[nodiscard]] GradientSettings read_gradient_settings(const Node& document,
                                                      const std::string& file);
// All of it, so that reading it back gives the same.
[[nodiscard]] Node to_document(const GradientSettings& settings);

// The document with its `paper_scale` put over the rest of it.
[[nodiscard]] Node at_paper_scale(Node document);
// One sentence that names the keys in which `document` differs from its paper_scale; empty where
// there are none.
[[nodiscard]] std::string scaled_down(const Node& document);
// Puts a value in the place of the one that is there, or at the end.
void put(Node& document, const std::string& key, Node value);

}  // namespace medgrad::language
