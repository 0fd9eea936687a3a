#include "core/sample/lp_sweeps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/power.h"

namespace medgrad::estimators {

// Sums over columns: add(j, sums, a, b) for each column j, `slots` sums, in an order that does not
// depend on the threads; a has room for n numbers, b for padded(n).
template <class Add>
std::vector<double> LpSweeps::sum_columns(std::size_t slots, Add&& add) const {
  // A few runs of chunks, so that an n x n matrix per run stays affordable.
  const std::size_t runs = std::min<std::size_t>(chunks_.count, slots > 65536 ? 4 : 32);
  std::vector<double> parts(runs * slots);
  for_each(problem_.pool, runs, [&](std::size_t run) {
    double* const sums = parts.data() + run * slots;
    std::vector<double> a(n_), b(kernels::padded(n_), 1.0);
    for (std::size_t c = run * chunks_.count / runs; c < (run + 1) * chunks_.count / runs; ++c) {
      for (std::size_t j = chunks_.begin(c); j < chunks_.end(c); ++j)
        add(j, sums, a.data(), b.data());
    }
  });
  std::vector<double> sums(slots);
  for (std::size_t run = 0; run < runs; ++run) {
    for (std::size_t s = 0; s < slots; ++s) sums[s] += parts[run * slots + s];
  }
  return sums;
}

// v_i = z_j - x_ij.
void LpSweeps::differences(std::size_t j, const Place& z, double* v) const {
  for (std::size_t i = 0; i < n_; ++i) v[i] = z.from(problem_.points[i * d_ + j]);
}

// sign(v_i) (|v_i| / units_i)^a; zero where a unit is zero.
void LpSweeps::signed_powers(const double* v, std::span<const double> units, double a,
                             double* out) const {
  for (std::size_t i = 0; i < n_; ++i) out[i] = units[i] == 0 ? 0 : std::abs(v[i]) / units[i];
  kernels::powers(out, kernels::padded(n_), a, out);
  for (std::size_t i = 0; i < n_; ++i) out[i] = std::copysign(out[i], v[i]);
}

std::vector<double> LpSweeps::norms(const Places& z, std::span<const double> units) const {
  std::vector<double> sums = sum_columns(n_, [&](std::size_t j, double* s, double* v, double* t) {
    differences(j, z[j], v);
    signed_powers(v, units, p_, t);
    for (std::size_t i = 0; i < n_; ++i) s[i] += std::abs(t[i]);
  });
  for (std::size_t i = 0; i < n_; ++i) sums[i] = units[i] * std::pow(sums[i], 1 / p_);
  return sums;
}

std::vector<double> LpSweeps::norms(const Places& z) const {
  // Powers are taken relative to the largest entry, so that none of them that counts vanishes.
  std::vector<double> most(n_);
  for_each(problem_.pool, n_, [&](std::size_t i) {
    for (std::size_t j = 0; j < d_; ++j)
      most[i] = std::max(most[i], std::abs(z[j].from(problem_.points[i * d_ + j])));
  });
  return norms(z, most);
}

void LpSweeps::balance(std::span<const double> units, Places& z) const {
  for_each(problem_.pool, chunks_.count, [&](std::size_t c) {
    ColumnSolver solver(problem_.weights, units, p_);
    std::vector<double> column(n_);
    for (std::size_t j = chunks_.begin(c); j < chunks_.end(c); ++j) {
      for (std::size_t i = 0; i < n_; ++i) column[i] = problem_.points[i * d_ + j];
      z[j] = solver.solve(column, z[j]);
    }
  });
}

std::vector<double> LpSweeps::coupling(std::span<const double> units, const Places& z) const {
  return sum_columns(n_ * n_, [&](std::size_t j, double* sums, double* v, double* row) {
    differences(j, z[j], v);
    signed_powers(v, units, p_ - 1, row);
    double stiffness = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      if (v[i] != 0) {
        stiffness += problem_.weights[i] * (p_ - 1) * (row[i] / v[i]);
      } else if (p_ < 2) {
        return;  // at a kink: z does not move
      }
    }
    if (!(stiffness > 0 && std::isfinite(stiffness))) return;
    for (std::size_t i = 0; i < n_; ++i) {
      const double a = row[i] / stiffness;
      for (std::size_t k = 0; k <= i; ++k) sums[i * n_ + k] += a * row[k];
    }
  });
}

double LpSweeps::pull(const Places& z, const std::vector<double>& norms) const {
  const double q = p_ / (p_ - 1);
  const double sum = sum_columns(1, [&](std::size_t j, double* s, double* v, double* y) {
    differences(j, z[j], v);
    signed_powers(v, norms, p_ - 1, y);
    double g = 0;
    for (std::size_t i = 0; i < n_; ++i) g += problem_.weights[i] * y[i];
    *s += std::pow(std::abs(g), q);
  })[0];
  return std::pow(sum, 1 / q);
}

// f* >= sum y_i (z - x_i) for y_i with |y_i|_q <= omega_i that add up to zero. The gradients of the
// terms nearly do; what is left is taken off their mean. For p < 2 it is taken off the nearest rows
// of each column: where z is close to x_i, the gradient changes from one double to the next by much
// more than rounding, and the value that balances the column lies between the two. In the end all
// is scaled back into the balls.
double LpSweeps::dual_bound(const Places& z, const std::vector<double>& norms) const {
  const double q = p_ / (p_ - 1);
  const std::span<const double> w = problem_.weights;
  const std::vector<double> sums =
      sum_columns(n_ + 1, [&](std::size_t j, double* sum, double* v, double* y) {
        differences(j, z[j], v);
        signed_powers(v, norms, p_ - 1, y);
        double g = 0, near = std::numeric_limits<double>::infinity(), weight = 0;
        for (std::size_t i = 0; i < n_; ++i) {
          g += w[i] * y[i];
          near = std::min(near, std::abs(v[i]));
        }
        for (std::size_t i = 0; i < n_; ++i) weight += p_ >= 2 || std::abs(v[i]) <= near ? w[i] : 0;
        for (std::size_t i = 0; i < n_; ++i) {
          if (p_ >= 2 || std::abs(v[i]) <= near) y[i] -= g / weight;
          sum[n_] += w[i] * y[i] * v[i];
          y[i] = std::abs(y[i]);
        }
        kernels::powers(y, kernels::padded(n_), q, y);
        for (std::size_t i = 0; i < n_; ++i) sum[i] += y[i];
      });
  const double longest =
      *std::max_element(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(n_));
  return sums[n_] / std::max(1.0, std::pow(longest, 1 / q));
}

}  // namespace medgrad::estimators
