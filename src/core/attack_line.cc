#include "core/attack_line.h"

#include <fmt/core.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <vector>

#include "core/radial.h"
#include "medgrad/error.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

// The standard deviations of the columns around their means: a NaN is missing, an infinity as large
// as a number can be. Deviations are divided by the largest one before they are squared.
template <Real T>
std::vector<double> deviations(const Rows<T>& rows, std::span<const T> mean, ThreadPool* pool) {
  constexpr std::size_t kBlock = 256;
  std::vector<double> result(mean.size());
  const Chunks chunks = chunks_for(mean.size());
  const auto block = [&](std::size_t begin, std::size_t count) {
    std::vector<double> largest(count), unit(count, 1), squares(count), seen(count);
    const auto for_entries = [&](const auto& use) {
      for (std::size_t i = 0; i < rows.n(); ++i) {
        for (std::size_t j = 0; j < count; ++j) {
          const T x = rows.row(i)[begin + j];
          if (std::isnan(x)) continue;
          const double u = unit[j], at = to_finite<T>(static_cast<double>(x));
          use(j, std::fabs(u * at - u * static_cast<double>(mean[begin + j])));
        }
      }
    };
    const auto measure = [&](std::size_t j, double v) { largest[j] = std::max(largest[j], v); };
    for_entries(measure);
    if (std::ranges::any_of(largest, [](double x) { return std::isinf(x); })) {
      for (std::size_t j = 0; j < count; ++j)
        if (std::isinf(largest[j])) unit[j] = 0.5;
      std::ranges::fill(largest, 0);
      for_entries(measure);
    }
    for_entries([&](std::size_t j, double v) {
      const double share = largest[j] > 0 ? v / largest[j] : 0;
      squares[j] += share * share;
      seen[j] += 1;
    });
    for (std::size_t j = 0; j < count; ++j)
      result[begin + j] = to_finite<double>(largest[j] * std::sqrt(squares[j] / seen[j]) / unit[j]);
  };
  for_each(pool, chunks.count, [&](std::size_t c) {
    for (std::size_t begin = chunks.begin(c); begin < chunks.end(c); begin += kBlock)
      block(begin, std::min(kBlock, chunks.end(c) - begin));
  });
  return result;
}

// The z of Baruch et al. for h honest rows and f liars.
double majority_strength(std::size_t h, std::size_t f) {
  const double honest = static_cast<double>(h), all = static_cast<double>(h + f);
  const double needed = std::floor(all / 2 + 1) - static_cast<double>(f);
  return quantile(boost::math::normal(), std::clamp((honest - needed) / honest, 0.5, 0.99));
}

// origin - strength direction.
template <Real T>
struct Line {
  std::span<const T> origin;  // empty for 0
  std::vector<double> direction;

  void at(double strength, std::span<T> out) const {
    for (std::size_t j = 0; j < out.size(); ++j) {
      const double from = origin.empty() ? 0 : static_cast<double>(origin[j]);
      out[j] = to_finite<T>(from - strength * direction[j]);
    }
  }
};

// The search that attack.h describes.
template <Real T>
class StrengthSearch {
 public:
  StrengthSearch(const Line<T>& line, const Rows<T>& honest, std::span<const T> mean, std::size_t f,
                 const AttackOptions<T>& options)
      : line_(line),
        mean_(mean),
        against_(*options.against),
        lie_(mean.size()),
        m_(mean.size()),
        off_(mean.size()) {
    for (std::size_t i = 0; i < honest.n(); ++i) rows_.push_back(honest.row(i));
    rows_.insert(rows_.end(), f, lie_.data());
    options_.center = options.center;
    options_.non_finite = options.non_finite;
    options_.pool = options.pool;
    options_.round = options.round;
  }

  AttackInfo run() {
    constexpr double kLeast = -4, kMost = 8;
    for (double k = kLeast; k <= kMost; ++k) (void)better(k);
    for (double h = 0.5; h >= 1.0 / 64; h /= 2) {
      for (const double k : {best_ - h, best_ + h})
        if (k >= kLeast && k <= kMost && better(k)) break;
    }
    return {.strength = std::exp2(best_), .distance = most_.get(), .tried = tried_};
  }

 private:
  // Is strength 2^k better than the best so far? Then it is the best.
  bool better(double k) {
    line_.at(std::exp2(k), lie_);
    aggregate<T>(against_, Rows<T>(rows_, lie_.size()), m_, options_);
    // Halves: a difference may overflow.
    for (std::size_t j = 0; j < m_.size(); ++j) off_[j] = m_[j] / 2 - mean_[j] / 2;
    kernels::ScaledNorm size = scaled_norm(std::span<const T>(off_));
    size.value *= 2;
    const bool is_better =
        tried_++ == 0 || size.value * most_.scale > most_.value * size.scale * (1 + 1e-9);
    if (is_better) {
      most_ = size;
      best_ = k;
    }
    return is_better;
  }

  const Line<T>& line_;
  std::span<const T> mean_;
  const Rule& against_;
  std::vector<T> lie_, m_, off_;
  std::vector<const T*> rows_;
  SampleOptions<T> options_;
  double best_ = 0;
  kernels::ScaledNorm most_;
  int tried_ = 0;
};

}  // namespace

void check_honest(std::size_t h, std::string_view name) {
  if (h == 0) throw Error(fmt::format("{} needs the rows of the honest; there are none.", name));
}

template <Real T>
AttackInfo attack_along(Along along, std::string_view name, double strength, const Rows<T>& honest,
                        std::size_t f, std::span<T> out, const AttackOptions<T>& options) {
  check_honest(honest.n(), name);
  if (strength == kOptimal && options.against == nullptr)
    throw Error("strength", "optimal", "that takes a rule to be found against");
  if (strength == kOptimal) validate(*options.against, honest.n() + f);
  const bool spread = along == Along::sigma;
  std::vector<T> mean(honest.d());
  const SampleInfo seen =
      aggregate<T>(Mean{}, honest, mean, {.non_finite = options.non_finite, .pool = options.pool});
  const Line<T> line{spread ? std::span<const T>(mean) : std::span<const T>(),
                     spread ? deviations<T>(honest, mean, options.pool)
                            : std::vector<double>(mean.begin(), mean.end())};
  AttackInfo info;
  if (strength == kOptimal) {
    info = StrengthSearch<T>(line, honest, mean, f, options).run();
  } else {
    info.strength = spread && strength == 0 ? majority_strength(honest.n(), f) : strength;
  }
  info.nan = seen.nan;
  info.inf = seen.inf;
  line.at(info.strength, out.first(mean.size()));
  repeat_first(out, mean.size());
  return info;
}
template AttackInfo attack_along(Along, std::string_view, double, const Rows<float>&, std::size_t,
                                 std::span<float>, const AttackOptions<float>&);
template AttackInfo attack_along(Along, std::string_view, double, const Rows<double>&, std::size_t,
                                 std::span<double>, const AttackOptions<double>&);

}  // namespace medgrad
