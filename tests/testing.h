// What the tests share: random vectors of every temper, exact comparisons, errors, distributions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "medgrad/error.h"

namespace medgrad::testing {

// Normal, heavy-tailed (Cauchy), with ties, with zeros: one after the other.
template <class T>
std::vector<T> random_vector(std::mt19937_64& rng, std::size_t n, int temper) {
  std::normal_distribution<double> normal;
  std::cauchy_distribution<double> cauchy;
  std::vector<T> x(n);
  for (T& v : x) {
    switch (temper % 4) {
      case 0:
        v = static_cast<T>(normal(rng));
        break;
      case 1:
        v = static_cast<T>(cauchy(rng));
        break;
      case 2:
        v = static_cast<T>(std::round(2 * normal(rng)));
        break;
      default:
        v = normal(rng) > 0 ? static_cast<T>(normal(rng)) : T{0};
    }
  }
  return x;
}

template <class T>
std::span<const T> view(const std::vector<T>& x) {
  return x;
}

// The same bits, so that -0 differs from 0 and a NaN equals itself.
template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class T>
double dot(const std::vector<T>& a, const std::vector<T>& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
  return static_cast<double>(sum);
}

template <class T>
std::vector<T> minus(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) c[i] = a[i] - b[i];
  return c;
}

// Room for rounding: a few units in the last place of T, times the size of what is compared.
template <class T>
constexpr double slack(double size) {
  return 64 * static_cast<double>(std::numeric_limits<T>::epsilon()) * (1 + size);
}

// The sentence of the Error that f throws.
template <class F>
std::string message_of(const F& f) {
  try {
    (void)f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// sqrt(n) sup |F_n - F| over all points; DKW: P(> 3.2) <= 2 exp(-2 * 3.2^2) = 3e-9.
template <class T, class Cdf>
double kolmogorov(std::vector<T> x, const Cdf& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(static_cast<double>(x[i])), at = static_cast<double>(i);
    worst = std::max({worst, f - at / n, (at + 1) / n - f});
  }
  return worst * std::sqrt(n);
}

inline std::string golden(const std::string& name) {
  return std::string(MEDGRAD_GOLDEN) + "/" + name;
}

}  // namespace medgrad::testing
