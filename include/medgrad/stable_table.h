// Many points of one stable law: its density from a table.
//
// log f is smooth in w = asinh((x - location) / scale), and nearly a straight line in both tails.
// It is held as Chebyshev polynomials of degree 15 on intervals of w, halved until they agree with
// the integrals of stable.h at points between the nodes to the tolerance that was asked for. Past
// the table, and where no interval agrees (next to the end of a half-line), the integrals
// themselves are used: the tolerance holds everywhere. Where a light tail has fallen below the
// smallest number, f is 0 at once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "medgrad/stable.h"

#pragma GCC visibility push(default)
namespace medgrad {

class StableTable {
 public:
  // `tolerance` is that of f, relative: 1e-12 to 0.1 (else an Error). Error where alpha < 0.1.
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
  [[nodiscard]] std::size_t intervals() const { return panels_.size(); }
  [[nodiscard]] double uncovered() const;

 private:
  static constexpr std::size_t kNodes = 16;
  struct Panel {
    double low, high;
    bool good;
    std::array<double, kNodes> coefficients;
    double highest;  // log f at the nodes
  };
  void add(double low, double high, int depth);
  [[nodiscard]] double direct(double w) const;  // log f of the standard law at x = sinh(w)
  [[nodiscard]] double value(const Panel& panel, double w) const;  // log f
  [[nodiscard]] const Panel* at(double w) const;                   // the one that w is in
  [[nodiscard]] const Panel* find(double w) const;                 // if it is good

  Stable law_;
  Stable standard_;                                  // scale 1, location 0, S0
  double location_ = 0, scale_ = 1, log_scale_ = 0;  // in S0
  double tolerance_;
  std::vector<Panel> panels_;
  std::vector<unsigned> first_;  // by equal parts of the range: the panel that holds its beginning
};

}  // namespace medgrad
#pragma GCC visibility pop
