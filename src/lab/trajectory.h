// One run of some methods on one problem: oracle -> estimator -> step -> metric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/corruption.h"
#include "lab/grid.h"
#include "lab/study.h"
#include "medgrad/noise.h"
#include "medgrad/objective.h"
#include "medgrad/optimize.h"

namespace medgrad::lab {

// A method as the file has it.
struct MethodCase {
  std::string label;  // its name in the file
  std::string key;    // its name in the registry
  Axes axes;          // lists among its parameters
  GradientMethod method;
  Schedule eta;
  std::optional<Schedule> tau;  // where it changes over a run
};

// What is recorded, each by its name in the results.
enum class Metric : std::uint8_t {
  objective,            // f(w_t)
  averaged_objective,   // f of the averaged iterate sum theta^s w_s / sum theta^s, s < t, theta =
                        // T/(T+2)
  gradient_sq,          // |grad f(w_t)|^2
  average_gradient_sq,  // the mean of |grad f(w_s)|^2 over s < t
  relative_error,       // |m_t - grad f(w_t)| / |grad f(w_t)|
  l1_excess,  // E|m - g|_1 - min E|. - g|_1 of the mean m of m_1 … m_t, for Cauchy or symmetric
              // stable noise
};
[[nodiscard]] std::string_view name(Metric metric);

// A point of the grid.
struct Problem {
  Axes axes = {};
  Objective objective = {};              // a FixedTarget is drawn anew for every run
  std::optional<NoiseModel> noise = {};  // none: exact gradients
  std::string noise_name = {};           // problems with the same name have the same noise
  bool state_dependent = false;          // noise times sqrt(1 + |w|^2)
  std::size_t batch = 0;                 // rows of data per gradient; 0: all
  // Every component of w_0; of a Network, what normal numbers over the root of its inputs are
  // multiplied by, which differ from run to run.
  double start = 1;
  double scale = 1;  // gradients are multiplied by it, and learning rates divided
  Corruption corruption = {};
  std::size_t steps = 1000;
  std::vector<Metric> metrics = {};
  std::vector<std::size_t> recorded = {};  // steps, ascending, the last one being `steps`
  double divergence = 1e12;  // a run has diverged where |f(w)| exceeds this times 1 + |f(w_0)|
  std::vector<MethodCase> methods = {};
};

// 0, 1, 2, 5, 10, 20, 50, … and every 20th part of the steps.
[[nodiscard]] std::vector<std::size_t> recorded_steps(std::size_t steps);

// May the two be run together? They are if they have the same dimension and the same noise, and no
// batches.
[[nodiscard]] bool share_draws(const Problem& a, const Problem& b);

// Run number `run` of all methods on all problems, which share their draws. All see the same noise:
// gradient i of step t is disturbed by row t of stream (run, i), whatever the other methods and
// problems are. Gives, for every problem, method, metric and recorded step, the value; NaN from
// where the run diverged.
[[nodiscard]] std::vector<double> run_trajectories(std::span<const Problem* const> problems,
                                                   std::uint64_t seed, std::uint64_t run);

// The study of all runs of all problems.
[[nodiscard]] std::unique_ptr<Study> make_trajectories(std::vector<Problem> problems,
                                                       std::uint64_t seed, std::size_t runs);

}  // namespace medgrad::lab
