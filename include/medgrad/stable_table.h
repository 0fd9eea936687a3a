// Many points of one stable law: its density from a table.
//
// log f is smooth in w = asinh((x - pivot) / unit), and nearly a straight line in both tails. The
// pivot is the location in S0 and the unit the scale; below alpha = 0.8, where the density is a
// sharp peak, the pivot is the location in S1 and the unit shrinks with the peak. Where the law is
// one of a half-line, the part next to its end goes by the logarithm of the distance from it.
//
// log f is held as Chebyshev polynomials of degree 15 on intervals of w, halved until they agree
// with the integrals of stable.h at points between the nodes to the tolerance that was asked for;
// where a light tail falls too steeply for that, log(-log f) is. Where no interval agrees the
// integrals themselves are used: the tolerance holds everywhere. It is that of f, relative, and
// that of log f where f is less than the smallest number.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "medgrad/stable.h"

#pragma GCC visibility push(default)
namespace medgrad {

class StableTable {
 public:
  // `tolerance`: 1e-12 to 0.1 (else an Error). Error where alpha < 0.1.
  explicit StableTable(const StableParameters& parameters, double tolerance = 1e-10);

  [[nodiscard]] const StableParameters& parameters() const { return law_.parameters(); }
  [[nodiscard]] double tolerance() const { return tolerance_; }

  [[nodiscard]] double log_pdf(double x) const;
  [[nodiscard]] double pdf(double x) const;

  // log f and its first two derivatives in x.
  struct Derivatives {
    double value = 0, first = 0, second = 0;
  };
  [[nodiscard]] Derivatives derivatives(double x) const;

  void log_pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool = nullptr) const;
  void pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool = nullptr) const;

  // How many intervals there are, and what part of the range of w they do not cover.
  [[nodiscard]] std::size_t intervals() const;
  [[nodiscard]] double uncovered() const;

 private:
  struct Sides;
  // Where x is: on which side, and how far out in its coordinate.
  struct Spot {
    std::size_t side = 0;
    double u = 0;
    double off = 0;  // in scales, from the pivot or from the end of a half-line
  };
  [[nodiscard]] Spot spot(double x) const;

  Stable law_;
  double location_ = 0, scale_ = 1, log_scale_ = 0;  // in S0
  double tolerance_;
  std::shared_ptr<const Sides> sides_;
};

}  // namespace medgrad
#pragma GCC visibility pop
