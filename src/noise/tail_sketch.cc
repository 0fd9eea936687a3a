#include "medgrad/tail_sketch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "base/text.h"
#include "medgrad/error.h"
#include "noise/judge.h"
#include "noise/peaks.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

constexpr std::size_t kFewestHeld = std::size_t{1} << 16;
constexpr std::size_t kFar = 10240, kSlack = 4;
constexpr double kLarge = 0x1p400, kSmaller = 0x1p-530;
static_assert(kFar > noise::kMostExcesses);

// Steele, Lea and Flood's mix of a counter (SplitMix64, 2014).
std::uint64_t hash_of(std::uint64_t place) {
  std::uint64_t z = (place + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// x among the largest: they are sorted out now and then.
void keep(std::vector<double>& largest, double& least, double x) {
  if (largest.size() >= kFar && !(x > least)) return;
  largest.push_back(x);
  if (largest.size() < kSlack * kFar && largest.size() != kFar) return;
  const auto end = largest.begin() + static_cast<std::ptrdiff_t>(kFar);
  std::nth_element(largest.begin(), end - 1, largest.end(), std::greater<>());
  largest.resize(kFar);
  least = largest.back();
}

}  // namespace

TailSketch::TailSketch(std::size_t held) : held_(held) {
  if (held < kFewestHeld) {
    throw Error(fmt::format("a sketch of tails holds {}; it must hold at least {}.",
                            counted(held, "number"), kFewestHeld));
  }
}

void TailSketch::thin_out() {
  limit_ /= 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sample_.size(); ++i) {
    if (hashes_[i] > limit_) continue;
    sample_[kept] = sample_[i];
    hashes_[kept++] = hashes_[i];
  }
  sample_.resize(kept);
  hashes_.resize(kept);
}

void TailSketch::add(std::span<const double> numbers) {
  for (const double x : numbers) {
    if (std::isnan(x)) {
      ++missing_;
      continue;
    }
    const std::uint64_t hash = hash_of(n_++);
    if (hash <= limit_) {
      if (sample_.size() == held_) thin_out();
      if (hash <= limit_) {
        sample_.push_back(x);
        hashes_.push_back(hash);
      }
    }
    keep(largest_, large_, x);
    keep(smallest_, small_, -x);
    if (std::isinf(x)) {
      ++infinite_;
      beyond_ += x;
      continue;
    }
    if (scale_ == 1 && std::fabs(x) > kLarge) {  // whose square would overflow
      scale_ = kSmaller;
      mean_ *= kSmaller;
      squares_ *= kSmaller * kSmaller;
    }
    const auto count = static_cast<double>(n_ - infinite_);
    const double scaled = x * scale_, off = scaled - mean_;
    mean_ += off / count;
    squares_ += off * (scaled - mean_);
  }
}

TailSummary TailSketch::summary(const VerdictOptions& options) const {
  if (exact()) {
    TailSummary s = tail_summary(sample_, options);
    if (s.judged) s.judged->missing = missing_;
    return s;
  }
  std::vector<double> x = sample_;
  // What no mean survives is part of the sample, however rare.
  if (infinite_ > 0 && std::none_of(x.begin(), x.end(), [](double v) { return std::isinf(v); }))
    x.push_back(std::signbit(beyond_) ? -kInfinity : kInfinity);
  const double deviation = std::sqrt(squares_ / static_cast<double>(n_ - infinite_)) / scale_;
  noise::Whole whole{largest_, n_, infinite_, beyond_, mean_ / scale_, deviation};
  for (const double v : smallest_) whole.far.push_back(-v);
  TailSummary s = noise::summarise(x, options, &whole);
  s.judged->missing = missing_;
  return s;
}

}  // namespace medgrad
