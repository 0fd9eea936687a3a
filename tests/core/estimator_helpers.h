// Methods and streams for the tests of online estimators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "medgrad/estimator.h"
#include "medgrad/registry.h"
#include "testing.h"

namespace medgrad::estimator_test {

// Those that find their tau from the data.
inline std::vector<OnlineMethod> automatic_methods(const AutomaticTau& how = {}) {
  std::vector<OnlineMethod> all;
  for (const Entry<OnlineMethod>& entry : online_methods()) {
    if (!entry.find("tau") || !entry.find("tau")->range.automatic) continue;
    all.push_back(entry.make({{"tau", kAutomaticNumber},
                              {"theta", how.theta},
                              {"level", how.level},
                              {"rate", how.rate}}));
  }
  return all;
}

// Every registered method with its defaults, p where it has to be given, and with tau = auto.
inline std::vector<OnlineMethod> all_methods() {
  std::vector<OnlineMethod> all;
  for (const Entry<OnlineMethod>& entry : online_methods()) {
    ParameterValues values;
    for (const Parameter& p : entry.parameters) {
      if (p.required()) values.emplace(p.name, 1.5);
    }
    all.push_back(entry.make(values));
    if (entry.name == "lp") all.push_back(ProximalPoint{Lp(kInfinity), 0.4});
  }
  all.push_back(Subgradient{Squared{}, 0.2});
  all.push_back(Subgradient{Huber(0.5), 0.2});
  all.push_back(Subgradient{Lp(3), 0.2});
  all.push_back(Subgradient{Lp(kInfinity), 0.2});
  for (const OnlineMethod& method : automatic_methods()) all.push_back(method);
  return all;
}

template <class T>
std::vector<T> estimate(const OnlineMethod& method, const std::vector<std::vector<T>>& stream,
                        EstimatorOptions options = {}, ThreadPool* pool = nullptr) {
  OnlineEstimator<T> estimator(method, stream.front().size(), options);
  estimator.use(pool);
  for (const auto& g : stream) estimator.update(g);
  return {estimator.estimate().begin(), estimator.estimate().end()};
}

template <class T>
std::vector<std::vector<T>> random_stream(std::uint64_t seed, std::size_t n, std::size_t d) {
  std::mt19937_64 rng(seed);
  std::vector<std::vector<T>> stream(n);
  for (std::size_t i = 0; i < n; ++i) stream[i] = testing::random_vector<T>(rng, d, 1);
  return stream;
}

}  // namespace medgrad::estimator_test
