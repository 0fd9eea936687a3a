#include "core/sample/near_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sample/line.h"

namespace medgrad::estimators {
namespace {

constexpr double kAngle = 1e-3;

double dot(const double* a, const double* b, std::size_t k) {
  return std::inner_product(a, a + k, b, 0.0);
}

// Points as seen from one of them: how far along a direction, and what is left across it.
struct View {
  View(std::span<const double> points, std::size_t k, std::size_t from,
       const SmallVector<double, 16>& direction)
      : along(points.size() / k), across(points.begin(), points.end()) {
    for (std::size_t i = 0; i < along.size(); ++i) {
      double* const x = across.data() + i * k;
      for (std::size_t j = 0; j < k; ++j) x[j] -= points[from * k + j];
      along[i] = dot(x, direction.data(), k);
      for (std::size_t j = 0; j < k; ++j) x[j] -= along[i] * direction[j];
    }
  }
  std::vector<double> along, across;
};

// From point a to point b; empty if they are the same.
SmallVector<double, 16> direction_of(std::span<const double> points, std::size_t k, std::size_t a,
                                     std::size_t b) {
  SmallVector<double, 16> v(k);
  for (std::size_t j = 0; j < k; ++j) v[j] = points[b * k + j] - points[a * k + j];
  const double length = std::sqrt(dot(v.data(), v.data(), k));
  if (!(length > 0 && std::isnormal(length * length))) return {};
  for (double& x : v) x /= length;
  return v;
}

// The objective along the gap, minimised across it:
//
//     phi(t) = min_y sum omega_i sqrt((t - s_i)^2 + |y - y_i|^2),
//     phi'(t) = sum omega_i sign(t - s_i) (1 - e_i^2 / (r_i (r_i + h_i))),
//
// with h_i = |t - s_i|, e_i = |y - y_i|, r_i the root above. The ones cancel.
class Valley {
 public:
  Valley(const View& view, std::span<const double> weights, std::size_t k, double middle)
      : view_(view), weights_(weights), k_(k), middle_(middle), y_(k), next_(k) {}

  // phi'(t); leaves y where the minimum is.
  double slope(double t) {
    for (int step = 0; step < 50; ++step) {  // Weiszfeld's; the weights hardly change with y
      std::fill(next_.begin(), next_.end(), 0.0);
      double total = 0;
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const double r = std::hypot(t - view_.along[i], std::sqrt(square(i)));
        const double pull = weights_[i] / std::max(r, 1e-290);
        for (std::size_t j = 0; j < k_; ++j) next_[j] += pull * view_.across[i * k_ + j];
        total += pull;
      }
      double moved = 0, size = 0;
      for (std::size_t j = 0; j < k_; ++j) {
        next_[j] /= total;
        moved = std::max(moved, std::abs(next_[j] - y_[j]));
        size = std::max(size, std::abs(next_[j]));
      }
      y_.swap(next_);
      if (moved <= 4 * std::numeric_limits<double>::epsilon() * size) break;
    }
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double e2 = square(i), h = std::abs(t - view_.along[i]);
      const double r = std::hypot(h, std::sqrt(e2));
      if (r > 0) sum += std::copysign(weights_[i], view_.along[i] - middle_) * (e2 / (r * (r + h)));
    }
    return sum;
  }
  [[nodiscard]] const std::vector<double>& y() const { return y_; }

 private:
  [[nodiscard]] double square(std::size_t i) const {
    double sum = 0;
    for (std::size_t j = 0; j < k_; ++j) {
      const double e = y_[j] - view_.across[i * k_ + j];
      sum += e * e;
    }
    return sum;
  }

  const View& view_;
  std::span<const double> weights_;
  std::size_t k_;
  double middle_;
  std::vector<double> y_, next_;
};

}  // namespace

std::optional<Gap> gap_near_line(std::span<const double> points, std::size_t k,
                                 std::span<const double> weights) {
  const std::size_t n = weights.size();
  if (k == 0 || n < 2) return std::nullopt;
  // From the first to the farthest: are all others on the way, more or less?
  const double* const first = points.data();
  std::size_t far = 0;
  double most = 0;
  for (std::size_t i = 1; i < n; ++i) {
    double square = 0;
    for (std::size_t j = 0; j < k; ++j) {
      const double x = points[i * k + j] - first[j];
      square += x * x;
    }
    if (square > most) far = i;
    most = std::max(most, square);
  }
  const SmallVector<double, 16> v = direction_of(points, k, 0, far);
  if (v.empty()) return std::nullopt;
  const auto along = [&](std::size_t i, double& square) {
    double sum = 0;
    square = 0;
    for (std::size_t j = 0; j < k; ++j) {
      const double x = points[i * k + j] - first[j];
      square += x * x;
      sum += x * v[j];
    }
    return sum;
  };
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = along(i, square);
    if (square - x * x > kAngle * kAngle * most) return std::nullopt;
  }
  std::vector<Weighted> sorted(n);
  for (std::size_t i = 0; i < n; ++i) sorted[i] = {along(i, square), weights[i]};
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return sorted[a].value < sorted[b].value; });
  std::vector<Weighted> entries(n);
  for (std::size_t i = 0; i < n; ++i) entries[i] = sorted[order[i]];
  const Middle middle = weighted_middle(entries);
  Gap gap{order[middle.lower], order[middle.upper], 0, {}};
  if (entries[middle.lower].value == entries[middle.upper].value) return std::nullopt;
  // The same along the gap itself, where an outlier's rounding errors have no part in it.
  gap.along = direction_of(points, k, gap.from, gap.to);
  if (gap.along.empty()) return std::nullopt;
  const View view(points, k, gap.from, gap.along);
  gap.length = view.along[gap.to];
  double balance = 0, total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double* const x = view.across.data() + i * k;
    const double from_middle = view.along[i] - gap.length / 2;
    const double off = std::sqrt(dot(x, x, k));
    // Within the gap, by more than the points that are its ends are apart from others next to them.
    if (off > kAngle * std::abs(from_middle)) return std::nullopt;
    if (std::abs(from_middle) < (0.5 - kAngle) * gap.length) return std::nullopt;
    balance += std::copysign(weights[i], from_middle);
    total += weights[i];
  }
  if (std::abs(balance) > 1e-14 * total) return std::nullopt;
  return gap;
}

GapMinimum minimum_in_gap(const Gap& gap, std::span<const double> points,
                          std::span<const double> weights) {
  const std::size_t k = gap.along.size();
  const View view(points, k, gap.from, gap.along);
  Valley valley(view, weights, k, gap.length / 2);
  double low = 0, high = gap.length, t = gap.length / 2;
  for (int step = 0; step < 60; ++step) {
    const double slope = valley.slope(t);
    if (slope == 0) break;
    (slope < 0 ? low : high) = t;
    t = low + (high - low) / 2;
    if (t == low || t == high) break;
  }
  constexpr double kEnd = 1e-9;
  if (t < kEnd * gap.length) return {gap.from, {}, 0};
  if (t > (1 - kEnd) * gap.length) return {gap.to, {}, 0};
  (void)valley.slope(t);
  GapMinimum minimum{t <= gap.length / 2 ? gap.from : gap.to, SmallVector<double, 16>(k),
                     gap.length};
  const double* const anchor = view.across.data() + minimum.anchor * k;
  for (std::size_t j = 0; j < k; ++j)
    minimum.z[j] = (t - view.along[minimum.anchor]) * gap.along[j] + (valley.y()[j] - anchor[j]);
  for (const double s : view.along) minimum.nearest = std::min(minimum.nearest, std::abs(t - s));
  return minimum;
}

}  // namespace medgrad::estimators
