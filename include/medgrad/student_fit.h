// Student's t distribution of a sample, by maximum likelihood.
//
//     f(x) = Gamma((v + 1)/2) / (Gamma(v/2) sqrt(v pi) c) (1 + ((x - l)/c)^2 / v)^{-(v + 1)/2}
//
// with v degrees of freedom, scale c and location l. Its tail index is v, so that finite variances
// with heavy tails have a law, too: v = 1 is Cauchy's distribution, v = infinity the normal one.
#pragma once

#include <cstddef>
#include <span>

#include "medgrad/tail_index.h"

#pragma GCC visibility push(default)
namespace medgrad {

struct StudentFit {
  double degrees = 0, scale = 1, location = 0;  // degrees are infinite for normal data
  Interval degrees_interval, scale_interval, location_interval;  // 95 %
  struct Errors {
    double inverse_degrees = 0, scale = 0, location = 0;
  } errors;  // standard errors by Fisher's information; of 1/degrees, whose estimates are normal
  double log_likelihood = 0;
  std::size_t n = 0, missing = 0, infinite = 0;
};

// Degrees of freedom from 0.1 on. NaN and +-Inf are left out and counted. fit(-x) is the mirror of
// fit(x), bit for bit. Error for fewer than 20 numbers and where the middle half is one value.
[[nodiscard]] StudentFit fit_student(std::span<const double> sample);

}  // namespace medgrad
#pragma GCC visibility pop
