#include "core/sample/norms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/combine.h"
#include "kernels/simd.h"

namespace medgrad::estimators {

Scales scales_for(const std::vector<double>& largest) {
  Scales scales(largest.size(), 1.0);
  for (std::size_t i = 0; i < largest.size(); ++i) {
    if (largest[i] == 0) continue;
    // A difference of two finite numbers is below 2^1025; 2^-1022 is the smallest scale that has an
    // inverse.
    const int exponent = std::isfinite(largest[i]) ? std::ilogb(largest[i]) : 1024;
    scales[i] = std::ldexp(1.0, std::clamp(-exponent, -1022, 1000));
  }
  return scales;
}

bool safe_square(double sum) { return sum > 1e-250 && sum < 1e250; }

template <Real T>
std::vector<double> largest_entries(const Input<T>& input, const T* centre, const T* fill) {
  const std::size_t n = input.n, chunks = chunks_of(input).count;
  std::vector<double> parts(chunks * n);
  for_each_chunk(input, fill, [&](std::size_t c, auto&& walk) {
    double* const most = parts.data() + c * n;
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < block.count(); ++j) {
          const double c_j = centre == nullptr ? 0.0 : static_cast<double>(centre[begin + j]);
          most[i] = std::max(most[i], std::abs(static_cast<double>(block.rows()[i][j]) - c_j));
        }
      }
    });
  });
  share(input, parts.data(), n);
  std::vector<double> largest(n);
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t i = 0; i < n; ++i) largest[i] = std::max(largest[i], parts[c * n + i]);
  }
  return largest;
}

namespace {

// Squares of the norms into `scaled`, and what was seen under way.
template <Real T>
void square_norms(const Input<T>& input, const T* centre, const T* fill, Norms& norms) {
  const std::size_t n = input.n, each = n + 1, chunks = chunks_of(input).count;
  std::vector<double> parts(chunks * each);  // the last of a chunk: how many entries are NaN
  const double* const scales = norms.scales.empty() ? nullptr : norms.scales.data();
  norms.seen = for_each_chunk(input, fill, [&](std::size_t c, auto&& walk) {
    std::vector<double> lanes(n * kernels::kLanes);
    double* const sums = parts.data() + c * each;
    walk([&](Block<T>& block, std::size_t begin, std::size_t) {
      kernels::add_squared_distances(block.rows(), n, block.count(),
                                     centre == nullptr ? nullptr : centre + begin, scales,
                                     lanes.data());
      sums[n] = static_cast<double>(block.seen().nan);
    });
    for (std::size_t i = 0; i < n; ++i)
      sums[i] = kernels::sum_lanes(lanes.data() + i * kernels::kLanes);
  });
  share(input, parts.data(), each);
  norms.scaled.assign(n, 0.0);
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t i = 0; i < n; ++i) norms.scaled[i] += parts[c * each + i];
    norms.missing = norms.missing || parts[c * each + n] > 0;
  }
}

}  // namespace

template <Real T>
Norms row_norms(const Input<T>& input, const T* centre, const T* fill) {
  Norms norms;
  square_norms(input, centre, fill, norms);
  if (!std::all_of(norms.scaled.begin(), norms.scaled.end(), safe_square)) {
    norms.scales = scales_for(largest_entries(input, centre, fill));
    square_norms(input, centre, fill, norms);
  }
  for (double& norm : norms.scaled) norm = std::sqrt(norm);
  return norms;
}

double search_radius(std::span<const double> norms, std::span<const double> weights) {
  const std::size_t n = norms.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return norms[a] < norms[b]; });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0, weight = 0, radius = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    sum += weights[i] * norms[i];
    weight += weights[i];
    const double majority = 2 * weight - total;
    if (majority > 1e-9 * total) radius = std::min(radius, 2 * sum / majority);
  }
  return radius;
}

template std::vector<double> largest_entries(const Input<float>&, const float*, const float*);
template std::vector<double> largest_entries(const Input<double>&, const double*, const double*);
template Norms row_norms(const Input<float>&, const float*, const float*);
template Norms row_norms(const Input<double>&, const double*, const double*);

}  // namespace medgrad::estimators
