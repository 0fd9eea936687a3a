// What `noise fit` prints.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "medgrad/tail_summary.h"

namespace medgrad::app {

// What was found in a file.
struct NoiseFit {
  TailSummary summary;
  std::optional<StableFit> stable;  // in S0; none where no stable law can be fitted
  FitMethod method = FitMethod::likelihood;
  StableForm form = StableForm::S0;  // to print it in
  std::size_t nan = 0, inf = 0;      // so many entries of the data are not finite
  std::size_t sample = 0;            // of a long stream, so many numbers were kept: tail_sketch.h
  std::size_t bootstrap = 0;         // samples that the p-value is by, or 0
};

// One estimate with its interval (NaN where it has none), and its standard error where the method
// gives one.
struct Estimate {
  std::string name;
  double value;
  Interval interval;
  std::optional<double> error = std::nullopt;
};
// Everything there is, in the order in which it is printed.
[[nodiscard]] std::vector<Estimate> estimates_of(const NoiseFit& fit);

// The three answers, and what is no tail index where no stable law fits.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> answers_of(const NoiseFit& fit);

// Lines of what,estimate,low,high,error, and the answers as comments below.
[[nodiscard]] std::string as_csv(const NoiseFit& fit);
[[nodiscard]] std::string as_json(const NoiseFit& fit);

}  // namespace medgrad::app
