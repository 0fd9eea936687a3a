#include "medgrad/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "kernels/simd.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "medgrad/thread_pool.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::kolmogorov;

using testing::same_bits;
using testing::view;

template <class T>
std::vector<T> rows_of(const NoiseModel& model, std::size_t n, std::size_t d,
                       std::uint64_t stream) {
  std::vector<T> x(n * d);
  sample(model, x, d, 11, stream);
  return x;
}

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

template <class T>
void check_peers(std::uint64_t stream) {
  constexpr std::size_t kN = 100'000;
  EXPECT_LT(kolmogorov(rows_of<T>(Gaussian{3}, kN, 1, stream),
                       [](double x) { return normal_cdf(x / 3); }),
            3.2);
  EXPECT_LT(kolmogorov(rows_of<T>(Cauchy{2}, kN, 1, stream),
                       [](double x) { return 0.5 + std::atan(x / 2) / std::numbers::pi; }),
            3.2);
  for (const double df : {0.5, 1.0, 3.0, 1e6}) {
    const boost::math::students_t_distribution<double> t(df);
    EXPECT_LT(kolmogorov(rows_of<T>(StudentT{df, 0.5}, kN, 1, stream),
                         [&](double x) { return boost::math::cdf(t, 2 * x); }),
              3.2)
        << df;
  }
  const auto lomax = [](double x) { return 1 - std::pow(1 + x / 2, -1.2); };
  EXPECT_LT(kolmogorov(rows_of<T>(Pareto{1.2, 2, false}, kN, 1, stream), lomax), 3.2);
  EXPECT_LT(kolmogorov(rows_of<T>(Pareto{1.2, 2, true}, kN, 1, stream),
                       [&](double x) { return 0.5 + std::copysign(lomax(std::fabs(x)), x) / 2; }),
            3.2);
  EXPECT_LT(kolmogorov(rows_of<T>(ContaminatedNormal{0.2, 5, 2}, kN, 1, stream),
                       [](double x) { return 0.8 * normal_cdf(x / 2) + 0.2 * normal_cdf(x / 10); }),
            3.2);
}
TEST(Noise, PeersHaveTheirDistributions) {
  check_peers<double>(1);
  check_peers<float>(2);
}

// Each probability p of the reference's quantiles is met by a share of the rows within 6 standard
// deviations, 6 sqrt(p (1-p) / n): more has probability 2e-9.
void expect_quantiles(const std::vector<double>& x, const std::vector<double>& probs,
                      const std::vector<double>& quantiles) {
  const auto n = static_cast<double>(x.size());
  for (std::size_t k = 0; k < probs.size(); ++k) {
    const auto below =
        static_cast<double>(std::ranges::count_if(x, [&](double v) { return v <= quantiles[k]; }));
    EXPECT_NEAR(below / n, probs[k], 6 * std::sqrt(probs[k] * (1 - probs[k]) / n)) << probs[k];
  }
}

template <class T>
void check_elliptical(std::size_t n, std::uint64_t stream) {
  std::ifstream file(testing::golden("stable.json"));
  const auto rows = nlohmann::json::parse(file)["elliptical"]["rows"];
  ASSERT_EQ(rows.size(), 5);
  for (const auto& row : rows) {
    const bool norms = row.contains("q_norm2");
    const std::size_t d = norms ? row["d"].get<std::size_t>() : 3;
    SCOPED_TRACE("d = " + std::to_string(d));
    const std::vector<T> x = rows_of<T>(EllipticalStable{row["alpha"]}, n, d, stream);
    std::vector<double> size(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (norms) {
        double sum = 0;
        for (std::size_t j = 0; j < d; ++j) sum += std::pow(static_cast<double>(x[i * d + j]), 2);
        size[i] = std::sqrt(sum);
      } else {
        size[i] = std::fabs(static_cast<double>(x[i * d + 2]));
      }
    }
    expect_quantiles(size, row["probs"], row[norms ? "q_norm2" : "q_abs"]);
  }
}
TEST(EllipticalStable, NormsAndMarginals) {
  check_elliptical<double>(100'000, 3);
  check_elliptical<float>(100'000, 4);
}

// Every marginal is standard stable, of any alpha. The radius of a row is one for its entries, so
// only one entry of each row is taken.
TEST(EllipticalStable, MarginalsAreStable) {
  constexpr std::size_t kN = 20'000;
  for (const double alpha : {0.5, 1.0, 1.5, 1.999, 2.0}) {
    const std::vector<double> x = rows_of<double>(EllipticalStable{alpha, 2}, kN, 2, 5);
    std::vector<double> entry(kN);
    for (std::size_t i = 0; i < kN; ++i) entry[i] = x[2 * i + 1];
    std::sort(entry.begin(), entry.end());
    const Stable stable({alpha, 0, 2});
    for (std::size_t i = kN / 40; i < kN; i += kN / 20) {
      const double rank = (static_cast<double>(i) + 0.5) / kN;
      EXPECT_NEAR(stable.cdf(entry[i]), rank, 3.2 / std::sqrt(kN)) << alpha;
    }
  }
}

// The same numbers with a factor: L G by hand.
TEST(EllipticalStable, ShapeByCholeskyFactor) {
  constexpr std::size_t kN = 50, kD = 3;
  const std::vector<double> l = {2, 0, 0, -1, 0.5, 0, 3, 1, 4};
  const std::vector<double> g = rows_of<double>(EllipticalStable{1.3}, kN, kD, 6);
  const std::vector<double> x = rows_of<double>(EllipticalStable{1.3, 1, l}, kN, kD, 6);
  for (std::size_t i = 0; i < kN; ++i) {
    for (std::size_t j = 0; j < kD; ++j) {
      double wanted = 0, size = 0;
      for (std::size_t k = 0; k <= j; ++k) wanted += l[j * kD + k] * g[i * kD + k];
      for (std::size_t k = 0; k <= j; ++k) size += std::fabs(l[j * kD + k] * g[i * kD + k]);
      EXPECT_NEAR(x[i * kD + j], wanted, 1e-15 * 4 * size);
    }
  }
  EXPECT_THROW(rows_of<double>(EllipticalStable{1.3, 1, l}, 2, 4, 6), Error);
}

TEST(StateDependent, ScalesByTheIterate) {
  const std::vector<double> w = {3, 4, 12};
  EXPECT_DOUBLE_EQ(StateDependent::factor(w), std::sqrt(170.0));
  EXPECT_DOUBLE_EQ(StateDependent::factor(std::vector<double>{1e300, 1e300}), 1e300 * std::sqrt(2));
  EXPECT_EQ(StateDependent::factor(std::vector<double>{1e-200}), 1);
  std::vector<double> x(30);
  StateDependent{Cauchy{}}.sample(x, w, 11, 7);
  const std::vector<double> plain = rows_of<double>(Cauchy{}, 10, 3, 7);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_DOUBLE_EQ(x[i], plain[i] * std::sqrt(170.0));
}

// One checker for every registered noise: rows, threads and targets agree, all is finite.
template <class T>
void check_access(const NoiseModel& model) {
  constexpr std::size_t kN = 5'000, kD = 7;
  const std::vector<T> whole = rows_of<T>(model, kN, kD, 8);
  for (const T v : whole) ASSERT_TRUE(std::isfinite(v));
  for (const std::string& target : kernels::simd_targets()) {
    SCOPED_TRACE(target);
    kernels::force_simd_target(target);
    for (const std::size_t first : {0u, 1u, 300u}) {
      std::vector<T> part(400 * kD);
      sample(model, part, kD, 11, 8, first);
      ASSERT_TRUE(same_bits<T>(part, view(whole).subspan(first * kD, part.size())));
    }
    for (const unsigned threads : {1u, 2u, 7u}) {
      ThreadPool pool(threads);
      std::vector<T> again(kN * kD);
      sample(model, again, kD, 11, 8, 0, &pool);
      ASSERT_TRUE(same_bits<T>(again, whole));
    }
  }
  kernels::force_simd_target(kernels::simd_targets().front());
}
TEST(Noise, RowsThreadsAndTargetsAgree) {
  for (const Entry<NoiseModel>& entry : noises()) {
    SCOPED_TRACE(entry.name);
    ParameterValues values;
    for (const Parameter& p : entry.parameters) {
      if (p.required()) values.emplace(p.name, 1.1);
    }
    check_access<double>(entry.make(values));
    check_access<float>(entry.make(values));
  }
}

// Tails as heavy as can be asked for, and scales at the ends of the range.
TEST(Noise, AlwaysFinite) {
  for (const double tiny : {1e-300, 0.01}) {
    for (const double scale : {1e-300, 1.0, 1e300}) {
      for (const NoiseModel& model :
           {NoiseModel(EllipticalStable{tiny, scale}), NoiseModel(StudentT{tiny, scale}),
            NoiseModel(Pareto{tiny, scale}), NoiseModel(ContaminatedNormal{0.5, 1e300, scale}),
            NoiseModel(StableParameters{tiny, 0.5, scale}), NoiseModel(Gaussian{scale})}) {
        for (const double v : rows_of<double>(model, 1000, 3, 9)) ASSERT_TRUE(std::isfinite(v));
        for (const float v : rows_of<float>(model, 1000, 3, 9)) ASSERT_TRUE(std::isfinite(v));
      }
    }
  }
}

// E X^2 is finite where the tail index is above 2, and for normal laws.
TEST(Noise, HasAVarianceOrNot) {
  for (const NoiseModel& model :
       {NoiseModel(Gaussian{}), NoiseModel(StableParameters{2}), NoiseModel(EllipticalStable{2}),
        NoiseModel(StudentT{2.01}), NoiseModel(Pareto{2.01}), NoiseModel(ContaminatedNormal{})})
    EXPECT_TRUE(has_variance(model)) << model.index();
  for (const NoiseModel& model :
       {NoiseModel(Cauchy{}), NoiseModel(StableParameters{1.99}),
        NoiseModel(EllipticalStable{1.99}), NoiseModel(StudentT{2}), NoiseModel(Pareto{2})})
    EXPECT_FALSE(has_variance(model)) << model.index();
}

TEST(Noise, MistakesAreErrors) {
  std::vector<double> x(6);
  EXPECT_THROW(sample(Gaussian{-1}, x, 2, 0, 0), Error);
  EXPECT_THROW(sample(Gaussian{}, x, 4, 0, 0), Error);
  EXPECT_THROW(sample(Gaussian{}, x, 0, 0, 0), Error);
  EXPECT_EQ(
      testing::message_of([&] { return sample(Gaussian{}, std::span(x).first(1), 4, 0, 0), 0; }),
      "1 entry is not a whole number of rows of length 4.");
  EXPECT_THROW(check(StudentT{0}), Error);
  EXPECT_THROW(check(Pareto{std::nan("")}), Error);
  EXPECT_THROW(check(ContaminatedNormal{1.5}), Error);
  EXPECT_THROW(check(EllipticalStable{2.5}), Error);
  EXPECT_THROW(check(StableParameters{1.5, 2}), Error);
  EXPECT_EQ(find_noise("normal").name, "gaussian");
}

}  // namespace
}  // namespace medgrad
