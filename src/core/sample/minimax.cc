// The l_infinity median, exactly.
//
// With D_ik = |x_i - x_k|_inf, balls of radius t_i around the x_i have a common point iff they meet
// pairwise (they are boxes): t_i + t_k >= D_ik. So the median is  min sum t_i  under those
// constraints, the dual of a maximal assignment on D: the Hungarian method's potentials u, v give
// t_i = (u_i + v_i) / 2, and any point of the common box is a median; we take its middle.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/sample/embedding.h"
#include "core/sample/estimators.h"

namespace medgrad::sample {
namespace {

// The radius around the centre that holds a minimiser. If k > n/2 rows have norms that add up to S,
// f(m) <= f(0) gives (2k - n) |m| <= 2 S.
double search_radius(std::vector<double> norms) {
  std::sort(norms.begin(), norms.end());
  const std::size_t n = norms.size();
  double sum = 0, radius = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k <= n; ++k) {
    sum += norms[k - 1];
    if (2 * k > n) radius = std::min(radius, 2 * sum / static_cast<double>(2 * k - n));
  }
  return radius;
}

// Takes `excess` off the entries of x, towards zero. For |m| <= radius and |x| - excess = 2 radius
// this takes exactly `excess` off |m - x|_inf: a far row keeps its pull and loses its size, and
// with it the rounding errors that it would bring.
void shorten(std::span<double> x, double excess) {
  for (double& v : x) v = std::copysign(std::max(0.0, std::abs(v) - excess), v);
}

// Potentials of the assignment problem max sum D_{i, s(i)} over permutations s: u_i + v_k >= D_ik
// with equality on the optimal one (Hungarian method with shortest augmenting paths, O(n^3)).
std::vector<double> assignment_radii(const std::vector<double>& distance, std::size_t n) {
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
  std::vector<double> t(n);
  for (std::size_t i = 0; i < n; ++i) t[i] = std::max(0.0, -(u[i + 1] + v[i + 1]) / 2);
  return t;
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
  const double radius = search_radius(norms);
  double removed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double excess = norms[i] - 2 * radius;
    if (excess <= 0) continue;
    shorten(std::span<double>(e.points).subspan(i * d, d), excess);
    removed += excess;
  }
  const std::vector<double> t = assignment_radii(pairwise_distances(e, input.pool), n);
  std::vector<double> reach(n);
  for (std::size_t j = 0; j < d; ++j) {
    double low = -kInfinity, high = kInfinity;
    for (std::size_t i = 0; i < n; ++i) {
      low = std::max(low, e.points[i * d + j] - t[i]);
      high = std::min(high, e.points[i * d + j] + t[i]);
    }
    const double z = low + (high - low) / 2;
    out[j] = clamp_to_finite(static_cast<T>(e.centre[j] + std::ldexp(z, e.exponent)));
    for (std::size_t i = 0; i < n; ++i)
      reach[i] = std::max(reach[i], std::abs(z - e.points[i * d + j]));
  }
  SampleInfo info;
  info.nan = e.seen.nan;
  info.inf = e.seen.inf;
  double f = removed;
  for (const double r : reach) f += r;
  info.objective = std::ldexp(f, e.exponent);
  return info;
}

template SampleInfo minimax_median(const Input<float>&, std::span<float>);
template SampleInfo minimax_median(const Input<double>&, std::span<double>);

}  // namespace medgrad::sample
