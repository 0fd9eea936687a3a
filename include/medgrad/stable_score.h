// How the log-density of a stable law changes: with x, and with its parameters.
//
// The scores d log f / d theta, theta = alpha, beta, scale, location, are what maximum likelihood,
// information matrices and location estimators (psi = -d log f / dx) are made of. They come from
// the integrals of stable.h by Richardson extrapolation, of log f or of f, whichever says that it
// is closer: log f has a singularity where a tail vanishes (alpha = 2, beta = +-1), f has none.
// At the ends of the ranges of alpha and beta the derivatives are those from inside. Absolute
// errors of x and xx are about 1e-9 and 1e-7 in units of the scale; those of alpha and beta 1e-7,
// relative where they are large.
#pragma once

#include <span>
#include <vector>

#include "medgrad/stable.h"

#pragma GCC visibility push(default)
namespace medgrad {

struct StableScores {
  double log_pdf = 0;
  double x = 0, xx = 0;  // first and second derivative in x
  double alpha = 0, beta = 0, scale = 0, location = 0;
};

class StableScore {
 public:
  // The laws next to this one are set up once, for many points. Error where alpha < 0.1.
  explicit StableScore(const StableParameters& parameters);

  // In the form of the parameters. All NaN where f(x) = 0 and for x that is no number; alpha is NaN
  // for S1 at alpha = 1 with beta != 0, where that form jumps.
  [[nodiscard]] StableScores operator()(double x) const;
  void operator()(std::span<const double> x, std::span<StableScores> out,
                  ThreadPool* pool = nullptr) const;

 private:
  // Laws of scale 1 at distances h, h / ratio, ...: on both sides, or on the side that is in range.
  struct Neighbours {
    std::vector<double> distances;
    std::vector<Stable> low, high;
    bool both = true;
  };
  [[nodiscard]] static Neighbours neighbours(const StableParameters& standard, bool by_alpha);
  [[nodiscard]] double derivative(const Neighbours& around, double y, double log_f) const;

  StableParameters parameters_;
  double location_ = 0;  // in S0
  Stable standard_;
  Neighbours alpha_, beta_;
};

}  // namespace medgrad
#pragma GCC visibility pop
