// Every SIMD target takes the same step to the same bits, whatever the numbers, and m stays finite.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/simd.h"
#include "medgrad/estimator.h"

namespace {

template <class T>
void check(const medgrad::OnlineMethod& method, const std::vector<T>& g,
           const std::vector<T>& start, medgrad::Start kind) {
  std::vector<T> expected;
  for (const std::string& target : medgrad::kernels::simd_targets()) {
    medgrad::kernels::force_simd_target(target);
    std::vector<T> m = start, w(g.size(), T{1});
    medgrad::Workspace<T> workspace;
    const medgrad::Block<T> block{m, g, w, 0.1};
    medgrad::step<T>(method, {&block, 1}, {.start = kind, .non_finite = medgrad::NonFinite::robust},
                     workspace);
    for (const T v : m) {
      if (!std::isfinite(v)) std::abort();
    }
    if (expected.empty()) expected = m;
    if (!m.empty() && std::memcmp(expected.data(), m.data(), m.size() * sizeof(T)) != 0)
      std::abort();
  }
}

template <class T>
void fuzz(const std::uint8_t* data, std::size_t size, const medgrad::OnlineMethod& method,
          medgrad::Start kind) {
  const std::size_t n = size / (2 * sizeof(T));
  std::vector<T> g(n), m(n);
  if (n > 0) std::memcpy(g.data(), data, n * sizeof(T));
  if (n > 0) std::memcpy(m.data(), data + n * sizeof(T), n * sizeof(T));
  for (T& v : m) {
    if (!std::isfinite(v)) v = T{0};
  }
  check(method, g, m, kind);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace medgrad;
  if (size < 10) return 0;
  const double taus[] = {1e-300, 1e-3, 1, 1e3, 1e300};
  const double tau = taus[data[0] % 5];
  const OnlineMethod methods[] = {ProximalPoint{Squared{}, tau}, ProximalPoint{L1{}, tau},
                                  ProximalPoint{L2{}, tau},      ProximalPoint{Huber(0.5), tau},
                                  Subgradient{L1{}, tau},        Subgradient{L2{}, tau},
                                  Subgradient{Squared{}, tau},   ClippedMean{0.9, tau},
                                  ProximalPoint{Lp(1.5), tau},   ProximalPoint{Lp(kInfinity), tau}};
  const OnlineMethod& method = methods[data[1] % std::size(methods)];
  const Start kind = data[2] % 4 == 0 ? Start::cold : Start::warm;
  if (data[2] % 2 == 0) {
    fuzz<float>(data + 3, size - 3, method, kind);
  } else {
    fuzz<double>(data + 3, size - 3, method, kind);
  }
  return 0;
}
