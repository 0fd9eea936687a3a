// Compressors: what is kept of a vector.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "core/lanes.h"
#include "core/overloaded.h"
#include "core/radial.h"
#include "medgrad/rng.h"
#include "medgrad/thread_pool.h"
#include "medgrad/worker.h"

namespace medgrad {
namespace {

template <Real T>
void keep_largest(std::size_t k, std::span<T> x, std::span<T> sizes) {
  if (k >= x.size()) return;
  std::ranges::transform(x, sizes.begin(), [](T v) { return std::fabs(v); });
  const auto kth = sizes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sizes.begin(), kth, sizes.end(), std::greater<>());
  const T least = *kth;
  // What comes before it is not smaller; the rest of the k goes to the first of those equal to it.
  auto equal = static_cast<std::size_t>(1 + std::count(sizes.begin(), kth, least));
  for (T& v : x) {
    const T size = std::fabs(v);
    if (size > least) continue;
    if (size == least && equal > 0) {
      --equal;
    } else {
      v = 0;
    }
  }
}

// floor(u d / 2^64).
std::uint64_t scaled(std::uint64_t u, std::uint64_t d) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(u) * d) >> 64);
}

template <Real T>
void keep_random(const RandomK& method, const Turn& turn, std::span<T> x, std::span<T> chosen) {
  const std::size_t d = x.size(), k = method.k;
  if (k >= d) return;
  std::ranges::fill(chosen, T{0});
  constexpr std::uint64_t kStreams = std::uint64_t{1} << 40;  // apart from those of Bucketing
  const Philox random(method.seed, kStreams + turn.worker);
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t at = 2 * i % words.size();
    if (at == 0) random.fill_bits(words, 2 * k * turn.step + 2 * i);
    const std::uint64_t u = words[at] | static_cast<std::uint64_t>(words[at + 1]) << 32;
    const std::size_t last = d - k + i, drawn = scaled(u, last + 1);
    chosen[chosen[drawn] == 0 ? drawn : last] = 1;
  }
  for (std::size_t j = 0; j < d; ++j)
    if (chosen[j] == 0) x[j] = 0;
}

template <Real T>
void keep_signs(std::span<T> x) {
  if (x.empty()) return;
  // A sum that overflows is added up once more, in a unit in which it does not.
  const double d = static_cast<double>(x.size());
  const double unit = std::ldexp(1.0, -std::ilogb(2 * d));
  const Chunks chunks = chunks_for(x.size());
  double sum = 0, small_sum = 0;
  for (std::size_t c = 0; c < chunks.count; ++c) {
    const std::span<const T> part = x.subspan(chunks.begin(c), chunks.end(c) - chunks.begin(c));
    const auto size = [&](std::size_t i) { return std::fabs(static_cast<double>(part[i])); };
    sum += lane_sum(part.size(), size);
    small_sum += lane_sum(part.size(), [&](std::size_t i) { return size(i) * unit; });
  }
  const double mean = std::min(std::isfinite(sum) ? sum / d : small_sum / (d * unit),
                               static_cast<double>(std::numeric_limits<T>::max()));
  for (T& v : x) v = v == 0 ? T{0} : static_cast<T>(std::copysign(mean, v));
}

template <Real T>
void clip(double tau, std::span<T> x) {
  const kernels::Factor factor = clip_to(tau, scaled_norm(std::span<const T>(x))).factor;
  for (T& v : x) v = static_cast<T>(factor.times(static_cast<double>(v)));
}

}  // namespace

template <Real T>
void compress(const Compressor& compressor, std::span<T> x, const Turn& turn,
              std::span<T> scratch) {
  std::visit(Overloaded{[&](const TopK& m) { keep_largest(m.k, x, scratch); },
                        [&](const RandomK& m) { keep_random(m, turn, x, scratch); },
                        [&](const ScaledSign&) { keep_signs(x); },
                        [&](const NormClip& m) { clip(m.tau, x); }},
             compressor);
}

template void compress(const Compressor&, std::span<float>, const Turn&, std::span<float>);
template void compress(const Compressor&, std::span<double>, const Turn&, std::span<double>);

}  // namespace medgrad
