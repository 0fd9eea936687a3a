#include "plain.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "bench.h"
#include "kernels/simd.h"

// Left to the compiler to vectorise, for the best instruction set of the machine.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MEDGRAD_BEST_TARGET __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MEDGRAD_BEST_TARGET
#endif

namespace medgrad::bench {
namespace {

// The passes of a step, for one instruction set each: `Target` only gives their copies names.
#define MEDGRAD_INLINE inline __attribute__((always_inline))

template <class T>
MEDGRAD_INLINE T sum_up(const T* sums, std::size_t n) {
  T sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += sums[k];
  return sum;
}

// As many sums as keep the processor busy.
template <class T, std::size_t kSums = 512 / sizeof(T)>
MEDGRAD_INLINE T read_one(const T* __restrict g, std::size_t n) {
  T sums[kSums] = {};
  for (std::size_t i = 0; i + kSums <= n; i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += g[i + k];
  return sum_up(sums, kSums);
}
template <class T, std::size_t kSums = 256 / sizeof(T)>
MEDGRAD_INLINE T read_two(const T* __restrict m, const T* __restrict g, std::size_t n) {
  T sums[kSums] = {};
  for (std::size_t i = 0; i + kSums <= n; i += kSums)
    for (std::size_t k = 0; k < kSums; ++k)
      sums[k] += (g[i + k] - m[i + k]) * (g[i + k] - m[i + k]);
  return sum_up(sums, kSums);
}
template <class T>
MEDGRAD_INLINE void update(T* __restrict m, const T* __restrict g, T* __restrict w, T f, T eta,
                           std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    m[i] += f * (g[i] - m[i]);
    w[i] -= eta * m[i];
  }
}
template <class T>
MEDGRAD_INLINE void update_adam(T* __restrict m, const T* __restrict g, T* __restrict v,
                                T* __restrict w, T f, T eta, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    m[i] += f * (g[i] - m[i]);
    v[i] += f * (g[i] * g[i] - v[i]);
    w[i] -= eta * m[i] / (std::sqrt(v[i]) + T(1e-8));
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
#define MEDGRAD_FOR_TARGETS(PASSES)                                                 \
  PASSES(Wide, __attribute__((target("avx512f,avx512dq,prefer-vector-width=512")))) \
  PASSES(Middle, __attribute__((target("avx2"))))                                   \
  PASSES(Base, )
#else
#define MEDGRAD_FOR_TARGETS(PASSES) PASSES(Base, )
#endif

#define MEDGRAD_PASSES(NAME, TARGET)                                                          \
  template <class T>                                                                          \
  struct NAME {                                                                               \
    TARGET static T read(const T* g, std::size_t n) { return read_one(g, n); }                \
    TARGET static T read(const T* m, const T* g, std::size_t n) { return read_two(m, g, n); } \
    TARGET static void change(T* m, const T* g, T* w, T f, T eta, std::size_t n) {            \
      update(m, g, w, f, eta, n);                                                             \
    }                                                                                         \
    TARGET static void change(T* m, const T* g, T* v, T* w, T f, T eta, std::size_t n) {      \
      update_adam(m, g, v, w, f, eta, n);                                                     \
    }                                                                                         \
  };
MEDGRAD_FOR_TARGETS(MEDGRAD_PASSES)

template <class Use>
auto on_target(const Use& use) {
#if defined(__x86_64__) && defined(__GNUC__)
  static const std::string target = kernels::simd_target();
  if (target.starts_with("AVX3")) return use.template operator()<Wide>();
  if (target == "AVX2") return use.template operator()<Middle>();
#endif
  return use.template operator()<Base>();
}

MEDGRAD_BEST_TARGET void add_float(const float* __restrict a, float* __restrict b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) b[i] += a[i];
}
MEDGRAD_BEST_TARGET void add_double(const double* __restrict a, double* __restrict b,
                                    std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) b[i] += a[i];
}
void add(const float* a, float* b, std::size_t n) { add_float(a, b, n); }
void add(const double* a, double* b, std::size_t n) { add_double(a, b, n); }

MEDGRAD_BEST_TARGET void widen_float(const float* __restrict a, double* __restrict b,
                                     std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) b[i] += static_cast<double>(a[i]);
}
void widen(const float* a, double* b, std::size_t n) { widen_float(a, b, n); }
void widen(const double* a, double* b, std::size_t n) { add_double(a, b, n); }

// Minima and maxima of numbers that do not let the compiler know which are which.
constexpr std::size_t kNumbers = 96;
MEDGRAD_BEST_TARGET void minmax_loop(float* numbers, float a, float b, std::size_t steps) {
  float local[kNumbers];
  for (std::size_t k = 0; k < kNumbers; ++k) local[k] = numbers[k];
  for (std::size_t i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < kNumbers; ++k) {
      const float low = local[k] < a ? local[k] : a;
      local[k] = low > b ? low : b;
    }
    const float next = a;  // neither loop can be left out
    a = b;
    b = next;
  }
  for (std::size_t k = 0; k < kNumbers; ++k) numbers[k] = local[k];
}

// More sums than the latency of a fused operation needs.
constexpr std::size_t kSums = 96;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "arch=haswell", "default"), optimize("fp-contract=fast")))
#endif
void fused_loop(double* sums, double a, double b, std::size_t steps) {
  double local[kSums];
  for (std::size_t k = 0; k < kSums; ++k) local[k] = sums[k];
  for (std::size_t i = 0; i < steps; ++i)
    for (std::size_t k = 0; k < kSums; ++k) local[k] = local[k] * a + b;
  for (std::size_t k = 0; k < kSums; ++k) sums[k] = local[k];
}

}  // namespace

template <class T>
void sum_rows(const T* rows, std::size_t n, std::size_t d, T* out, std::size_t first,
              std::size_t last) {
  constexpr std::size_t kPart = 2048;
  for (std::size_t begin = first; begin < last; begin += kPart) {
    const std::size_t count = std::min(kPart, last - begin);
    std::copy_n(rows + begin, count, out + begin);
    for (std::size_t i = 1; i < n; ++i) add(rows + i * d + begin, out + begin, count);
  }
}
template void sum_rows(const float*, std::size_t, std::size_t, float*, std::size_t, std::size_t);
template void sum_rows(const double*, std::size_t, std::size_t, double*, std::size_t, std::size_t);

template <class T>
void sum_rows_in_double(const T* rows, std::size_t n, std::size_t d, double* out) {
  constexpr std::size_t kPart = 1024;
  for (std::size_t begin = 0; begin < d; begin += kPart) {
    const std::size_t count = std::min(kPart, d - begin);
    std::copy_n(rows + begin, count, out + begin);
    for (std::size_t i = 1; i < n; ++i) widen(rows + i * d + begin, out + begin, count);
  }
}
template void sum_rows_in_double(const float*, std::size_t, std::size_t, double*);
template void sum_rows_in_double(const double*, std::size_t, std::size_t, double*);

double minmax_gops() {
  constexpr std::size_t kSteps = 1000000;
  float numbers[kNumbers] = {};
  for (std::size_t k = 0; k < kNumbers; ++k) numbers[k] = static_cast<float>(k);
  const double start = processor_seconds();
  minmax_loop(numbers, 60.0f, 30.0f, kSteps);
  const double time = processor_seconds() - start;
  return numbers[0] > 100 ? 0 : 2.0 * kNumbers * kSteps / time * 1e-9;
}

double fused_gflops() {
  constexpr std::size_t kSteps = 1000000;
  double sums[kSums] = {};
  const double start = processor_seconds();
  fused_loop(sums, 0.5, 1.0, kSteps);
  const double time = processor_seconds() - start;
  return sums[0] > 3 ? 0 : 2.0 * kSums * kSteps / time * 1e-9;  // they go to 2
}

template <class T>
T read_pass(const T* g, std::size_t n) {
  return on_target([&]<template <class> class Passes>() { return Passes<T>::read(g, n); });
}
template <class T>
T read_pass(const T* m, const T* g, std::size_t n) {
  return on_target([&]<template <class> class Passes>() { return Passes<T>::read(m, g, n); });
}
template <class T>
void update_pass(T* m, const T* g, T* w, T f, T eta, std::size_t n) {
  on_target([&]<template <class> class Passes>() { Passes<T>::change(m, g, w, f, eta, n); });
}
template <class T>
void update_pass(T* m, const T* g, T* v, T* w, T f, T eta, std::size_t n) {
  on_target([&]<template <class> class Passes>() { Passes<T>::change(m, g, v, w, f, eta, n); });
}

template float read_pass(const float*, std::size_t);
template double read_pass(const double*, std::size_t);
template float read_pass(const float*, const float*, std::size_t);
template double read_pass(const double*, const double*, std::size_t);
template void update_pass(float*, const float*, float*, float, float, std::size_t);
template void update_pass(double*, const double*, double*, double, double, std::size_t);
template void update_pass(float*, const float*, float*, float*, float, float, std::size_t);
template void update_pass(double*, const double*, double*, double*, double, double, std::size_t);

}  // namespace medgrad::bench
