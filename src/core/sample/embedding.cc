#include "core/sample/embedding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/sample/estimators.h"
#include "core/sample/gram.h"
#include "kernels/gram.h"
#include "kernels/simd.h"

namespace medgrad::estimators {
namespace {

using kernels::pair_index;

constexpr int kMostExponent = 490;

// The exponent of a radius around the centre within which all minimisers are, from the exponents of
// the sizes that are not zero: that of search_radius (norms.h) in whole powers of two, as the sizes
// of the rows need not fit into one range of doubles. Huber's function has mu (r - mu/2) <= H(r) <=
// mu r, which adds V mu / 2 to the right side of the inequality there; its minimisers are also
// within the largest size, wherever the weight is. Where all minimisers are at the centre, the
// smallest size.
int radius_exponent(std::span<const double> sizes, std::span<const int> exponents,
                    std::span<const double> weights, double mu) {
  int least = std::numeric_limits<int>::max(), most = std::numeric_limits<int>::min();
  double weight = 0, total = 0;  // weight: of what is as near as we have come
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    total += weights[i];
    if (sizes[i] == 0) weight += weights[i];
    if (sizes[i] == 0) continue;
    least = std::min(least, exponents[i]);
    most = std::max(most, exponents[i]);
  }
  if (least > most) return 0;
  const auto slot = [&](int exponent) { return static_cast<std::size_t>(exponent - least); };
  SmallVector<double, 64> of(slot(most) + 1);  // weights by exponents
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0) of[slot(exponents[i])] += weights[i];
  }
  int radius = most + 1;
  double sum = 0;  // of weights times sizes, in units of 2^exponent
  for (int exponent = least - 1; exponent <= most; ++exponent) {
    if (exponent >= least) {
      sum = sum / 2 + of[slot(exponent)];
      weight += of[slot(exponent)];
    }
    const double majority = 2 * weight - total;
    if (!(majority > 1e-9 * total)) continue;
    if (sum == 0 && mu == 0) return least;
    int reach = std::numeric_limits<int>::min();
    if (sum > 0) reach = exponent + 1 + std::ilogb(2 * sum / majority);
    if (mu > 0) reach = std::max(reach, std::ilogb(mu) + 1 + std::ilogb(weight / majority));
    radius = std::min(radius, reach);
  }
  return radius;
}

// Exponents of size_i / scale_i.
SmallVector<int, 16> exponents_of(std::span<const double> sizes, const Scales& scales) {
  SmallVector<int, 16> exponents(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0)
      exponents[i] = std::ilogb(sizes[i]) - (scales.empty() ? 0 : std::ilogb(scales[i]));
  }
  return exponents;
}

// Scales for differences from a point within the bulk, rather than from the centre.
Scales bulk_scales(const Scales& scales, int exponent) {
  Scales bulk = scales;
  for (double& s : bulk) s = std::min(s, std::ldexp(1.0, std::clamp(-exponent, -1022, 1000)));
  return bulk;
}

// Rows of unit length with the cosines of the Gram matrix as inner products: Cholesky's
// factorisation with diagonal pivots, until nothing but rounding is left. Lengths are kept apart,
// so that an outlier does not drown the bulk. What a pivot below the rounding level would add
// changes distances by second order only.
std::size_t unit_rows(const GramMatrix& gram, std::size_t n, SmallVector<double, 64>& unit) {
  const auto g = [&](std::size_t i, std::size_t k) {
    return gram.g[i >= k ? pair_index(i, k) : pair_index(k, i)];
  };
  SmallVector<double, 16> rest(n), length(n);
  SmallVector<double, 128> columns;
  for (std::size_t i = 0; i < n; ++i) {
    length[i] = std::sqrt(g(i, i));
    rest[i] = length[i] > 0 ? 1 : 0;
  }
  std::size_t k = 0;
  for (; k < n; ++k) {
    const auto p =
        static_cast<std::size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    if (!(rest[p] > 4 * std::numeric_limits<double>::epsilon())) break;
    columns.resize((k + 1) * n);  // column c of the factor at columns[c * n]
    double* const column = columns.data() + k * n;
    const double root = std::sqrt(rest[p]);
    for (std::size_t i = 0; i < n; ++i)
      column[i] = length[i] == 0 ? 0 : i == p ? 1 : g(i, p) / (length[i] * length[p]);
    for (std::size_t c = 0; c < k; ++c) {
      const double* const before = columns.data() + c * n;
      const double factor = before[p];
      for (std::size_t i = 0; i < n; ++i) column[i] -= before[i] * factor;
    }
    for (std::size_t i = 0; i < n; ++i) column[i] = i == p ? root : column[i] / root;
    for (std::size_t i = 0; i < n; ++i) rest[i] = i == p ? 0 : rest[i] - column[i] * column[i];
    rest[p] = 0;
  }
  unit.assign(n * k, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < k; ++c) unit[i * k + c] = columns[c * n + i];
  }
  // Equal rows have equal inner products, to the bit: give them one and the same point.
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t e = 0; e < i; ++e) {
      if (g(i, i) == g(e, e) && g(i, e) == g(e, e)) {
        std::copy_n(unit.begin() + e * k, k, unit.begin() + i * k);
        break;
      }
    }
  }
  return k;
}

SmallVector<double, 16> lengths_of(const GramMatrix& gram, std::size_t n) {
  SmallVector<double, 16> lengths(n);
  for (std::size_t i = 0; i < n; ++i) lengths[i] = std::sqrt(gram(i, i));
  return lengths;
}

// Gives row i, of size_i / scale_i, its length in units of where the minimisers are.
void set_units(Embedding& e, std::span<const double> sizes, const Scales& scales,
               std::span<const double> weights, double mu) {
  const SmallVector<int, 16> exponents = exponents_of(sizes, scales);
  e.exponent = radius_exponent(sizes, exponents, weights, mu);
  e.cut.assign(e.n, 0);
  for (std::size_t i = 0; i < e.n; ++i) {
    const int own = scales.empty() ? 0 : -std::ilogb(scales[i]);
    if (sizes[i] > 0) e.cut[i] = std::max(0, exponents[i] - e.exponent - kMostExponent);
    const int shift = own - e.exponent - e.cut[i];
    double* const point = e.points.data() + i * e.k;
    if (std::abs(shift) <= 1000) {
      const double unit = std::ldexp(1.0, shift);
      for (std::size_t j = 0; j < e.k; ++j) point[j] *= unit;
    } else {
      for (std::size_t j = 0; j < e.k; ++j) point[j] = std::ldexp(point[j], shift);
    }
  }
  if (!scales.empty()) e.scales = bulk_scales(scales, e.exponent);
}

// Adds the points with the inner products of the Gram matrix.
Embedding with_points(Embedding e, const GramMatrix& gram, const Scales& scales,
                      std::span<const double> weights, double mu) {
  const SmallVector<double, 16> lengths = lengths_of(gram, e.n);
  e.k = unit_rows(gram, e.n, e.points);
  for (std::size_t i = 0; i < e.n; ++i) {
    for (std::size_t j = 0; j < e.k; ++j) e.points[i * e.k + j] *= lengths[i];
  }
  set_units(e, lengths, scales, weights, mu);
  return e;
}

}  // namespace

double threshold_of(double mu, const Embedding& e) {
  return mu == 0 ? 0 : std::clamp(std::ldexp(mu, -e.exponent), 1e-300, 1e300);
}

Embedding measure_products(const GramMatrix& gram, std::span<const double> weights, double mu) {
  Embedding e;
  e.n = weights.size();
  set_units(e, lengths_of(gram, e.n), {}, weights, mu);
  return e;
}

Embedding embed_products(const GramMatrix& gram, std::span<const double> weights, double mu) {
  Embedding e;
  e.n = weights.size();
  return with_points(std::move(e), gram, {}, weights, mu);
}

template <Real T>
Measured measure_by_gram(const Input<T>& input, const T* centre, double mu) {
  Measured m;
  const std::size_t n = m.e.n = input.n;
  m.gram = gram_matrix(input, centre, m.scales);
  bool safe = true;
  for (std::size_t i = 0; i < n; ++i) safe = safe && safe_square(m.gram(i, i));
  if (!safe) {
    const std::vector<T> medians =
        centre == nullptr ? column_medians(input) : std::vector<T>(centre, centre + input.d);
    m.scales = scales_for(largest_entries(input, medians.data(), static_cast<const T*>(nullptr)));
    m.gram = gram_matrix(input, medians.data(), m.scales);
  }
  m.e.seen = m.gram.seen;
  set_units(m.e, lengths_of(m.gram, n), m.scales, input.weights, mu);
  return m;
}

template <Real T>
Embedding embed_measured(const Input<T>& input, Measured&& m, double mu) {
  return with_points(std::move(m.e), m.gram, m.scales, input.weights, mu);
}

template <Real T>
Embedding embed_by_gram(const Input<T>& input, const T* centre, double mu) {
  return embed_measured(input, measure_by_gram(input, centre, mu), mu);
}

template <Real T>
Embedding embed_directly(const Input<T>& input, const T* centre, double mu) {
  need_all_columns(input);
  Embedding e;
  const std::size_t n = e.n = input.n, d = e.k = input.d;
  const std::vector<T> medians =
      centre == nullptr ? column_medians(input) : std::vector<T>(centre, centre + d);
  const std::vector<double> largest =
      largest_entries(input, medians.data(), static_cast<const T*>(nullptr));
  const Scales scales = scales_for(largest);
  e.centre.assign(medians.begin(), medians.end());
  e.points.resize(n * d);
  e.seen = for_each_block(input, static_cast<const T*>(nullptr),
                          [&](std::size_t, Block<T>& block, std::size_t begin, std::size_t) {
                            for (std::size_t i = 0; i < n; ++i) {
                              kernels::centred_tile<T>(block.rows() + i, 1, block.count(),
                                                       &medians[begin], &scales[i], block.count(),
                                                       &e.points[i * d + begin]);
                            }
                          });
  std::vector<double> sizes(n);  // the largest entry of each scaled row, in [1/4, 2)
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j)
      sizes[i] = std::max(sizes[i], std::abs(e.points[i * d + j]));
  }
  set_units(e, sizes, scales, input.weights, mu);
  const bool ordinary = std::all_of(largest.begin(), largest.end(),
                                    [](double x) { return x == 0 || (x > 1e-120 && x < 1e120); });
  if (ordinary) e.scales.clear();
  return e;
}

template Measured measure_by_gram(const Input<float>&, const float*, double);
template Embedding embed_measured(const Input<float>&, Measured&&, double);
template Embedding embed_by_gram(const Input<float>&, const float*, double);
template Measured measure_by_gram(const Input<double>&, const double*, double);
template Embedding embed_measured(const Input<double>&, Measured&&, double);
template Embedding embed_by_gram(const Input<double>&, const double*, double);
template Embedding embed_directly(const Input<float>&, const float*, double);
template Embedding embed_directly(const Input<double>&, const double*, double);

}  // namespace medgrad::estimators
