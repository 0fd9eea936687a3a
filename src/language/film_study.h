// A film of workers to whom something happens: rules beside each other on the same timeline.
//
//     {"experiment": "film", "kind": "film", "title": "…", "description": "…", "task": "logistic",
//      "size": "paper", "batch": 128, "method": "sgd-m", "lr": 0.3, "steps": 400, "workers": 8,
//      "rules": ["mean", "nnm+median:f=3"], "events": ["6:alie@40", "4:killed@120-160"], "seed": 0}
//
// Every rule is a training of its own (joint_run.cc) with the events (events.h); the first rule is
// also run without any. Results have, for every rule, training_loss after each epoch, workers (how
// many take part) and, for each worker, over intervals of some steps: distance to the result (in
// units of the median over the workers), weight (its share, in units of an equal one), not_finite
// entries; and blamed, 1 where the table at the end has a reason to look at it.
#pragma once

#include <memory>

#include "lab/reader.h"
#include "lab/study.h"

namespace medgrad::language {

// "kind": "film".
[[nodiscard]] std::unique_ptr<lab::Study> read_film_study(lab::Reader& reader);

// "findings": "film".
void film_findings(const lab::Experiment& experiment, lab::Results& results);

// What results call the run without events.
inline constexpr const char* kNobodyFails = "nobody fails";

}  // namespace medgrad::language
