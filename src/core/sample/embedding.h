// The rows of the data as points of a small space with the same mutual distances.
#pragma once

#include "core/sample/gram.h"
#include "core/sample/input.h"
#include "core/sample/norms.h"
#include "core/small_vector.h"

namespace medgrad::estimators {

// Distances are in units of 2^exponent, the size of a ball around the centre that holds all
// minimisers: an outlier of 1e300 beside a bulk of 1e-300 fits neither in a double squared nor in
// one unit with it, so lengths beyond 2^490 units are cut to that by a power of two. It changes the
// direction of no pull, and the median by nothing that can be seen.
struct Embedding {
  std::size_t n = 0, k = 0;
  SmallVector<double, 64> points;  // n x k
  int exponent = 0;
  SmallVector<int, 16> cut;    // by which power of two
  Scales scales;               // for the kernels; empty where none are needed
  std::vector<double> centre;  // of embed_directly: points are x - centre, in units
  Count seen;
};

// mu in units of the embedding; 0 stands for the geometric median, so it must not vanish.
[[nodiscard]] double threshold_of(double mu, const Embedding& e);

// Of points of which there is nothing but their inner products, as gram_matrix makes them, without
// scales; all but the points.
[[nodiscard]] Embedding measure_products(const GramMatrix& gram, std::span<const double> weights,
                                         double mu = 0);
[[nodiscard]] Embedding embed_products(const GramMatrix& gram, std::span<const double> weights,
                                       double mu = 0);

// What embed_by_gram knows of the rows before it makes points of them: all but those.
struct Measured {
  Embedding e;
  GramMatrix gram;
  Scales scales;  // of the Gram matrix
};
template <Real T>
[[nodiscard]] Measured measure_by_gram(const Input<T>& input, const T* centre, double mu = 0);
// Adds the points.
template <Real T>
[[nodiscard]] Embedding embed_measured(const Input<T>& input, Measured&& measured, double mu = 0);

// Around `centre` (length d), or around the componentwise median where it is null: the centre ought
// to be within the bulk, as distances are good to 1e-16 of the distance from it. Two ways with the
// same result, one for many columns (by the Gram matrix, in one pass) and one for many rows. mu is
// Huber's threshold, 0 for a norm: it has a say in where minimisers can be.
template <Real T>
[[nodiscard]] Embedding embed_by_gram(const Input<T>& input, const T* centre, double mu = 0);
template <Real T>
[[nodiscard]] Embedding embed_directly(const Input<T>& input, const T* centre, double mu = 0);
template <Real T>
[[nodiscard]] bool by_gram(const Input<T>& input) {
  constexpr std::size_t kMostRows = 1024;
  return input.whole() > input.n && input.n <= kMostRows;
}
template <Real T>
[[nodiscard]] Embedding embed(const Input<T>& input, const T* centre, double mu = 0) {
  return by_gram(input) ? embed_by_gram(input, centre, mu) : embed_directly(input, centre, mu);
}

}  // namespace medgrad::estimators
