#include "core/sample/lp_column.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/power.h"

namespace medgrad::estimators {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostSteps = 200;
// A step that changes no term by more than this needs no other: the squares of such changes, which
// Newton's method neglects, are less than rounding.
constexpr double kLastStep = 1e-8;

}  // namespace

ColumnSolver::ColumnSolver(std::span<const double> weights, std::span<const double> units, double p)
    : weights_(weights),
      p_(p),
      root_(1 / (p - 1)),
      inverse_(units.begin(), units.end()),
      shift_(units.size()),
      v_(units.size()),
      power_(kernels::padded(units.size()), 1.0) {
  for (double& u : inverse_) u = 1 / u;
}

bool ColumnSolver::zero(const Balance& b) const {
  return std::abs(b.value) <= kEpsilon / 2 * p_ * b.magnitude;
}

// x^(1/(p-1)); the usual p need no pow.
double ColumnSolver::rooted(double x) const {
  return p_ == 3 ? std::sqrt(x) : p_ == 1.5 ? x * x : std::pow(x, root_);
}

// Offsets count from x_a from now on.
void ColumnSolver::anchor(std::size_t a) {
  a_ = a;
  for (std::size_t i = 0; i < x_.size(); ++i) shift_[i] = x_[a] - x_[i];
}

void ColumnSolver::anchor_nearest(double& offset) {
  std::size_t near = a_;
  double least = std::abs(offset);
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const double distance = std::abs(shift_[i] + offset);
    if (distance < least) {
      least = distance;
      near = i;
    }
  }
  if (near == a_) return;
  offset = shift_[near] + offset;
  anchor(near);
}

ColumnSolver::Balance ColumnSolver::balance_at(double offset) {
  const std::size_t n = x_.size();
  Balance b;
  for (std::size_t i = 0; i < n; ++i) {
    v_[i] = shift_[i] + offset;
    b.least = std::min(b.least, std::abs(v_[i]));
    power_[i] = std::abs(v_[i]) * inverse_[i];
    b.scale = std::max(b.scale, power_[i]);
  }
  if (b.scale == 0) return b;
  const double inverse_scale = 1 / b.scale;
  for (std::size_t i = 0; i < n; ++i) power_[i] *= inverse_scale;
  kernels::powers(power_.data(), power_.size(), p_ - 1, power_.data());
  for (std::size_t i = 0; i < n; ++i) {
    // No branches on signs, which nobody can predict.
    const bool up = v_[i] > 0, down = v_[i] < 0;
    const double term = weights_[i] * power_[i];
    const double slope = (p_ - 1) * term / (up || down ? std::abs(v_[i]) : 1);
    b.above += up ? term : 0;
    b.above_slope += up ? slope : 0;
    b.below += down ? term : 0;
    b.below_slope += down ? slope : 0;
  }
  b.value = b.above - b.below;
  b.magnitude = b.above + b.below;
  b.slope = b.above_slope + b.below_slope;
  return b;
}

// p >= 2. Newton's method for above^(1/(p-1)) = below^(1/(p-1)): both sides are norms of the
// distances, straight lines where one row is all that counts, whatever the p.
double ColumnSolver::smooth_root(double guess) {
  double low = 0, high = 0;
  for (const double s : shift_) {
    low = std::min(low, -s);
    high = std::max(high, -s);
  }
  double z = std::clamp(guess, low, high), before = high - low;
  for (int step = 0; step < kMostSteps; ++step) {
    const Balance b = balance_at(z);
    if (zero(b)) break;
    (b.value < 0 ? low : high) = z;
    double next = b.value < 0 ? high : low;
    if (b.above > 0 && b.below > 0) {
      const double ratio = rooted(b.below / b.above);  // of the two norms
      next =
          z - (1 - ratio) / (root_ * (b.above_slope / b.above + ratio * b.below_slope / b.below));
    }
    const bool last = p_ * std::abs(next - z) <= kLastStep * b.least;
    if (!(next > low && next < high) || std::abs(next - z) > 0.75 * before) {
      if (last) break;  // rounding
      next = low + (high - low) / 2;
    }
    if (!(next > low && next < high)) break;
    const double move = before = std::abs(next - z);
    z = next;
    if (last || move <= kEpsilon / 2 * std::abs(z)) break;
  }
  return z;
}

// The entry next to x_a on one side, as an offset.
bool ColumnSolver::next_kink(double side, double& kink, std::size_t& row) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const double distance = -shift_[i] * side;
    if (distance > 0 && distance < least) {
      least = distance;
      row = i;
    }
  }
  kink = least * side;
  return std::isfinite(least);
}

// The root between x_a and `far` (offsets; no entry in between), nearer to x_a. In s = |v|^(p-1)
// the sum is smooth at x_a, so the steps are Newton's and halvings in s.
double ColumnSolver::root_within(double start, double far, double side) {
  double low = 0, high = std::abs(far), v = start;
  for (int step = 0; step < kMostSteps; ++step) {
    const Balance b = balance_at(side * v);
    if (zero(b)) break;
    (b.value * side < 0 ? low : high) = v;
    const double ratio = 1 - b.value * side / (root_ * b.slope * v);
    double next = ratio > 0 ? v * rooted(ratio) : 0;
    if (!(next > low && next < high)) {
      const double share = low / high;
      next = high * std::pow((1 + std::pow(share, p_ - 1)) / 2, root_);
      if (!(next > low && next < high)) break;
    }
    v = next;
    if (std::abs(1 - ratio) <= kLastStep) break;
  }
  return side * v;
}

// The same from a guess that is nearly right, without a bracket; false if it was not.
bool ColumnSolver::polish(double& offset) {
  double before = 0.5, v = offset;
  for (int step = 0; step < 6 && v != 0; ++step) {
    const Balance b = balance_at(v);
    if (zero(b)) break;
    const double change = -b.value / (root_ * b.slope * v);  // of s, relative
    if (!(std::abs(change) < before)) return false;
    v *= rooted(1 + change);
    before = std::abs(change) / 2;
    if (std::abs(change) <= kLastStep) break;
  }
  if (v == 0 || !std::isfinite(v)) return false;
  offset = v;
  return true;
}

// p < 2: goes from entry to entry to the two that the root is between, then to it from the nearer.
double ColumnSolver::kinked_root(double guess) {
  // An entry is visited once on the way; more is two entries that take turns by rounding.
  for (std::size_t visits = 0;; ++visits) {
    const Balance here = balance_at(0);
    if (here.magnitude == 0 || zero(here)) return 0;
    const double side = here.value < 0 ? 1 : -1;
    double kink = 0;
    std::size_t row = 0;
    if (!next_kink(side, kink, row)) return 0;
    // Without the slope of the others, x_a's own term alone would balance them at this distance.
    const double reach =
        here.scale / inverse_[a_] * std::pow(std::abs(here.value) / weights_[a_], root_);
    if (reach == 0) return 0;
    const double high = std::min(std::abs(kink) / 2, reach);
    if (high == 0) return 0;
    if (high < reach && visits <= x_.size() + 2 && balance_at(kink / 2).value * side < 0) {
      guess = shift_[row] + guess;
      anchor(row);
      continue;  // the root is nearer to x_row, or beyond
    }
    const double start = guess * side > 0 && guess * side < high ? guess * side : high / 2;
    return root_within(start, high, side);
  }
}

Place ColumnSolver::solve(std::span<const double> x, Place guess) {
  x_ = x;
  // The guess names its entry by its value; any entry will do to begin with.
  anchor(0);
  double offset = (guess.origin - x[0]) + guess.offset;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != guess.origin) continue;
    anchor(i);
    offset = guess.offset;
    break;
  }
  anchor_nearest(offset);
  if (p_ < 2) {
    if (!polish(offset)) offset = kinked_root(offset);
  } else {
    offset = smooth_root(offset);
    anchor_nearest(offset);
  }
  return {x_[a_], offset};
}

}  // namespace medgrad::estimators
