// Stable distributions: the heavy-tailed noise of the paper (section 2.1).
//
// Stable(alpha, beta, scale, location) with 0 < alpha <= 2, -1 <= beta <= 1, in Nolan's forms
//
//     S0:  log E exp(itX) = ilt - |ct|^alpha (1 + i b tan(pi alpha/2) sign(t) (|ct|^{1-alpha} - 1))
//     S1:  log E exp(itX) = ilt - |ct|^alpha (1 - i b tan(pi alpha/2) sign(t))
//
// for alpha != 1, and at alpha = 1
//
//     S0:  log E exp(itX) = ilt - |ct| (1 + i b (2/pi) sign(t) log|ct|)
//     S1:  log E exp(itX) = ilt - |ct| (1 + i b (2/pi) sign(t) log|t|)
//
// with b = beta, c the scale and l the location. S0 is continuous in all its parameters; S1 jumps
// at alpha = 1. Standard is scale 1, so that alpha = 2 is N(0, 2) and alpha = 1, beta = 0 the
// Cauchy distribution.
//
// Densities and probabilities come from Zolotarev's integrals in Nolan's form, rearranged so that
// nothing cancels around alpha = 1, and from series far out. Relative accuracy is about 1e-12 in
// the body and in both tails, down to probabilities of 1e-300, and 1e-9 within 0.01 of alpha = 1.
// Points, scales and locations may be any finite numbers, also where their quotients are none.
// Below alpha = 0.1 only samples are given. Values do not depend on the number of threads; between
// SIMD instruction sets they may differ by rounding, as their sines and logarithms do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include "medgrad/description.h"

#pragma GCC visibility push(default)
namespace medgrad {

class ThreadPool;
namespace noise {
class Law;
struct StablePoint;
}  // namespace noise

enum class StableForm : std::uint8_t { S0, S1 };

inline constexpr Range kTailIndex{0, 2, true};
inline constexpr std::string_view kTailIndexMeaning = "tail index; 2 is Gaussian, 1 Cauchy";
inline constexpr std::string_view kScaleMeaning = "factor of the standard variable";

struct StableParameters {
  static constexpr About about{
      "stable",
      "E exp(itX) = exp(-|t|^alpha (1 - i beta tan(pi alpha/2) sign t)) in S1",
      "independent stable entries: the paper's heavy-tailed noise",
      {"alpha-stable"}};
  static constexpr auto fields() {
    return std::tuple(
        required("alpha", &StableParameters::alpha, kTailIndex, kTailIndexMeaning),
        field("beta", &StableParameters::beta, Range{-1, 1}, "skewness"),
        field("scale", &StableParameters::scale, range::positive, kScaleMeaning),
        field("location", &StableParameters::location, range::finite, "shift"),
        choice("form", &StableParameters::form, {"S0", "S1"}, "Nolan's form of a stable law"));
  }

  double alpha = 2;
  double beta = 0;
  double scale = 1;
  double location = 0;
  StableForm form = StableForm::S0;
};

// The same distribution written in the other form (or in the same one, unchanged). Its location is
// infinite where that is beyond the largest double.
[[nodiscard]] StableParameters convert(const StableParameters& parameters, StableForm to);

class Stable {
 public:
  // Throws Error unless 0 < alpha <= 2, |beta| <= 1, 0 < scale < inf, location finite.
  explicit Stable(const StableParameters& parameters);

  [[nodiscard]] const StableParameters& parameters() const { return parameters_; }

  // f(x), log f(x), P(X <= x), P(X > x): each accurate in relative terms by itself. NaN for x =
  // NaN. Throw Error where alpha < 0.1.
  [[nodiscard]] double pdf(double x) const;
  [[nodiscard]] double log_pdf(double x) const;
  [[nodiscard]] double cdf(double x) const;
  [[nodiscard]] double survival(double x) const;
  // The x with cdf(x) = p, 0 <= p <= 1; and the one with survival(x) = p, for the far right tail.
  // Infinite where it is beyond the largest double.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] double survival_quantile(double p) const;

  // Sample i of (seed, stream) for i = first, first + 1, ...: the number is a function of the three
  // alone, whatever the thread count or the machine (see rng.h). Always finite: what overflows, as
  // is ordinary for small alpha, is the largest finite number. The float version computes in float.
  void sample(std::span<double> out, std::uint64_t seed, std::uint64_t stream,
              std::uint64_t first = 0, ThreadPool* pool = nullptr) const;
  void sample(std::span<float> out, std::uint64_t seed, std::uint64_t stream,
              std::uint64_t first = 0, ThreadPool* pool = nullptr) const;

  // Where the density is positive: [lower, upper], infinite unless alpha < 1 and |beta| = 1.
  [[nodiscard]] double lower() const;
  [[nodiscard]] double upper() const;

  // Many points at once, on the pool's threads where there is one.
  void pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool = nullptr) const;
  void cdf(std::span<const double> x, std::span<double> out, ThreadPool* pool = nullptr) const;

 private:
  // Throws where alpha < 0.1.
  [[nodiscard]] const noise::Law& law() const;
  [[nodiscard]] noise::StablePoint standard(double x) const;
  [[nodiscard]] double original(const noise::StablePoint& p) const;
  [[nodiscard]] double solve(double p, bool above) const;

  StableParameters parameters_;
  double offset_ = 0;                      // S1 with alpha = 1: what the scale adds to the location
  std::shared_ptr<const noise::Law> law_;  // of scale 1 and location 0; none below alpha = 0.1
};

}  // namespace medgrad
#pragma GCC visibility pop
