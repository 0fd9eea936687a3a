// Sample estimators over rows that run.py wrote to a file.
#include "medgrad/sample.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <vector>

#include "bench.h"
#include "medgrad/error.h"
#include "medgrad/large_vector.h"

namespace medgrad::bench {
namespace {

template <class T>
LargeVector<T> read_raw(const std::string& file, std::size_t count) {
  LargeVector<T> values(count);  // large pages, as numpy has them
  std::ifstream in(file, std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
  in.read(reinterpret_cast<char*>(values.data()), bytes);
  if (in.gcount() != bytes) throw Error(file + " is shorter than the rows it should hold.");
  return values;
}

}  // namespace

template <class T>
void sample(const std::string& method, double tolerance, const std::string& file, std::size_t n,
            std::size_t d, int rounds, const std::string& out) {
  SampleMethod chosen = Median{};
  if (method == "geometric-median") {
    chosen = GeometricMedian{.tolerance = tolerance, .max_iterations = 1000};
  } else if (method != "median") {
    throw Error("The benchmark knows 'median' and 'geometric-median', not '" + method + "'.");
  }
  const LargeVector<T> values = read_raw<T>(file, n * d);
  const Rows<T> rows(values.data(), n, d);
  LargeVector<T> estimate(d);
  SampleInfo info;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    best = std::min(best, seconds([&] { info = aggregate(chosen, rows, std::span<T>(estimate)); }));
  }
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(estimate.data()),
             static_cast<std::streamsize>(d * sizeof(T)));
  std::printf(R"({"seconds": %.9f, "iterations": %d, "gap": %.3g, "objective": %.17g})"
              "\n",
              best, info.iterations, info.gap, info.objective);
}

template void sample<float>(const std::string&, double, const std::string&, std::size_t,
                            std::size_t, int, const std::string&);
template void sample<double>(const std::string&, double, const std::string&, std::size_t,
                             std::size_t, int, const std::string&);

}  // namespace medgrad::bench
