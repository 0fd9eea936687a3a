// Sample estimators over rows of one size after the other, beside the plain loops that bound them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "bench.h"
#include "core/sample/gram.h"
#include "medgrad/large_vector.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"
#include "plain.h"

namespace medgrad::bench {
namespace {

// A common vector, noise with heavy tails whose size differs from row to row, and some rows that
// point elsewhere.
template <class T>
LargeVector<T> make_rows(std::size_t n, std::size_t d) {
  LargeVector<T> values(n * d);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  std::vector<float> common(d);
  for (float& x : common) x = uniform(random) + uniform(random) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const float scale = 0.5f + uniform(random), shift = i % 8 == 7 ? 10.0f : 0.0f;
    for (std::size_t j = 0; j < d; ++j) {
      const float u = 2 * uniform(random) - 1;
      values[i * d + j] = static_cast<T>(common[j] + shift + scale * u / (1.05f - u * u));
    }
  }
  return values;
}

// The best time of each task, which take turns.
template <std::size_t N, class Run>
void in_turns(int rounds, double (&best)[N], Run&& run) {
  std::fill(best, best + N, std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < N; ++i) best[i] = std::min(best[i], seconds([&] { run(i); }));
  }
}

}  // namespace

template <class T>
void rows_of(std::size_t n, std::size_t d, int rounds) {
  const LargeVector<T> values = make_rows<T>(n, d);
  const Rows<T> rows(values.data(), n, d);
  LargeVector<T> out(d);
  ThreadPool two(2);
  const SampleMethod methods[] = {Mean{}, Median{}, TrimmedMean{n / 4}, GeometricMedian{},
                                  HuberLocation{}};
  const char* const names[] = {
      "plain", "gram", "mean", "median", "trimmed mean", "geometric median", "huber location"};
  constexpr std::size_t kMethods = std::size(methods), kAll = 2 + 2 * kMethods;
  double best[kAll];
  estimators::Input<T> input;
  input.n = n;
  input.d = d;
  input.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) input.rows[i] = rows.row(i);
  const std::vector<T> centre(d);
  double kept = 0;
  in_turns(rounds, best, [&](std::size_t task) {
    if (task == 0) {
      sum_rows(values.data(), n, d, out.data());
    } else if (task == 1) {
      kept += estimators::gram_matrix<T>(input, centre.data(), {}).g[0];
    } else {
      SampleOptions<T> options;
      options.pool = task >= 2 + kMethods ? &two : nullptr;
      (void)aggregate(methods[(task - 2) % kMethods], rows, std::span<T>(out), options);
    }
  });
  const double flops = static_cast<double>(n * (n + 1)) * static_cast<double>(d);
  std::printf(R"({"n": %zu, "d": %zu, "plain_ms": %.4f, "gram_ms": %.4f, "gram_gflops": %.2f)", n,
              d, best[0] * 1e3, best[1] * 1e3, flops / best[1] * 1e-9);
  for (std::size_t m = 0; m < kMethods; ++m)
    std::printf(R"(, "%s": [%.4f, %.4f])", names[2 + m], best[2 + m] * 1e3,
                best[2 + kMethods + m] * 1e3);
  std::printf("%s}\n", kept == 0.5 ? " " : "");
}

void fused_rate(int rounds) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) best = std::max(best, fused_gflops());
  std::printf(R"({"gflops": %.2f})"
              "\n",
              best);
}

template void rows_of<float>(std::size_t, std::size_t, int);
template void rows_of<double>(std::size_t, std::size_t, int);

}  // namespace medgrad::bench
