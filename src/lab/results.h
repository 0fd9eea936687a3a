// What an experiment gives: values, their statistics, claims and figures; and how they are written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/grid.h"
#include "lab/report/figure.h"

namespace medgrad::lab {

// In the place of a value: the run has diverged, or its method has thrown an Error. Both are NaN.
inline constexpr double kDiverged = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kFailed = std::bit_cast<double>(std::uint64_t{0x7ff8'0000'0000'fa11});
[[nodiscard]] inline bool is_failed(double x) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(kFailed);
}

// What 10 %, half and 90 % of all runs do not exceed, a diverged or failed run being infinitely
// large; between two runs, in proportion.
struct Quantiles {
  double low = kDiverged, middle = kDiverged, high = kDiverged;  // NaN: not known
};

// Of the values of some runs. A diverged or failed run counts in `diverged` and in the quantiles.
struct Stats {
  double mean = 0, median = 0, min = 0, max = 0;
  double se = 0;  // sd / sqrt(n), the standard error of the mean; NaN for n < 2
  std::size_t n = 0, diverged = 0;
  Quantiles quantiles = {};  // for figures

  // As comparisons see it: one that has lost its worst runs has not won.
  [[nodiscard]] double mean_of_all() const { return diverged > 0 ? kInfinite : mean; }
  [[nodiscard]] double max_of_all() const { return diverged > 0 ? kInfinite : max; }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
};
// Rearranges `values`.
[[nodiscard]] Stats stats_of(std::span<double> values);

// One metric of one method at one point of the grid, over steps and runs.
struct Group {
  std::string method = {};  // as the file calls it; empty where there is none
  std::string key = {};     // the registry's name of it: the same colour everywhere
  Axes axes = {};
  std::string metric = {};
  std::vector<std::size_t> steps = {};  // empty: one value per run
  std::size_t runs = 0;
  std::vector<double> values = {};  // steps x runs
  std::vector<Stats> stats = {};    // per step

  [[nodiscard]] std::size_t rows() const { return steps.empty() ? 1 : steps.size(); }
  [[nodiscard]] const Stats& last() const { return stats.back(); }
};
// Fills group.stats from group.values.
void summarise(Group& group);

// A sentence of the paper, whether it holds here, and the numbers that say so.
struct Claim {
  std::string claim;
  std::optional<bool> holds;  // nothing where the experiment, as configured, cannot tell
  std::string evidence;
};

struct Results {
  std::string experiment, title, description;
  std::vector<std::string> notes;
  std::vector<Group> groups;
  std::vector<Claim> claims;
  std::vector<Figure> figures;
};

// Long form: method, axes, run, step, metric, value; one line per number.
[[nodiscard]] std::string results_csv(const Results& results);
// As the command's documentation describes summary.json.
[[nodiscard]] std::string summary_json(const Results& results);

}  // namespace medgrad::lab
