#include "noise/component_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/stable.h"
#include "medgrad/thread_pool.h"
#include "noise/reach.h"
#include "noise/stable_test.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

constexpr std::size_t kTested = 8;
constexpr std::size_t kSamples = 399;
constexpr std::size_t kLarge = 4096;  // numbers from which on the laws of large samples hold
constexpr double kRejects = 0.05, kTests = 3;

// How far the alpha of one component is off that of all: by the normal law, with both intervals. At
// the end of its range an estimate has no way to go: then the other side says how wide they are.
double p_of_alpha(const StableFit& one, const StableFit& all) {
  const double off = one.parameters.alpha - all.parameters.alpha;
  const auto side = [](const StableFit& fit, bool up) {
    return up ? fit.alpha.high - fit.parameters.alpha : fit.parameters.alpha - fit.alpha.low;
  };
  const auto half = [&](const StableFit& fit, bool up) {
    return side(fit, up) > 0 ? side(fit, up) : side(fit, !up);
  };
  const double width = std::hypot(half(one, off < 0), half(all, off > 0));
  return width > 0 ? std::erfc(std::fabs(off) / width * kZ95 / std::sqrt(2.0)) : 1;
}

// What samples of the law that was fitted to all entries show by the same tests: how small their
// p-values are, and how far their alpha is off that of the law, which itself is not known better
// than its interval says.
struct Simulated {
  std::vector<double> p_values, offs;
};
Simulated simulate(const StableFit& all, std::size_t n, ThreadPool* pool) {
  constexpr std::uint64_t kSeed = 0x726f7773, kShifts = 0x73686966;
  const StableParameters& found = all.parameters;
  const Stable law({found.alpha, std::fabs(found.beta)});
  std::vector<double> shifts(kSamples);
  Stable({2, 0, 1 / std::sqrt(2.0), 0}).sample(shifts, kShifts, 0);
  const double error = (all.alpha.high - all.alpha.low) / 2 / kZ95;
  Simulated result{std::vector<double>(kSamples, 1), std::vector<double>(kSamples, 2)};
  for_each(pool, kSamples, [&](std::size_t i) {
    std::vector<double> x(n);
    law.sample(x, kSeed, i);
    try {
      const StableTest test = test_of_fit(x);
      result.p_values[i] = test.p_of_fit;
      result.offs[i] = std::fabs(test.fit.parameters.alpha - found.alpha + error * shifts[i]);
    } catch (const Error&) {  // alpha next to 0: half of them are one double
    }
  });
  return result;
}

// The p-value `p` of large samples holds where none of the samples is as far out.
double by_samples(double p, std::ptrdiff_t as_far_out) {
  const double share = static_cast<double>(as_far_out + 1) / (kSamples + 1);
  return as_far_out > 0 ? std::max(p, share) : std::min(p, share);
}

struct Smallest {
  double of_law = 1, of_alpha = 1;
  [[nodiscard]] double either() const { return std::min(of_law, of_alpha); }
};

}  // namespace

std::optional<StableTest> component_test(const NoiseMatrix& noise, const StableFit& law,
                                         ThreadPool* pool) {
  std::vector<StableTest> tests;
  std::vector<double> column(noise.n);
  const std::size_t count = std::min(kTested, noise.width);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t i = 0; i < noise.n; ++i) column[i] = noise.at(i, c * noise.width / count);
    try {
      tests.push_back(test_stable(column));
    } catch (const Error&) {  // a component that stands still
    }
  }
  if (tests.empty()) return std::nullopt;

  const auto times = kTests * static_cast<double>(tests.size());
  const double reach = kTests * p_of_reach(noise, law);
  StableTest result = tests.front();
  Smallest smallest;
  for (const StableTest& test : tests) {
    if (test.p_value < smallest.of_law) result = test;
    smallest.of_law = std::min(smallest.of_law, test.p_value);
    smallest.of_alpha = std::min(smallest.of_alpha, p_of_alpha(test.fit, law));
  }
  if (times * smallest.either() < kRejects && reach >= kRejects && noise.n < kLarge) {
    const Simulated simulated = simulate(law, noise.n, pool);
    smallest = {};
    for (const StableTest& test : tests) {
      const double off = std::fabs(test.fit.parameters.alpha - law.parameters.alpha);
      const auto as_small = std::count_if(simulated.p_values.begin(), simulated.p_values.end(),
                                          [&](double p) { return p <= test.p_of_fit; });
      const auto as_far = std::count_if(simulated.offs.begin(), simulated.offs.end(),
                                        [&](double simulated_off) { return simulated_off >= off; });
      smallest.of_law = std::min(smallest.of_law, by_samples(test.p_value, as_small));
      smallest.of_alpha =
          std::min(smallest.of_alpha, by_samples(p_of_alpha(test.fit, law), as_far));
    }
  }
  result.fit = law;
  result.p_value = result.p_of_fit = std::min({1.0, times * smallest.either(), reach});
  return result;
}

}  // namespace medgrad::noise
