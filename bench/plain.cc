#include "plain.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench.h"

// Left to the compiler to vectorise, for the best instruction set of the machine.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MEDGRAD_BEST_TARGET __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MEDGRAD_BEST_TARGET
#endif

namespace medgrad::bench {
namespace {

MEDGRAD_BEST_TARGET void triad_float(const float* __restrict a, const float* __restrict b,
                                     float* __restrict c, float s, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + s * b[i];
}
MEDGRAD_BEST_TARGET void triad_double(const double* __restrict a, const double* __restrict b,
                                      double* __restrict c, double s, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + s * b[i];
}
MEDGRAD_BEST_TARGET void in_place_float(float* a, float s, float c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = a[i] * s + c;
}
MEDGRAD_BEST_TARGET void in_place_double(double* a, double s, double c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = a[i] * s + c;
}
MEDGRAD_BEST_TARGET void by_hand_float(float* __restrict m, const float* __restrict g,
                                       float* __restrict w, float tau, float eta, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float v = g[i] - m[i];
    m[i] += v > tau ? tau : (v < -tau ? -tau : v);
    w[i] -= eta * m[i];
  }
}
MEDGRAD_BEST_TARGET void by_hand_double(double* __restrict m, const double* __restrict g,
                                        double* __restrict w, double tau, double eta,
                                        std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double v = g[i] - m[i];
    m[i] += v > tau ? tau : (v < -tau ? -tau : v);
    w[i] -= eta * m[i];
  }
}

// Two loops: |g - m|^2 in as many sums as keep the processor busy, then the scaled increment.
MEDGRAD_BEST_TARGET void two_loops_float(float* __restrict m, const float* __restrict g,
                                         float* __restrict w, float tau, float eta, std::size_t n) {
  float sums[64] = {};
  for (std::size_t i = 0; i + 64 <= n; i += 64)
    for (std::size_t k = 0; k < 64; ++k) sums[k] += (g[i + k] - m[i + k]) * (g[i + k] - m[i + k]);
  float square = 0;
  for (const float sum : sums) square += sum;
  const float f = std::min(1.0f, tau / std::sqrt(square));
  for (std::size_t i = 0; i < n; ++i) {
    m[i] += f * (g[i] - m[i]);
    w[i] -= eta * m[i];
  }
}
MEDGRAD_BEST_TARGET void two_loops_double(double* __restrict m, const double* __restrict g,
                                          double* __restrict w, double tau, double eta,
                                          std::size_t n) {
  double sums[32] = {};
  for (std::size_t i = 0; i + 32 <= n; i += 32)
    for (std::size_t k = 0; k < 32; ++k) sums[k] += (g[i + k] - m[i + k]) * (g[i + k] - m[i + k]);
  double square = 0;
  for (const double sum : sums) square += sum;
  const double f = std::min(1.0, tau / std::sqrt(square));
  for (std::size_t i = 0; i < n; ++i) {
    m[i] += f * (g[i] - m[i]);
    w[i] -= eta * m[i];
  }
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
void sum_rows(const T* rows, std::size_t n, std::size_t d, T* out) {
  constexpr std::size_t kPart = 2048;
  for (std::size_t begin = 0; begin < d; begin += kPart) {
    const std::size_t count = std::min(kPart, d - begin);
    std::copy_n(rows + begin, count, out + begin);
    for (std::size_t i = 1; i < n; ++i) add(rows + i * d + begin, out + begin, count);
  }
}
template void sum_rows(const float*, std::size_t, std::size_t, float*);
template void sum_rows(const double*, std::size_t, std::size_t, double*);

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
void copy(const T* a, T* b, std::size_t n) {
  std::memcpy(b, a, n * sizeof(T));
}
template void copy(const float*, float*, std::size_t);
template void copy(const double*, double*, std::size_t);

template <>
void triad(const float* a, const float* b, float* c, float s, std::size_t n) {
  triad_float(a, b, c, s, n);
}
template <>
void triad(const double* a, const double* b, double* c, double s, std::size_t n) {
  triad_double(a, b, c, s, n);
}
template <>
void in_place(float* a, float s, float c, std::size_t n) {
  in_place_float(a, s, c, n);
}
template <>
void in_place(double* a, double s, double c, std::size_t n) {
  in_place_double(a, s, c, n);
}

template <>
void cclip_by_hand(float* m, const float* g, float* w, float tau, float eta, std::size_t n) {
  by_hand_float(m, g, w, tau, eta, n);
}
template <>
void cclip_by_hand(double* m, const double* g, double* w, double tau, double eta, std::size_t n) {
  by_hand_double(m, g, w, tau, eta, n);
}
template <>
void vclip_by_hand(float* m, const float* g, float* w, float tau, float eta, std::size_t n) {
  two_loops_float(m, g, w, tau, eta, n);
}
template <>
void vclip_by_hand(double* m, const double* g, double* w, double tau, double eta, std::size_t n) {
  two_loops_double(m, g, w, tau, eta, n);
}

}  // namespace medgrad::bench
