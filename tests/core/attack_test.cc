// What attacks send: agreement with their definitions (tests/golden/make_attacks.py), what holds
// for all of them, and what they refuse.
#include "medgrad/attack.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/sample_helpers.h"
#include "medgrad/error.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"
#include "testing.h"

namespace medgrad {
namespace {

using sample_test::Matrix;
using sample_test::normal;
using testing::message_of;

constexpr double kInf = std::numeric_limits<double>::infinity();

double number_of(const nlohmann::json& x) {
  return x.is_string() ? std::stod(x.get<std::string>()) : x.get<double>();
}

Matrix<double> matrix(const nlohmann::json& rows, std::size_t d) {
  Matrix<double> data(rows.size(), d);
  for (std::size_t i = 0; i < data.n; ++i)
    for (std::size_t j = 0; j < d; ++j) data(i, j) = number_of(rows[i][j]);
  return data;
}

template <class T>
struct Sent {
  std::vector<T> rows;
  AttackInfo info;
};
template <class T>
Sent<T> send(const Attack& by, const Matrix<T>& honest, std::size_t f,
             AttackOptions<T> options = {}) {
  Sent<T> sent{std::vector<T>(rows_sent(by, f) * honest.d), {}};
  sent.info = attack<T>(by, honest.rows(), f, sent.rows, options);
  return sent;
}

// To 1e-12 of the size of the column, or of the result where that is larger.
TEST(AttackGolden, EveryAttackIsItsDefinition) {
  std::ifstream file(MEDGRAD_GOLDEN "/attacks.json");
  std::size_t count = 0, optimal = 0;
  for (const auto& one : nlohmann::json::parse(file)) {
    const auto honest = matrix(one.at("x"), one.at("x")[0].size());
    for (const auto& want : one.at("results")) {
      const auto text = want.at("attack").get<std::string>();
      const auto f = want.at("f").get<std::size_t>();
      SCOPED_TRACE(one.at("name").get<std::string>() + ", " + text + ", f = " + std::to_string(f));
      AttackOptions<double> options;
      options.non_finite = NonFinite::robust;
      options.round = want.at("round").get<std::uint64_t>();
      Rule against;
      if (want.contains("against")) {
        SCOPED_TRACE(want.at("against").get<std::string>());
        against = make_rule(want.at("against").get<std::string>());
        options.against = &against;
      }
      const Sent<double> got = send(make_attack(text), honest, f, options);
      const auto rows = matrix(want.at("rows"), honest.d);
      ASSERT_EQ(got.rows.size(), rows.n * rows.d);
      for (std::size_t i = 0; i < got.rows.size(); ++i) {
        const double a = got.rows[i], b = rows.x[i];
        double size = std::abs(b);
        for (std::size_t k = 0; k < honest.n; ++k)
          if (std::isfinite(honest(k, i % honest.d)))
            size = std::max(size, std::abs(honest(k, i % honest.d)));
        if (std::isfinite(b)) {
          ASSERT_LE(std::abs(a / 2 - b / 2), 0.5e-12 * size + 5e-324) << a << " " << b;
        } else {
          ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " " << b;
        }
      }
      if (want.contains("against")) {
        EXPECT_NEAR(got.info.strength, want.at("strength").get<double>(), 1e-12);
        const auto distance = want.at("distance").get<double>();
        EXPECT_NEAR(got.info.distance, distance, 1e-12 * std::max(1.0, distance));
        ++optimal;
      }
      ++count;
    }
  }
  EXPECT_GT(count, 400u);
  EXPECT_GT(optimal, 60u);
}

// ---- What holds for all of them -----------------------------------------------------------------

// Every attack of the registry, as it is, and the optimal ones.
std::vector<Attack> all_attacks() {
  std::vector<Attack> all;
  for (const Entry<Attack>& entry : attacks()) {
    const Attack one = entry.make({});
    if (!needs_data(one)) all.push_back(one);
  }
  all.insert(all.end(), {Alie{kOptimal}, Ipm{kOptimal}, Alie{1.5}, Ipm{10}});
  return all;
}

template <class T>
class AttackProperties : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AttackProperties, Types);

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

const Rule kTrimmed = TrimmedMean{.f = 2};

template <class T>
AttackOptions<T> against_trimmed() {
  AttackOptions<T> options;
  options.against = &kTrimmed;
  return options;
}

TYPED_TEST(AttackProperties, TheBitsDependOnTheDataAlone) {
  using T = TypeParam;
  for (const Attack& one : all_attacks()) {
    for (const std::size_t d : {std::size_t{3}, std::size_t{70001}}) {
      SCOPED_TRACE(describe(one) + ", d = " + std::to_string(d));
      const auto honest = normal<T>(5, d, 4);
      auto options = against_trimmed<T>();
      const auto want = send<T>(one, honest, 2, options);
      ThreadPool pool(3);
      options.pool = &pool;
      EXPECT_TRUE(same_bits(send<T>(one, honest, 2, options).rows, want.rows));
    }
  }
}

TYPED_TEST(AttackProperties, OddSizes) {
  using T = TypeParam;
  for (const Attack& one : all_attacks()) {
    SCOPED_TRACE(describe(one));
    auto options = against_trimmed<T>();
    EXPECT_TRUE(send<T>(one, Matrix<T>(5, 0), 2, options).rows.empty());
    EXPECT_TRUE(send<T>(one, normal<T>(5, 3, 1), 0, options).rows.empty());
    const Rule mean = Mean{};
    options.against = &mean;
    EXPECT_EQ(send<T>(one, normal<T>(1, 1, 1), 4, options).rows.size(), rows_sent(one, 4));
  }
}

// Rows of any size give finite lies of every size but for those that are meant not to be.
TYPED_TEST(AttackProperties, AnyFiniteRows) {
  using T = TypeParam;
  for (const T size : {std::numeric_limits<T>::max() / 8, std::numeric_limits<T>::denorm_min()}) {
    Matrix<T> honest = normal<T>(5, 9, 2);
    for (T& x : honest.x) x = std::round(std::clamp(x, T(-4), T(4)) * 2) * size;
    for (const Attack& one : {Attack(SignFlip{}), Attack(Alie{}), Attack(Alie{1e300}),
                              Attack(Ipm{1e300}), Attack(Alie{kOptimal}), Attack(Ipm{kOptimal}),
                              Attack(GaussianAttack{1e308}), Attack(ConstantAttack{-1e308})}) {
      SCOPED_TRACE(describe(one));
      const auto sent = send<T>(one, honest, 2, against_trimmed<T>());
      for (const T x : sent.rows) ASSERT_TRUE(std::isfinite(x)) << x;
    }
  }
}

// Means, and so lies that are made of them, follow scales; a power of two does so to the bit.
TYPED_TEST(AttackProperties, FollowScales) {
  using T = TypeParam;
  for (const Attack& one : {Attack(SignFlip{}), Attack(Alie{}), Attack(Alie{0.7}), Attack(Ipm{3}),
                            Attack(Alie{kOptimal}), Attack(Ipm{kOptimal}), Attack(Mimic{2})}) {
    const auto honest = normal<T>(6, 11, 3);
    const auto want = send<T>(one, honest, 2, against_trimmed<T>());
    for (const int power : {-90, 7, 100}) {
      SCOPED_TRACE(describe(one) + ", " + std::to_string(power));
      Matrix<T> scaled = honest;
      for (T& x : scaled.x) x = std::ldexp(x, power);
      auto got = send<T>(one, scaled, 2, against_trimmed<T>());
      for (T& x : got.rows) x = std::ldexp(x, -power);
      EXPECT_TRUE(same_bits(got.rows, want.rows));
    }
  }
}

// ---- Each by itself -----------------------------------------------------------------------------

TEST(Attacks, LiarsOfARoundDifferAndRoundsDo) {
  const auto honest = normal<double>(4, 50, 1);
  for (const char* const text : {"gaussian", "bit-flip", "gaussian:seed=1", "bit-flip:seed=1"}) {
    SCOPED_TRACE(text);
    const auto first = send(make_attack(text), honest, 2).rows;
    EXPECT_FALSE(std::equal(first.begin(), first.begin() + 50, first.begin() + 50));
    AttackOptions<double> later;
    later.round = 1;
    EXPECT_FALSE(same_bits(send(make_attack(text), honest, 2, later).rows, first));
    // More liars change nothing about those before.
    const auto more = send(make_attack(text), honest, 5).rows;
    EXPECT_TRUE(std::memcmp(more.data(), first.data(), 100 * sizeof(double)) == 0);
  }
  // 400 numbers: the variance has a relative standard deviation of sqrt(2/400) = 7 %.
  const auto noise = send(Attack(GaussianAttack{3}), honest, 8).rows;
  double square = 0;
  for (const double x : noise) square += x * x / 400;
  EXPECT_NEAR(square, 9, 9 * 0.35);
}

// One bit of one exponent, all of them in the course of time.
template <class T, class Bits>
void expect_single_bits(int mantissa, int exponent) {
  const auto honest = normal<T>(3, 5, 7);
  const auto sent = send<T>(BitFlip{}, honest, 600).rows;
  std::vector<int> bits(static_cast<std::size_t>(exponent)), places(5);
  for (std::size_t k = 0; k < 600; ++k) {
    Bits all = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      const Bits change =
          std::bit_cast<Bits>(sent[k * 5 + j]) ^ std::bit_cast<Bits>(honest(k % 3, j));
      if (change != 0) ++places[j];
      all ^= change;
    }
    ASSERT_EQ(std::popcount(all), 1);
    const int bit = std::countr_zero(all) - mantissa;
    ASSERT_TRUE(bit >= 0 && bit < exponent) << bit;
    ++bits[static_cast<std::size_t>(bit)];
  }
  // Of 600 draws each of 11 bits has 54.5 +- 7, each of 5 places 120 +- 9.8: five deviations.
  for (const int n : bits) EXPECT_NEAR(n, 600.0 / exponent, 5 * std::sqrt(600.0 / exponent));
  for (const int n : places) EXPECT_NEAR(n, 120, 50);
}
TEST(Attacks, BitFlipFlipsOneBitOfAnExponent) {
  expect_single_bits<double, std::uint64_t>(52, 11);
  expect_single_bits<float, std::uint32_t>(23, 8);
}

// A strength that was found does at least as much harm as any of many others nearby and far away:
// it is the best of powers of two, so that none of those is better.
TEST(Attacks, OptimalIsNotWorseThanOthers) {
  const auto honest = normal<double>(9, 6, 5);
  Matrix<double> shifted = honest;
  for (double& x : shifted.x) x += 0.7;
  for (const char* const text : {"median", "trimmed-mean", "krum", "geometric-median", "nnm+caf",
                                 "centered-clipping", "bucketing+median"}) {
    for (const bool spread : {true, false}) {
      SCOPED_TRACE(std::string(text) + (spread ? ", alie" : ", ipm"));
      const Rule rule = find_rule(text).find("f") != nullptr ? find_rule(text).make({{"f", 2}})
                                                             : find_rule(text).make({});
      AttackOptions<double> options;
      options.against = &rule;
      options.round = 3;
      const auto harm = [&](double strength) {
        const Attack by = spread ? Attack(Alie{strength}) : Attack(Ipm{strength});
        const auto lies = send(by, shifted, 2, options).rows;
        Matrix<double> all(11, 6);
        std::copy(shifted.x.begin(), shifted.x.end(), all.x.begin());
        std::copy(lies.begin(), lies.end(), all.x.begin() + 54);
        std::vector<double> m(6), mean(6);
        aggregate<double>(rule, all.rows(), m, {.round = 3});
        aggregate<double>(Mean{}, shifted.rows(), mean);
        double square = 0;
        for (std::size_t j = 0; j < 6; ++j) square += (m[j] - mean[j]) * (m[j] - mean[j]);
        return std::sqrt(square);
      };
      const Attack by = spread ? Attack(Alie{kOptimal}) : Attack(Ipm{kOptimal});
      const AttackInfo info = send(by, shifted, 2, options).info;
      EXPECT_NEAR(info.distance, harm(info.strength), 1e-12 * std::max(1.0, info.distance));
      EXPECT_LE(info.tried, 25);
      for (int k = -4; k <= 8; ++k) EXPECT_LE(harm(std::exp2(k)), info.distance * (1 + 2e-9)) << k;
    }
  }
}

TEST(Attacks, MissingEntriesAndWhatIsNotFinite) {
  Matrix<double> honest(3, 2);
  honest.x = {1, 2, std::nan(""), 4, 3, 6};
  EXPECT_EQ(
      message_of([&] { return send(SignFlip{}, honest, 1).info.nan; }),
      "The entry in row 2, column 1 is not a number; entries must be finite unless the policy "
      "for non-finite ones is robust.");
  AttackOptions<double> robust;
  robust.non_finite = NonFinite::robust;
  const auto flipped = send(SignFlip{}, honest, 1, robust);
  EXPECT_EQ(flipped.rows, (std::vector<double>{-2, -4}));
  EXPECT_EQ(flipped.info.nan, 1u);
  const auto little = send(Alie{1}, honest, 1, robust).rows;  // sigma of 1, 3 and of 2, 4, 6
  EXPECT_NEAR(little[0], 1, 1e-15);
  EXPECT_NEAR(little[1], 4 - std::sqrt(8.0 / 3), 1e-15);
  // Those that copy do so as it is.
  EXPECT_TRUE(std::isnan(send(Mimic{1}, honest, 1).rows[0]));
  honest(0, 1) = honest(1, 1) = honest(2, 1) = std::nan("");
  EXPECT_THROW((void)send(Ipm{}, honest, 1, robust), NoObservation);
  honest(0, 1) = kInf;
  EXPECT_EQ(send(Ipm{1}, honest, 1, robust).rows[1], -std::numeric_limits<double>::max());
}

TEST(Attacks, TextsAndSentencesThatHelp) {
  EXPECT_EQ(describe(make_attack("alie")), "alie strength=0");
  EXPECT_EQ(describe(make_attack("alie:strength=1.5")), "alie strength=1.5");
  EXPECT_EQ(describe(make_attack("ipm:strength=optimal")), "ipm strength=optimal");
  EXPECT_TRUE(is_optimal(make_attack("alie:strength=optimal")));
  EXPECT_FALSE(is_optimal(make_attack("alie")));
  const auto message = [](const char* text) {
    return message_of([&] { return make_attack(text); });
  };
  EXPECT_EQ(message("sign-flop"), "'sign-flop' is not an attack. Did you mean 'sign-flip'?");
  EXPECT_EQ(message("alie:strength=auto"), "strength is 'auto'; it must be a number or optimal.");
  EXPECT_EQ(message("alie:strength=-inf"), "strength is '-inf'; it must be a number or optimal.");
  EXPECT_EQ(message("ipm:strength=-1"),
            "strength is -1; it must satisfy 0 <= strength < inf, or be optimal.");
  EXPECT_EQ(message("nan:strength=1"), "strength is not a parameter of nan, which has none.");
  EXPECT_EQ(message("gaussian:strength=optimal"), "strength is 'optimal'; it must be a number.");
  const auto honest = normal<double>(3, 2, 1);
  const auto refusal = [&](const Attack& by, const Matrix<double>& rows, std::size_t f,
                           const Rule* rule = nullptr) {
    AttackOptions<double> options;
    options.against = rule;
    return message_of([&] { return send(by, rows, f, options).info.tried; });
  };
  EXPECT_EQ(refusal(Alie{-1}, honest, 1),
            "strength is -1; it must satisfy 0 <= strength < inf, or be optimal.");
  EXPECT_EQ(refusal(Mimic{3}, honest, 1),
            "row is 3; rows are counted from 0, and with 3 rows it must be at most 2.");
  EXPECT_EQ(refusal(Alie{kOptimal}, honest, 1),
            "strength is optimal; that takes a rule to be found against.");
  const Rule krum = Krum{.f = 2};
  EXPECT_EQ(refusal(Ipm{kOptimal}, honest, 2, &krum), "f is 2; with 5 rows it must be at most 1.");
  const std::string none = " needs the rows of the honest; there are none.";
  EXPECT_EQ(refusal(SignFlip{}, Matrix<double>(0, 2), 1), "sign-flip" + none);
  EXPECT_EQ(refusal(BitFlip{}, Matrix<double>(0, 2), 1), "bit-flip" + none);
  EXPECT_NE(refusal(LabelFlip{}, honest, 1).find("takes data with labels"), std::string::npos);
  std::vector<double> room(3);
  EXPECT_EQ(message_of([&] { return attack<double>(SignFlip{}, honest.rows(), 2, room).tried; }),
            "The rows of 2 liars with 2 components take 4 numbers; there is room for 3.");
}

}  // namespace
}  // namespace medgrad
