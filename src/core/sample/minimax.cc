// The l_infinity median, exactly.
//
// With D_ik = |x_i - x_k|_inf, balls of radius t_i around the x_i have a common point iff they meet
// pairwise (they are boxes): t_i + t_k >= D_ik. So the median is  min sum t_i  under those
// constraints, the dual of a maximal assignment on D: the Hungarian method's potentials u, v give
// t_i = (u_i + v_i) / 2, and any point of the common box is a median. Neither is unique; we take
// the middle of the potentials and the middle of the box.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/sample/embedding.h"
#include "core/sample/estimators.h"
#include "core/sample/norms.h"

namespace medgrad::estimators {
namespace {

// Takes what exceeds 2 radius off the length of row i, entry by entry towards zero: for |m| <=
// radius this takes exactly that off |m - x|_inf. A far row keeps its pull and loses its size, and
// with it the rounding errors that it would bring. What an entry falls short of the longest is what
// counts, to the last digit of the bulk, so it comes from the data: x - c in two doubles.
template <Real T>
void shorten(const Input<T>& input, Embedding& e, std::size_t i, double radius) {
  const int shift = -e.exponent - e.cut[i];
  std::vector<double> high(e.k), low(e.k);
  for_each_block(input, static_cast<const T*>(nullptr),
                 [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t end) {
                   for (std::size_t j = begin; j < end; ++j) {
                     const double x = static_cast<double>(block.rows()[i][j - begin]);
                     const double a = std::ldexp(x, shift), c = -std::ldexp(e.centre[j], shift);
                     const double sum = a + c, part = sum - a;
                     high[j] = sum;
                     low[j] = (a - (sum - part)) + (c - part);
                   }
                 });
  std::size_t most = 0;
  for (std::size_t j = 0; j < e.k; ++j) {
    if (high[j] < 0) low[j] = -low[j];
    high[j] = std::abs(high[j]);
    if (high[j] > high[most] || (high[j] == high[most] && low[j] > low[most])) most = j;
  }
  for (std::size_t j = 0; j < e.k; ++j) {
    const double short_of = (high[most] - high[j]) + (low[most] - low[j]);
    double& entry = e.points[i * e.k + j];
    entry = std::copysign(std::max(0.0, 2 * radius - std::ldexp(short_of, e.cut[i])), entry);
  }
}

struct Assignment {
  std::vector<double> u, v;
  std::vector<std::size_t> row;  // s^-1: the row that column k is assigned to
  double value = 0;              // the optimum: half of the sum of D_{i, s(i)}
};

// Potentials of the assignment problem max sum D_{i, s(i)} over permutations s: u_i + v_k >= D_ik
// with equality on the optimal one (Hungarian method with shortest augmenting paths, O(n^3)).
Assignment assign(const std::vector<double>& distance, std::size_t n) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::vector<double> u(n + 1), v(n + 1);
  std::vector<std::size_t> match(n + 1), way(n + 1);  // column -> row, from 1; 0 is "none"
  for (std::size_t row = 1; row <= n; ++row) {
    std::vector<double> slack(n + 1, kFar);
    std::vector<bool> used(n + 1);
    std::size_t column = 0;
    match[0] = row;
    do {
      used[column] = true;
      const std::size_t i = match[column];
      double delta = kFar;
      std::size_t next = 0;
      for (std::size_t k = 1; k <= n; ++k) {
        if (used[k]) continue;
        const double reduced = -distance[(i - 1) * n + (k - 1)] - u[i] - v[k];
        if (reduced < slack[k]) {
          slack[k] = reduced;
          way[k] = column;
        }
        if (slack[k] < delta) {
          delta = slack[k];
          next = k;
        }
      }
      for (std::size_t k = 0; k <= n; ++k) {
        if (used[k]) {
          u[match[k]] += delta;
          v[k] -= delta;
        } else {
          slack[k] -= delta;
        }
      }
      column = next;
    } while (match[column] != 0);
    for (; column != 0; column = way[column]) match[column] = match[way[column]];
  }
  Assignment result{std::vector<double>(n), std::vector<double>(n), std::vector<std::size_t>(n), 0};
  for (std::size_t i = 0; i < n; ++i) {
    result.u[i] = -u[i + 1];
    result.v[i] = -v[i + 1];
    result.row[i] = match[i + 1] - 1;
    result.value += distance[result.row[i] * n + i] / 2;
  }
  return result;
}

// Radii from the middle of all optimal potentials. They are u_i + delta_i, v_s(i) - delta_i with
//
//     delta_i - delta_m >= -S_im,    S_im = u_i + v_s(m) - D_{i, s(m)} >= 0  (the slack),
//
// and the extreme values of delta_i - delta_m are -L_im and L_mi, L the shortest paths along S.
// Each row and each column of L is a solution (triangle inequality) in which one delta is as large
// or as small as it can be beside all others; we take the mean of them. As the set of optimal
// potentials is the same for all optimal s, so is its middle.
std::vector<double> middle_radii(const Assignment& a, const std::vector<double>& distance,
                                 std::size_t n) {
  std::vector<double> path(n * n), delta(n), radii(n);
  std::vector<std::size_t> column(n);  // s
  for (std::size_t k = 0; k < n; ++k) column[a.row[k]] = k;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t m = 0; m < n; ++m) {
      const std::size_t k = column[m];
      path[i * n + m] = i == m ? 0 : std::max(0.0, a.u[i] + a.v[k] - distance[i * n + k]);
    }
  }
  for (std::size_t over = 0; over < n; ++over) {  // Floyd and Warshall's
    const double* const on = path.data() + over * n;
    for (std::size_t i = 0; i < n; ++i) {
      double* const from = path.data() + i * n;
      const double first = from[over];
      for (std::size_t m = 0; m < n; ++m) from[m] = std::min(from[m], first + on[m]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < n; ++r) delta[i] += path[r * n + i] - path[i * n + r];
    delta[i] /= 2 * static_cast<double>(n);
  }
  for (std::size_t i = 0; i < n; ++i)
    radii[i] = std::max(0.0, (a.u[i] + delta[i] + a.v[i] - delta[a.row[i]]) / 2);
  return radii;
}

std::vector<double> pairwise_distances(const Embedding& e, ThreadPool* pool) {
  const std::size_t n = e.n, d = e.k;
  std::vector<double> distance(n * n);
  for_each(pool, n, [&](std::size_t i) {
    for (std::size_t k = 0; k < i; ++k) {
      double most = 0;
      for (std::size_t j = 0; j < d; ++j)
        most = std::max(most, std::abs(e.points[i * d + j] - e.points[k * d + j]));
      distance[i * n + k] = distance[k * n + i] = most;
    }
  });
  return distance;
}

// Writes the middle of the box that the balls of these radii have in common, and returns how far
// the rows are from it.
template <Real T>
std::vector<double> write_middle(const Embedding& e, const std::vector<double>& t,
                                 std::span<T> out) {
  const std::size_t n = e.n, d = e.k;
  std::vector<double> reach(n);
  for (std::size_t j = 0; j < d; ++j) {
    double low = -kInfinity, high = kInfinity;
    for (std::size_t i = 0; i < n; ++i) {
      low = std::max(low, e.points[i * d + j] - t[i]);
      high = std::min(high, e.points[i * d + j] + t[i]);
    }
    const double z = low + (high - low) / 2;
    out[j] = clamp_to_finite(static_cast<T>(e.centre[j] + std::ldexp(z, e.exponent)));
    const double moved = std::ldexp(static_cast<double>(out[j]) - e.centre[j], -e.exponent);
    const double there = std::isfinite(moved) ? moved : z;  // with its rounding
    for (std::size_t i = 0; i < n; ++i)
      reach[i] = std::max(reach[i], std::abs(there - e.points[i * d + j]));
  }
  return reach;
}

}  // namespace

template <Real T>
SampleInfo minimax_median(const Input<T>& input, std::span<T> out) {
  Embedding e = embed_directly(input, static_cast<const T*>(nullptr));
  const std::size_t n = e.n, d = e.k;
  std::vector<double> norms(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j)
      norms[i] = std::max(norms[i], std::abs(e.points[i * d + j]));
  }
  const double radius = search_radius(norms, input.weights);
  double removed = 0;  // in the units of the data
  for (std::size_t i = 0; i < n; ++i) {
    if (!(norms[i] > 2 * radius)) continue;
    shorten(input, e, i, radius);
    removed += std::ldexp(norms[i], e.exponent + e.cut[i]) - std::ldexp(2 * radius, e.exponent);
  }
  const std::vector<double> distance = pairwise_distances(e, input.pool);
  const Assignment assignment = assign(distance, n);
  const std::vector<double> reach = write_middle(e, middle_radii(assignment, distance, n), out);
  SampleInfo info;
  info.nan = e.seen.nan;
  info.inf = e.seen.inf;
  const double f = std::accumulate(reach.begin(), reach.end(), 0.0);
  info.objective = clamp_to_finite(removed + std::ldexp(f, e.exponent));
  // Any assignment is a lower bound. What was taken off is in both, and would only make it smaller.
  info.gap = gap_of(f, assignment.value, n);
  return info;
}

template SampleInfo minimax_median(const Input<float>&, std::span<float>);
template SampleInfo minimax_median(const Input<double>&, std::span<double>);

}  // namespace medgrad::estimators
