// Componentwise or geometric median? In batches of rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/sample.h"
#include "noise/draws.h"
#include "noise/efficiency.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

constexpr std::size_t kMostComponents = 256, kMostRows = 100;
constexpr double kTooFar = 1e100;

// Some components of the rows around their medians, in units of the largest spread; missing entries
// in the middle. And what errors are measured by.
struct Compared {
  std::size_t width = 0;
  std::vector<double> values, spread, target;
};

Compared compared(const NoiseMatrix& rows, bool around_mean) {
  Compared c;
  c.width = std::min(rows.width, kMostComponents);
  c.values.resize(rows.n * c.width);
  c.target.resize(c.width);
  const auto from = [&](std::size_t j) { return j * rows.width / c.width; };
  std::vector<double> column, middle;
  for (std::size_t j = 0; j < c.width; ++j) {
    column.clear();
    for (std::size_t i = 0; i < rows.n; ++i)
      if (!std::isnan(rows.at(i, from(j)))) column.push_back(rows.at(i, from(j)));
    middle.push_back(column.empty() ? 0 : median(column));
    if (!std::isfinite(middle.back())) middle.back() = 0;
    for (double& v : column) v = std::fabs(v - middle.back());
    const double spread = column.empty() ? 0 : median(column);
    c.spread.push_back(std::isfinite(spread) ? spread : 0);
  }
  const double unit = *std::max_element(c.spread.begin(), c.spread.end());
  if (!(unit > 0)) return c;
  for (std::size_t j = 0; j < c.width; ++j) {
    c.spread[j] /= unit;
    for (std::size_t i = 0; i < rows.n; ++i) {
      const double off = (rows.at(i, from(j)) - middle[j]) / unit;
      double& v = c.values[i * c.width + j];
      v = std::isnan(off) ? 0 : std::clamp(off, -kTooFar, kTooFar);
      if (around_mean) c.target[j] += v / static_cast<double>(rows.n);
    }
  }
  return c;
}

double error_of(const Compared& c, const std::vector<double>& estimate) {
  double sum = 0;
  for (std::size_t j = 0; j < c.width; ++j) {
    if (!(c.spread[j] > 0)) continue;
    const double off = (estimate[j] - c.target[j]) / c.spread[j];
    sum += off * off;
  }
  return sum;
}

}  // namespace

void set_geometric(Efficiency& e, const NoiseMatrix& rows) {
  const Compared c = compared(rows, e.skewed);
  const std::size_t batch =
      std::min({e.compared, kMostRows, std::max<std::size_t>(rows.n / 10, 10)});
  const std::size_t rounds = std::clamp<std::size_t>(4000 / batch, 40, 400);
  std::vector<const double*> drawn(batch);
  std::vector<double> estimate(c.width);
  const Rows<double> view(drawn, c.width);
  Draws draws;
  double componentwise = 0, geometric = 0;
  for (std::size_t r = 0; r < rounds; ++r) {
    for (const double*& row : drawn) row = &c.values[draws.below(rows.n) * c.width];
    (void)aggregate<double>(Median{}, view, estimate);
    componentwise += error_of(c, estimate);
    (void)aggregate<double>(GeometricMedian{.tolerance = 1e-4}, view, estimate);
    geometric += error_of(c, estimate);
  }
  if (componentwise > 0) e.geometric = e.median * (geometric / componentwise);
}

}  // namespace medgrad::noise
