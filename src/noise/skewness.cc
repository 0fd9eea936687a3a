#include "noise/skewness.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

constexpr double kTrim = 0.05;
constexpr double kSkewAt = 2.75;  // 99.4 %
constexpr double kHole = 2;
constexpr double kFewestApart = 0.02, kMostApart = 0.25, kApart = 2;
constexpr std::size_t kFive = 5;

// The value of place p in [0, 1]; partitions x.
double at_place(std::vector<double>& x, double p) {
  const auto i = static_cast<std::ptrdiff_t>(std::lround(p * static_cast<double>(x.size() - 1)));
  std::nth_element(x.begin(), x.begin() + i, x.end());
  return x[static_cast<std::size_t>(i)];
}

// 1 / f(median), by the quantiles at 1/2 +- h. Where those that bound the median at 95 % are much
// farther apart than a density would have them, there is a hole in the middle, and they count.
void set_sparsity(Lean& lean, std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  const auto slope = [&](double h) {
    return (at_place(x, 0.5 + h) - at_place(x, 0.5 - h)) / (2 * h);
  };
  const double smooth = slope(std::clamp(0.5 * std::pow(n, -0.2), 0.02, 0.2));
  const double close = slope(std::min(kZ95 / (2 * std::sqrt(n)), 0.2));
  lean.hollow = close > kHole * smooth;
  lean.sparsity = lean.hollow ? close : smooth;
}

// From how far out on a gap sets numbers apart: distances from the median, of one side.
double gap_in(std::vector<double> far, std::size_t n) {
  const auto most =
      std::min(far.size(), static_cast<std::size_t>(kMostApart * static_cast<double>(n)) + 1);
  const auto fewest =
      std::max(kFive, static_cast<std::size_t>(std::ceil(kFewestApart * static_cast<double>(n))));
  std::partial_sort(far.begin(), far.begin() + static_cast<std::ptrdiff_t>(most), far.end(),
                    std::greater<>());
  for (std::size_t k = most; k-- > fewest;) {
    if (far[k - 1] > kApart * far[k] && far[k - 1] - far[k] > 1) return far[k - 1];
  }
  return std::numeric_limits<double>::infinity();
}

double median_of(const Part& part) { return noise::median(part.z); }

}  // namespace

double Lean::error() const {
  double squares = 0;
  for (const double v : influence) squares += v * v;
  return std::sqrt(squares) / static_cast<double>(influence.size());
}
double Lean::score() const {
  const double e = error();
  return e > 0 ? middle / e : 0;
}

// The influence of a number x is (clip(x) - mean of clip) / (1 - 2 trim) on the mean of the middle,
// and sign(x - median) / (2 f(median)) on the median.
Lean lean_of(std::span<const double> z, double median) {
  Lean lean;
  std::vector<double> copy(z.begin(), z.end());
  const double low = at_place(copy, kTrim), high = at_place(copy, 1 - kTrim);
  const auto n = static_cast<double>(z.size());
  set_sparsity(lean, copy);
  double clipped = 0, inside = 0;
  for (const double v : z) {
    clipped += (std::clamp(v, low, high) - median) / n;
    if (v >= low && v <= high) lean.middle += v - median, inside += 1;
  }
  lean.middle /= inside;
  lean.influence.reserve(z.size());
  for (const double v : z) {
    const double sign = v > median ? 1 : v < median ? -1 : 0;
    lean.influence.push_back((std::clamp(v, low, high) - median - clipped) / (1 - 2 * kTrim) -
                             sign * lean.sparsity / 2);
  }
  return lean;
}

Part without_outliers(const Part& part) {
  std::vector<double> above, below;
  const double median = median_of(part);
  for (const double v : part.z) {
    if (v > median) above.push_back(v - median);
    if (v < median) below.push_back(median - v);
  }
  const double high = gap_in(std::move(above), part.z.size());
  const double low = gap_in(std::move(below), part.z.size());
  Part kept;
  for (std::size_t i = 0; i < part.z.size(); ++i) {
    const double off = part.z[i] - median;
    if (off >= high || -off >= low) continue;
    kept.z.push_back(part.z[i]);
    kept.row.push_back(part.row[i]);
  }
  return kept;
}

Leaning::Leaning(std::size_t rows, std::size_t components) : components_(components) {
  for (Sum* sum : {&all_, &even_, &odd_}) sum->by_row.assign(rows, 0);
}

void Leaning::Sum::add(const Part& part, const Lean& lean, double weight) {
  value += weight * lean.middle;
  const double by = weight / static_cast<double>(part.z.size());
  for (std::size_t i = 0; i < part.z.size(); ++i) by_row[part.row[i]] += by * lean.influence[i];
}
double Leaning::Sum::score() const {
  double squares = 0;
  for (const double v : by_row) squares += v * v;
  return squares > 0 ? value / std::sqrt(squares) : 0;
}

Lean Leaning::add(const Part& part) {
  Lean lean = lean_of(part.z, 0);
  const bool leans = std::fabs(lean.score()) > kSkewAt;
  const Part kept = leans ? without_outliers(part) : Part{};
  const bool same = !leans || kept.z.size() == part.z.size();
  const Part& rest = same ? part : kept;
  all_.add(rest, same ? lean : lean_of(rest.z, median_of(rest)), 1);
  // Of one component the two halves say no more than all of it.
  if (components_ == 1) return lean;
  Part halves[2];
  for (std::size_t i = 0; i < rest.z.size(); ++i) {
    Part& half = halves[rest.row[i] % 2];
    half.z.push_back(rest.z[i]);
    half.row.push_back(rest.row[i]);
  }
  if (halves[0].z.size() >= kFewest && halves[1].z.size() >= kFewest) {
    const Lean of_even = lean_of(halves[0].z, median_of(halves[0]));
    const Lean of_odd = lean_of(halves[1].z, median_of(halves[1]));
    even_.add(halves[0], of_even, of_odd.score());
    odd_.add(halves[1], of_odd, of_even.score());
  }
  return lean;
}

bool Leaning::skewed() const {
  if (std::fabs(all_.score()) > kSkewAt) return true;
  // Their scores go together, so their mean is at most as far out as one of them.
  return (even_.score() + odd_.score()) / 2 > kSkewAt;
}

}  // namespace medgrad::noise
