// Another order, drawn by the counter-based generator.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "medgrad/rng.h"

namespace medgrad {

// Every order of x has the same chance (Fisher and Yates): for i = n, n - 1, …, 2 entry i - 1 and
// entry floor(i u_(i-1)) change places, u being the uniform numbers of `random`.
template <class T>
void shuffle(std::span<T> x, const Philox& random) {
  std::vector<double> u(x.size());
  random.fill_uniform(std::span(u));
  for (std::size_t i = x.size(); i > 1; --i)
    std::swap(x[i - 1], x[static_cast<std::size_t>(u[i - 1] * static_cast<double>(i))]);
}

}  // namespace medgrad
