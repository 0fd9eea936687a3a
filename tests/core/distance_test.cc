// One property checker for every distance of the registry, then projections, limits and references.
#include "medgrad/distance.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::dot;
using testing::minus;
using testing::random_vector;
using testing::slack;
using testing::view;

// The members: every registered distance, with several values for what has a parameter.
std::vector<AnyDistance> all_distances() {
  std::vector<AnyDistance> all;
  for (const Entry<AnyDistance>& entry : distances()) {
    if (entry.parameters.empty()) {
      all.push_back(entry.make({}));
      continue;
    }
    const Parameter& parameter = entry.parameters.front();
    for (const double value : {0.3, 1.0, 1.05, 1.5, 2.0, 3.0, 40.0, kInfinity}) {
      if (parameter.range.contains(value))
        all.push_back(entry.make({{std::string(parameter.name), value}}));
    }
  }
  return all;
}

template <class T>
std::vector<T> prox(const AnyDistance& d, double tau, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  d.prox(tau, view(x), std::span<T>(y));
  return y;
}

template <class T>
std::vector<T> projected(double q, double radius, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  project_ball(q, radius, view(x), std::span<T>(y));
  return y;
}

template <class T>
class DistanceTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DistanceTest, Types);

// What must hold of every distance at a point, without knowing which one it is.
template <class T>
void check_distance(const AnyDistance& d, double tau, const std::vector<T>& x,
                    const std::vector<T>& z) {
  const std::vector<T> y = prox(d, tau, x);
  const double size = norm(1, view(x)) + norm(1, view(z));

  // y = prox(x) iff (x - y)/tau is a subgradient at y: D(z) >= D(y) + <(x - y)/tau, z - y> for all
  // z.
  const double lower = d.value(view(y)) + dot(minus(x, y), minus(z, y)) / tau;
  EXPECT_GE(d.value(view(z)) + slack<T>(size * (1 + size / tau)), lower);

  // Firmly non-expansive: |Px - Pz|^2 <= <Px - Pz, x - z>.
  const std::vector<T> pz = prox(d, tau, z);
  EXPECT_LE(dot(minus(y, pz), minus(y, pz)),
            dot(minus(y, pz), minus(x, z)) + slack<T>(size * size));

  // The subgradient inequality: D(z) >= D(x) + <u, z - x>.
  std::vector<T> u(x.size());
  d.subgradient(view(x), std::span<T>(u));
  EXPECT_GE(d.value(view(z)) + slack<T>(size * (1 + size)), d.value(view(x)) + dot(u, minus(z, x)));

  // Odd, minimal at zero, and in place.
  std::vector<T> negative = x;
  for (T& v : negative) v = -v;
  std::vector<T> mirrored = prox(d, tau, negative);
  for (T& v : mirrored) v = -v;
  EXPECT_EQ(mirrored, y);
  std::vector<T> in_place = x;
  d.prox(tau, view(in_place), std::span<T>(in_place));
  EXPECT_EQ(in_place, y);
}

TYPED_TEST(DistanceTest, EveryDistanceKeepsItsContract) {
  std::mt19937_64 rng(1);
  for (const AnyDistance& d : all_distances()) {
    for (const std::size_t n : {0, 1, 2, 5, 16, 17, 33}) {
      for (int temper = 0; temper < 4; ++temper) {
        for (const double tau : {1e-3, 0.7, 30.0}) {
          SCOPED_TRACE(std::string(d.name()) + " n=" + std::to_string(n) +
                       " tau=" + std::to_string(tau) + " temper=" + std::to_string(temper));
          check_distance(d, tau, random_vector<TypeParam>(rng, n, temper),
                         random_vector<TypeParam>(rng, n, temper + 1));
        }
      }
    }
  }
}

// Proj is the closest point of a convex set iff <x - Px, z - Px> <= 0 for every z in it.
TYPED_TEST(DistanceTest, ProjectionIsTheClosestPoint) {
  using T = TypeParam;
  std::mt19937_64 rng(2);
  for (const double q : {1.0, 1.01, 1.2, 1.5, 2.0, 3.0, 7.0, 60.0, 1000.0, kInfinity}) {
    for (const std::size_t n : {1, 2, 3, 16, 33, 200}) {
      for (int temper = 0; temper < 4; ++temper) {
        const auto x = random_vector<T>(rng, n, temper);
        for (const double radius : {1e-3, 0.5, 2.0}) {
          SCOPED_TRACE("q=" + std::to_string(q) + " n=" + std::to_string(n) +
                       " r=" + std::to_string(radius) + " temper=" + std::to_string(temper));
          const auto y = projected(q, radius, x);
          // To rounding where there is a closed form, to 1e-12 for the root find in between.
          const double accuracy = slack<T>(0) + (q == 1 || q == 2 || std::isinf(q) ? 0 : 1e-12);
          EXPECT_LE(norm(q, view(y)), radius * (1 + accuracy));
          const auto again = projected(q, radius, y);
          EXPECT_LE(norm(2, view(minus(again, y))), accuracy * radius);
          for (int trial = 0; trial < 5; ++trial) {
            const auto z = projected(q, radius, random_vector<T>(rng, n, trial));
            EXPECT_LE(dot(minus(x, y), minus(z, y)), accuracy * (1 + norm(1, view(x))) * radius);
          }
        }
      }
    }
  }
}

// Moreau: x = prox_{tau |.|_p}(x) + Proj_{B_q(0,tau)}(x), for every norm.
TYPED_TEST(DistanceTest, MoreauIdentity) {
  using T = TypeParam;
  std::mt19937_64 rng(3);
  for (const double p : {1.0, 1.1, 1.5, 2.0, 3.0, 20.0, kInfinity}) {
    const auto x = random_vector<T>(rng, 37, 1);
    std::vector<T> sum(x.size());
    const Lp norm_p(p);
    norm_p.project_dual(0.8, view(x), std::span<T>(sum));
    const auto rest = prox<T>(norm_p, 0.8, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(sum[i] + rest[i], x[i], slack<T>(std::fabs(x[i]))) << "p=" << p;
    }
  }
}

TYPED_TEST(DistanceTest, Limits) {
  using T = TypeParam;
  std::mt19937_64 rng(4);
  const auto x = random_vector<T>(rng, 21, 0);
  const auto near = [&](const AnyDistance& a, const AnyDistance& b, double tolerance) {
    const auto ya = prox(a, 0.7, x), yb = prox(b, 0.7, x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(ya[i], yb[i], tolerance);
  };
  const double eps = slack<T>(1);
  near(Huber(1e12), Squared{}, eps);  // mu -> infinity: momentum
  near(Lp(1), L1{}, 0);               // the ends and the middle are the named norms
  near(Lp(2), L2{}, 0);
  near(Lp(1 + 1e-9), L1{}, 1e-6);  // and the family is continuous there
  near(Lp(2 + 1e-9), L2{}, 1e-6);
  near(Lp(1e9), Lp(kInfinity), 1e-6);
}

// The largest entries share a radius that is nothing beside them.
TEST(Distance, ProjectionOntoATinyBallOfTheOneNorm) {
  for (const double radius : {1e-20, 1e-50, 1e-300}) {
    EXPECT_EQ(projected<double>(1, radius, {1e308, -1e308, 9e307}),
              (std::vector<double>{radius / 2, -radius / 2, 0}));
  }
}

TEST(Distance, AgreesWithTheReference) {
  std::ifstream file(testing::golden("prox_and_medians.json"));
  const auto reference = nlohmann::json::parse(file);
  for (const auto& row : reference["prox"]) {
    const std::string name = row["D"];
    const AnyDistance d = name == "half_sq" ? AnyDistance(Squared{})
                          : name == "huber" ? AnyDistance(Huber(row["mu"]))
                          : name == "l2"    ? AnyDistance(L2{})
                          : name == "l1"    ? AnyDistance(L1{})
                          : name == "linf"  ? AnyDistance(Lp(kInfinity))
                                            : AnyDistance(Lp(std::stod(name.substr(2))));
    const std::vector<double> x = row["x"], expected = row["prox"];
    const auto y = prox(d, row["tau"], x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-10) << row;
  }
  for (const auto& row : reference["projections"]) {
    const double q = row["q"].is_string() ? kInfinity : row["q"].get<double>();
    const std::vector<double> x = row["x"], expected = row["proj"];
    const auto y = projected(q, row["radius"], x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-10) << row;
  }
}

// Entries at the ends of the range of the type: scaling x and tau by a power of two scales the
// result.
TYPED_TEST(DistanceTest, EndsOfTheRange) {
  using T = TypeParam;
  std::mt19937_64 rng(5);
  const int high = std::numeric_limits<T>::max_exponent - 2;
  const int low = std::numeric_limits<T>::min_exponent + 2;
  auto x = random_vector<T>(rng, 19, 0);
  for (T& v : x) v = std::clamp(v, T{-1}, T{1});
  for (const double p : {1.0, 1.5, 2.0, 3.0, kInfinity}) {
    const auto y = prox<T>(Lp(p), 0.6, x);
    for (const int exponent : {high, low}) {
      auto scaled = x;
      for (T& v : scaled) v = std::ldexp(v, exponent);
      auto result = prox<T>(Lp(p), std::ldexp(0.6, exponent), scaled);
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(std::ldexp(result[i], -exponent), y[i], slack<T>(1)) << p << " " << exponent;
      }
    }
    // A radius that is nothing beside the entries: the projection has exactly that norm.
    std::vector<T> huge(5, std::numeric_limits<T>::max());
    const auto tiny = projected<T>(p, 1e-10, huge);
    EXPECT_NEAR(norm(p, view(tiny)) / 1e-10, 1, 1e-6) << p;
  }
}

TYPED_TEST(DistanceTest, NormsDoNotOverflow) {
  using T = TypeParam;
  const T max = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> large(4, max / 4), small(4, 3 * tiny);
  EXPECT_NEAR(norm(2, view(large)) / (static_cast<double>(max) / 2), 1, 1e-12);
  EXPECT_NEAR(norm(3, view(large)) / (static_cast<double>(max) / 4 * std::cbrt(4)), 1, 1e-12);
  EXPECT_EQ(norm(2, view(small)), 6 * static_cast<double>(tiny));
  const std::vector<T> mixed = {max / 2, tiny, 1, 0};
  EXPECT_EQ(norm(2, view(mixed)), static_cast<double>(max / 2));
}

// |x|_p is beyond the largest double, or all but below the smallest; its subgradient is not.
TEST(Distance, SubgradientsOfNormsAtTheEndsOfTheRange) {
  for (const double p : {1.01, 1.5, 2.0, 3.0, 40.0}) {
    for (const double size : {1.7e308, 1e-322}) {
      const std::vector<double> x = {size, -size, 0, size, size};
      std::vector<double> out(x.size());
      Lp(p).subgradient(view(x), std::span<double>(out));
      const double each = std::pow(4, -(p - 1) / p);  // (|x_i| / |x|_p)^{p-1}
      const double want[] = {each, -each, 0, each, each};
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(out[i], want[i], 1e-14) << p << " " << i;
    }
  }
}

TEST(Distance, BadParametersAreRefused) {
  EXPECT_THROW(Lp(0.5), Error);
  EXPECT_THROW(Lp(std::nan("")), Error);
  EXPECT_THROW(Huber{0.0}, Error);
  EXPECT_THROW(Huber{kInfinity}, Error);
}

// A distance of a user's own, here an elastic net, D(x) = |x|_1 + 1/2 |x|^2; double only.
struct ElasticNet {
  void prox(double tau, std::span<const double> x, std::span<double> out) const {
    L1{}.prox(tau, x, out);
    for (double& v : out) v /= 1 + tau;
  }
  double value(std::span<const double> x) const { return norm(1, x) + Squared{}.value(x); }
};

TEST(Distance, UserDefined) {
  static_assert(Distance<ElasticNet, double> && !Distance<ElasticNet, float>);
  static_assert(Norm<L1, float> && Norm<Lp, double> && !Norm<Squared, double>);
  const AnyDistance d = ElasticNet{};
  EXPECT_TRUE(d.has_prox<double>());
  EXPECT_FALSE(d.has_prox<float>());
  EXPECT_FALSE(d.has_subgradient<double>());
  const std::vector<double> x = {3, -1};
  EXPECT_EQ(prox(d, 1, x), (std::vector<double>{1, 0}));
  EXPECT_EQ(d.value(view(x)), 4 + 5);
}

}  // namespace
}  // namespace medgrad
