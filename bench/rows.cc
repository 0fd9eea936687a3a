// Sample estimators over rows of one size after the other, beside the plain loops that bound them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bare.h"
#include "bench.h"
#include "core/sample/gram.h"
#include "kernels/network.h"
#include "medgrad/large_vector.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"
#include "plain.h"

namespace medgrad::bench {

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
template LargeVector<float> make_rows(std::size_t, std::size_t);
template LargeVector<double> make_rows(std::size_t, std::size_t);

std::vector<std::pair<std::string, Rule>> rules_for(std::size_t n) {
  const std::size_t quarter = n / 4,
                    eighth = std::min(std::max<std::size_t>(1, n / 8), (n - 1) / 2);
  const std::size_t krum = std::min(eighth, Krum::bears(n));
  const Nnm nearest{.f = eighth};
  return {{"mean", Mean{}},
          {"median", Median{}},
          {"trimmed mean", TrimmedMean{std::min(quarter, (n - 1) / 2)}},
          {"meamed", MeaMed{std::min(quarter, (n - 1) / 2)}},
          {"geometric median", GeometricMedian{}},
          {"huber location", HuberLocation{}},
          {"krum", Krum{.f = krum}},
          {"multi-krum", MultiKrum{.f = krum}},
          {"caf", Caf{.f = eighth}},
          {"centered clipping", CenteredClipping{}},
          {"nnm+krum", Rule({nearest}, Krum{.f = krum})},
          {"nnm+caf", Rule({nearest}, Caf{.f = eighth})},
          {"nnm+geometric median", Rule({nearest}, GeometricMedian{})},
          {"nnm+median", Rule({nearest}, Median{})}};
}

namespace {

// Minima and maxima per column of the network for the median of n rows; 0 where there is none.
template <std::size_t N>
constexpr std::size_t operations_of() {
  constexpr kernels::MedianNetwork<N> kNetwork;
  std::size_t all = 0;
  for (std::size_t c = 0; c < kNetwork.count; ++c)
    all += std::size_t{kNetwork.comparators[c].keep_low} + kNetwork.comparators[c].keep_high;
  return all;
}
std::size_t network_operations(std::size_t n) {
  switch (n) {
    case 4:
      return operations_of<4>();
    case 8:
      return operations_of<8>();
    case 16:
      return operations_of<16>();
    case 17:
      return operations_of<20>();
    case 24:
      return operations_of<24>();
    case 32:
      return operations_of<32>();
    case 48:
      return operations_of<48>();
    case 64:
      return operations_of<64>();
    default:
      return 0;
  }
}

struct Task {
  std::string name;
  std::function<void()> run;
  double best = std::numeric_limits<double>::infinity();  // seconds of this thread's processor
  double wall = best;
};

// One turn of a task: as often in a row as takes a quarter of a millisecond, as the first one after
// something else pays for its caches and its clock.
void measure(Task& task) {
  constexpr double kLong = 2.5e-4;
  double wall = seconds(task.run);
  const int times = wall >= kLong ? 0 : static_cast<int>(kLong / wall) + 1;
  for (int i = 0; i <= times; ++i) {
    const double start = processor_seconds();
    wall = seconds(task.run);
    task.wall = std::min(task.wall, wall);
    task.best = std::min(task.best, processor_seconds() - start);
  }
}

}  // namespace

template <class T>
void rows_of(std::size_t n, std::size_t d, int rounds, const std::string& only) {
  const LargeVector<T> values = make_rows<T>(n, d);
  const Rows<T> rows(values.data(), n, d);
  LargeVector<T> out(d);
  ThreadPool two(2);
  estimators::Input<T> input;
  input.n = n;
  input.d = d;
  input.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) input.rows[i] = rows.row(i);
  const std::vector<T> centre(d);
  double sum = 0;

  std::vector<Task> tasks;
  const auto add = [&](const std::string& name, auto&& run) {
    if (name.find(only) != std::string::npos || tasks.empty()) tasks.push_back({name, run});
  };
  add("plain", [&] { sum_rows(values.data(), n, d, out.data(), 0, d); });
  add("plain, 2 threads", [&] {
    two.for_each(2, [&](std::size_t half) {
      const std::size_t middle = d / 2 / 16 * 16;
      sum_rows(values.data(), n, d, out.data(), half == 0 ? 0 : middle, half == 0 ? middle : d);
    });
  });
  std::vector<double> wide(d);
  add("plain in double", [&] { sum_rows_in_double(values.data(), n, d, wide.data()); });
  if constexpr (std::is_same_v<T, float>) {
    std::vector<float> room(bare_room(n));
    const auto bare = [&, room](auto loop) mutable {
      return loop(input.rows.data(), n, d, room.data(), out.data());
    };
    if (auto run = bare; run(trim_loop))
      add("bare trimmed mean", [run]() mutable { run(trim_loop); });
    if (auto run = bare; run(near_loop)) add("bare meamed", [run]() mutable { run(near_loop); });
    if (n == 3 || n == 4 || n == 8)
      add("bare gram", [&] { sum += gram_loop(input.rows.data(), n, d, centre.data()); });
  }
  add("gram", [&] { sum += estimators::gram_matrix<T>(input, centre.data(), {}).g[0]; });
  const std::size_t products = products_of_caf(n, d), padded = (n + 15) / 16 * 16;
  std::vector<float> half(products == 0 ? 0 : padded * padded, 1.0f), x(padded), product(padded);
  if (products != 0) {
    add("bare caf", [&] {
      sum += estimators::gram_matrix<T>(input, centre.data(), {}).g[0];
      for (std::size_t i = 0; i < products; ++i)
        product_loop(half.data(), padded, x.data(), product.data());
      sum_rows(values.data(), n, d, out.data(), 0, d);
      sum += product[0];
    });
  }
  for (const auto& [name, rule] : rules_for(n)) {
    for (const bool threads : {false, true}) {
      SampleOptions<T> options;
      options.pool = threads ? &two : nullptr;
      add(name + std::string(threads ? ", 2 threads" : ""),
          [&, options, rule = rule] { (void)aggregate(rule, rows, std::span<T>(out), options); });
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (Task& task : tasks) measure(task);
  }
  for (const Task& task : tasks) {
    std::printf(
        R"({"what": "%s", "n": %zu, "d": %zu, "ms": %.6f, "wall_ms": %.6f, "operations": %zu})"
        "\n",
        task.name.c_str(), n, d, task.best * 1e3, task.wall * 1e3, network_operations(n));
  }
  if (std::isnan(sum)) std::puts("");
}

void fused_rate(int rounds) {
  double fused = 0, minmax = 0;
  for (int round = 0; round < rounds; ++round) {
    fused = std::max(fused, fused_gflops());
    minmax = std::max(minmax, minmax_gops());
  }
  std::printf(R"({"gflops": %.2f, "minmax_gops": %.2f})"
              "\n",
              fused, minmax);
}

template void rows_of<float>(std::size_t, std::size_t, int, const std::string&);
template void rows_of<double>(std::size_t, std::size_t, int, const std::string&);

}  // namespace medgrad::bench
