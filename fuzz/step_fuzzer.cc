// Online steps on arbitrary bits: after any input at all m is finite, and every SIMD target gives
// the same bits.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/simd.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"

namespace {

using namespace medgrad;

OnlineMethod method_of(std::uint8_t choice, double tau) {
  switch (choice % 8) {
    case 0:
      return ProximalPoint{Squared{}, tau};
    case 1:
      return ProximalPoint{L1{}, tau};
    case 2:
      return ProximalPoint{L2{}, tau};
    case 3:
      return ProximalPoint{Huber(1.345), tau};
    case 4:
      return ProximalPoint{Lp(choice < 128 ? 3 : kInfinity), tau};
    case 5:
      return Subgradient{L1{}, tau};
    case 6:
      return Subgradient{L2{}, tau};
    default:
      return ClippedMean{0.9, tau};
  }
}

// Takes the bytes as vectors of length d, one after the other, and returns the last estimate.
template <class T>
std::vector<T> run(const std::uint8_t* data, std::size_t size) {
  const double tau = std::ldexp(1.0, static_cast<std::int8_t>(data[1]) / 4);
  const std::size_t d = data[2] % 40 + 1;
  OnlineEstimator<T> estimator(method_of(data[0], tau), d,
                               {.start = data[3] % 2 == 0 ? Start::warm : Start::cold,
                                .non_finite = data[3] < 128 ? NonFinite::robust : NonFinite::reject,
                                .average = true});
  std::vector<T> g(d), w(d);
  for (std::size_t at = 4; at + d * sizeof(T) <= size; at += d * sizeof(T)) {
    std::memcpy(g.data(), data + at, d * sizeof(T));
    try {
      estimator.update_and_step(w, 0.125, g);
    } catch (const Error&) {  // rejected: nothing may have changed, and we go on
    }
    const auto finite = [](T x) { return std::isfinite(x); };
    if (!std::ranges::all_of(estimator.estimate(), finite)) __builtin_trap();
    if (!std::ranges::all_of(estimator.average(), finite)) __builtin_trap();
  }
  return {estimator.estimate().begin(), estimator.estimate().end()};
}

template <class T>
void check(const std::uint8_t* data, std::size_t size) {
  std::vector<T> first;
  for (const std::string& target : kernels::simd_targets()) {
    kernels::force_simd_target(target);
    const std::vector<T> m = run<T>(data, size);
    if (first.empty()) first = m;
    if (std::memcmp(first.data(), m.data(), m.size() * sizeof(T)) != 0) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  if (data[3] % 4 < 2) {
    check<float>(data, size);
  } else {
    check<double>(data, size);
  }
  return 0;
}
