// Nanoseconds per stable sample, one thread, double and float, beside the Philox words alone: the
// part of the cost that no formula can save. bench/peers/stable_numpy.py prints the peers' numbers
// for the same cases.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <vector>

#include "medgrad/rng.h"
#include "medgrad/stable.h"

namespace {

// The shortest of several runs: the least disturbed one.
template <class F>
double nanoseconds_per_sample(const F& f, std::size_t n) {
  double best = 1e300;
  for (int repeat = 0; repeat < 30; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / static_cast<double>(n));
  }
  return best;
}

}  // namespace

int main() {
  constexpr std::size_t kN = 1 << 18;
  std::vector<double> x(kN);
  std::vector<float> y(kN);
  std::vector<std::uint32_t> words(kN);
  const medgrad::Philox philox(1);
  std::printf("what,alpha,beta,double_ns,float_ns,ratio\n");
  const double bits = nanoseconds_per_sample([&] { philox.fill_bits(words); }, kN);
  std::printf("words,,,%.2f,%.2f,2\n", 4 * bits, 2 * bits);  // as many bits as a sample takes
  const double u64 = nanoseconds_per_sample([&] { philox.fill_uniform(x); }, kN);
  const double u32 = nanoseconds_per_sample([&] { philox.fill_uniform(y); }, kN);
  std::printf("uniform,,,%.2f,%.2f,%.2f\n", u64, u32, u64 / u32);
  const double n64 = nanoseconds_per_sample([&] { philox.fill_normal(x); }, kN);
  const double n32 = nanoseconds_per_sample([&] { philox.fill_normal(y); }, kN);
  std::printf("normal,,,%.2f,%.2f,%.2f\n", n64, n32, n64 / n32);
  constexpr double kCases[][2] = {{1.1, 0}, {1.1, 1}, {1.8, 0}, {1.8, 0.5},
                                  {0.3, 0}, {0.3, 1}, {1, 0},   {2, 0}};
  for (const auto& [alpha, beta] : kCases) {
    const medgrad::Stable stable({alpha, beta});
    const double f64 = nanoseconds_per_sample([&] { stable.sample(x, 1, 2); }, kN);
    const double f32 = nanoseconds_per_sample([&] { stable.sample(y, 1, 2); }, kN);
    std::printf("stable,%g,%g,%.2f,%.2f,%.2f\n", alpha, beta, f64, f32, f64 / f32);
  }
}
