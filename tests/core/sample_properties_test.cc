// What every sample estimator must satisfy: one checker, applied to all of them in both types.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "core/sample_helpers.h"
#include "kernels/simd.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::run;

struct Member {
  std::string name;
  Rule method;
  bool scales = true;    // m(c x) = c m(x)
  bool shifts = true;    // m(x + b) = m(x) + b
  bool rotates = false;  // m(Q x) = Q m(x)
  bool permutes = true;  // the order of rows does not matter
  bool resists = true;   // breakdown point 1/2
  bool weighted = true;  // takes weights; a weight of 2 is the row twice
  bool smooth = true;    // of one solution: comparisons of m make sense
};

std::vector<Member> members() {
  return {
      {.name = "mean", .method = Mean{}, .rotates = true, .resists = false},
      {.name = "median", .method = Median{}},
      {.name = "geometric", .method = GeometricMedian{}, .rotates = true},
      {.name = "lp1", .method = LpMedian{.p = 1}},
      {.name = "lp1.2", .method = LpMedian{.p = 1.2}},
      {.name = "lp1.5", .method = LpMedian{.p = 1.5}},
      {.name = "lp2", .method = LpMedian{.p = 2}, .rotates = true},
      {.name = "lp3", .method = LpMedian{.p = 3}},
      {.name = "lp7.5", .method = LpMedian{.p = 7.5}},
      {.name = "lpinf", .method = LpMedian{.p = kInfinity}, .weighted = false, .smooth = false},
      {.name = "huber", .method = HuberLocation{.mu = 0.8}, .scales = false, .rotates = true},
      {.name = "mom",
       .method = MedianOfMeans{.blocks = 3},
       .rotates = true,
       .permutes = false,
       .resists = false,
       .weighted = false},
      {.name = "clipped",
       .method = SampleClippedMean{.clip = 2},
       .scales = false,
       .shifts = false,
       .rotates = true,
       .resists = false},
      {.name = "trimmed2", .method = TrimmedMean{.f = 2}, .weighted = false},
      {.name = "krum",
       .method = Krum{.f = 1},
       .rotates = true,
       .resists = false,
       .weighted = false},
      {.name = "multi-krum",
       .method = MultiKrum{.f = 1},
       .rotates = true,
       .resists = false,
       .weighted = false},
      {.name = "meamed", .method = MeaMed{.f = 2}, .weighted = false},
      {.name = "mda", .method = Mda{.f = 2}, .rotates = true, .weighted = false},
      {.name = "smea", .method = Smea{.f = 2}, .rotates = true, .weighted = false},
      {.name = "monna",
       .method = Monna{.f = 2, .pivot = 2},
       .rotates = true,
       .permutes = false,
       .weighted = false},
      {.name = "caf", .method = Caf{.f = 2}, .rotates = true, .weighted = false},
      {.name = "auto", .method = Mda{.f = kAutomatic}, .rotates = true, .weighted = false},
      {.name = "centered",
       .method = CenteredClipping{.clip = 2, .iterations = 7},
       .scales = false,
       .shifts = false,
       .rotates = true},
      {.name = "nnm+median", .method = Rule({Nnm{.f = 2}}, Median{}), .weighted = false},
      {.name = "nnm+trimmed",
       .method = Rule({Nnm{.f = 2}}, TrimmedMean{.f = 2}),
       .weighted = false},
      {.name = "nnm+geometric",
       .method = Rule({Nnm{.f = 2}}, GeometricMedian{}),
       .rotates = true,
       .weighted = false},
      {.name = "nnm+nnm+caf",
       .method = Rule({Nnm{.f = 2}, Nnm{.f = 2}}, Caf{.f = 2}),
       .rotates = true,
       .weighted = false},
      {.name = "clip+mean",
       .method = Rule({Clip{.clip = 2}}, Mean{}),
       .scales = false,
       .shifts = false,
       .rotates = true,
       .weighted = false},
      {.name = "arc+mean",
       .method = Rule({Arc{.f = 2}}, Mean{}),
       .shifts = false,
       .rotates = true,
       .weighted = false},
      {.name = "bucketing+median",
       .method = Rule({Bucketing{.bucket = 2}}, Median{}),
       .permutes = false,
       .resists = false,
       .weighted = false},
      {.name = "bucketing+mda",
       .method = Rule({Bucketing{.bucket = 2}}, Mda{.f = 1}),
       .rotates = true,
       .permutes = false,
       .resists = false,
       .weighted = false},
  };
}

template <class T>
class SampleProperties : public ::testing::Test {
 protected:
  // Of the size of rounding, relative to data of size 1.
  static constexpr double kTolerance = std::is_same_v<T, float> ? 2e-6 : 2e-12;
  // n = 5, so that two rows are a minority and TrimmedMean{2} is the median; more columns than
  // rows, fewer, and odd lengths.
  static constexpr std::size_t kRows = 5;
  static std::vector<std::size_t> lengths() { return {1, 2, 3, 17, 70, 300}; }

  template <class Check>
  void for_all(Check&& check) {
    for (const Member& member : members()) {
      for (const std::size_t d : lengths()) {
        SCOPED_TRACE(member.name + ", d = " + std::to_string(d));
        check(member, normal<T>(kRows, d, static_cast<unsigned>(d)));
      }
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SampleProperties, Types);

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TYPED_TEST(SampleProperties, FollowTranslationsAndScales) {
  using T = TypeParam;
  this->for_all([&](const Member& member, const Matrix<T>& data) {
    const auto plain = run<T>(member.method, data);
    EXPECT_GE(plain.info.gap, 0);
    EXPECT_LE(plain.info.gap, this->kTolerance);
    if (member.scales) {
      Matrix<T> scaled = data;
      for (T& v : scaled.x) v *= -3;
      auto got = run<T>(member.method, scaled).m;
      for (T& v : got) v /= -3;
      EXPECT_LE(farthest(got, plain.m), this->kTolerance);
    }
    if (member.shifts) {
      Matrix<T> shifted = data;
      for (std::size_t i = 0; i < data.n; ++i) {
        for (std::size_t j = 0; j < data.d; ++j) shifted(i, j) += static_cast<T>(j % 7) - 3;
      }
      auto got = run<T>(member.method, shifted).m;
      for (std::size_t j = 0; j < data.d; ++j) got[j] -= static_cast<T>(j % 7) - 3;
      EXPECT_LE(farthest(got, plain.m), 4 * this->kTolerance);
    }
  });
}

// A rotation of pairs of neighbouring columns by an angle.
template <class T>
Matrix<T> rotated(const Matrix<T>& data, double angle) {
  Matrix<T> out = data;
  const double c = std::cos(angle), s = std::sin(angle);
  for (std::size_t i = 0; i < data.n; ++i) {
    for (std::size_t j = 0; j + 1 < data.d; j += 2) {
      const double a = static_cast<double>(data(i, j)), b = static_cast<double>(data(i, j + 1));
      out(i, j) = static_cast<T>(c * a - s * b);
      out(i, j + 1) = static_cast<T>(s * a + c * b);
    }
  }
  return out;
}

TYPED_TEST(SampleProperties, FollowRotations) {
  using T = TypeParam;
  this->for_all([&](const Member& member, const Matrix<T>& data) {
    if (!member.rotates) return;
    Matrix<T> m(1, data.d);
    m.x = run<T>(member.method, data).m;
    const auto got = run<T>(member.method, rotated(data, 0.7)).m;
    EXPECT_LE(farthest(got, rotated(m, 0.7).x), 4 * this->kTolerance);
  });
}

TYPED_TEST(SampleProperties, IgnoreTheOrderOfRows) {
  using T = TypeParam;
  this->for_all([&](const Member& member, const Matrix<T>& data) {
    if (!member.permutes) return;
    Matrix<T> other(data.n, data.d);
    for (std::size_t i = 0; i < data.n; ++i) {
      for (std::size_t j = 0; j < data.d; ++j) other((i * 2 + 1) % data.n, j) = data(i, j);
    }
    EXPECT_LE(farthest(run<T>(member.method, other).m, run<T>(member.method, data).m),
              this->kTolerance);
  });
}

TYPED_TEST(SampleProperties, WeightsAreRepetitions) {
  using T = TypeParam;
  const std::vector<double> weights = {1, 2, 1, 3, 2};
  this->for_all([&](const Member& member, const Matrix<T>& data) {
    SampleOptions<T> options;
    options.weights = weights;
    if (!member.weighted) {
      EXPECT_THROW(run<T>(member.method, data, options), Error);
      return;
    }
    Matrix<T> repeated(0, data.d);
    for (std::size_t i = 0; i < data.n; ++i) {
      for (int k = 0; k < static_cast<int>(weights[i]); ++k, ++repeated.n)
        repeated.x.insert(repeated.x.end(), &data.x[i * data.d], &data.x[i * data.d] + data.d);
    }
    const auto a = run<T>(member.method, data, options), b = run<T>(member.method, repeated);
    EXPECT_LE(farthest(a.m, b.m), 4 * this->kTolerance);
    EXPECT_NEAR(a.info.objective, b.info.objective, 1e-6 * b.info.objective);
  });
}

TYPED_TEST(SampleProperties, AMinorityOfAnythingDoesNotMatter) {
  using T = TypeParam;
  constexpr T kMost = std::numeric_limits<T>::max(), kInf = std::numeric_limits<T>::infinity();
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<std::pair<T, T>> bad = {
      {T(1e12), T(1e12)}, {T(3e38), T(-3e38)}, {kMost, kMost},    {-kMost, kMost},     {kInf, kInf},
      {-kInf, kNan},      {kNan, kNan},        {kMost, T(1e-30)}, {T(-1e20), T(1e-38)}};
  this->for_all([&](const Member& member, const Matrix<T>& data) {
    for (const auto& [first, second] : bad) {
      Matrix<T> spoilt = data;
      for (std::size_t j = 0; j < data.d; ++j) {
        spoilt(1, j) = first;
        spoilt(3, j) = j % 2 == 0 ? second : first;
      }
      SampleOptions<T> options;
      options.non_finite = NonFinite::robust;
      const auto got = run<T>(member.method, spoilt, options);
      for (std::size_t j = 0; j < data.d; ++j) {
        ASSERT_TRUE(std::isfinite(got.m[j])) << first << " " << second;
        if (!member.resists) continue;
        // The bulk's three rows are of length sqrt(d); a median leaves it by a small multiple.
        const double reach = 8 * (3 + std::sqrt(static_cast<double>(data.d)));
        ASSERT_LE(std::abs(static_cast<double>(got.m[j])), reach) << first << " " << second;
      }
    }
  });
}

TYPED_TEST(SampleProperties, TheBitsDependOnTheDataAlone) {
  using T = TypeParam;
  for (const Member& member : members()) {
    const bool slow = std::holds_alternative<LpMedian>(member.method.method);
    for (const std::size_t d : {std::size_t{3}, std::size_t{259}, std::size_t{40001}}) {
      SCOPED_TRACE(member.name + ", d = " + std::to_string(d));
      if (slow && d > 1000 && std::get<LpMedian>(member.method.method).p > 2) continue;
      const Matrix<T> data = normal<T>(7, d, 5);
      const auto want = run<T>(member.method, data);
      for (const unsigned threads : {2u, 7u}) {
        ThreadPool pool(threads);
        SampleOptions<T> options;
        options.pool = &pool;
        EXPECT_TRUE(same_bits(run<T>(member.method, data, options).m, want.m)) << threads;
      }
      const std::string best = kernels::simd_target();
      for (const std::string& target : kernels::simd_targets()) {
        kernels::force_simd_target(target);
        EXPECT_TRUE(same_bits(run<T>(member.method, data).m, want.m)) << target;
      }
      kernels::force_simd_target(best);
      std::vector<const T*> pointers;
      std::vector<std::vector<T>> copies;
      for (std::size_t i = 0; i < data.n; ++i)
        copies.emplace_back(&data.x[i * d], &data.x[i * d] + d);
      for (const auto& copy : copies) pointers.push_back(copy.data());
      std::vector<T> got(d);
      (void)aggregate<T>(member.method, Rows<T>(pointers, d), got);
      EXPECT_TRUE(same_bits(got, want.m));
    }
  }
}

bool bears(const Rule& rule, std::size_t n) {
  try {
    validate(rule, n);
    return true;
  } catch (const Error&) {
    return false;  // as trimming one of one
  }
}

TYPED_TEST(SampleProperties, SmallAndEmpty) {
  using T = TypeParam;
  for (const Member& member : members()) {
    SCOPED_TRACE(member.name);
    const Matrix<T> five(5, 0);
    EXPECT_TRUE(run<T>(member.method, five).m.empty());
    for (const std::size_t d : {std::size_t{1}, std::size_t{9}}) {
      Matrix<T> same(5, d);
      for (std::size_t j = 0; j < d; ++j) {
        for (std::size_t i = 0; i < 5; ++i) same(i, j) = static_cast<T>(j) / 8 - T(0.5);
      }
      std::vector<T> want(same.x.begin(), same.x.begin() + static_cast<std::ptrdiff_t>(d));
      if (!member.shifts) continue;
      EXPECT_LE(farthest(run<T>(member.method, same).m, want), 1e-15);
      if (!bears(member.method, 1)) continue;
      Matrix<T> one(1, d), two(2, d);
      one.x = want;
      EXPECT_EQ(run<T>(member.method, one).m, want);
      two = normal<T>(2, d, 3);
      const auto got = run<T>(member.method, two).m;  // anywhere between the two
      for (std::size_t j = 0; j < d; ++j) {
        EXPECT_GE(got[j], std::min(two(0, j), two(1, j)) - T(1e-6));
        EXPECT_LE(got[j], std::max(two(0, j), two(1, j)) + T(1e-6));
      }
    }
  }
}

TYPED_TEST(SampleProperties, ExtremeSizes) {
  using T = TypeParam;
  const T tiny = std::numeric_limits<T>::denorm_min();
  const int up = std::is_same_v<T, float> ? 126 : 1022,
            down = std::is_same_v<T, float> ? 120 : 1000;
  this->for_all([&](const Member& member, const Matrix<T>& data) {
    if (!member.scales) return;
    const auto plain = run<T>(member.method, data);
    for (const int shift : {up - 3, -down}) {  // entries up to 5 in size
      Matrix<T> scaled = data;
      for (T& v : scaled.x) v = std::ldexp(v, shift);
      auto got = run<T>(member.method, scaled).m;
      for (T& v : got) v = std::ldexp(v, -shift);
      EXPECT_LE(farthest(got, plain.m), this->kTolerance) << shift;
    }
    Matrix<T> denormal = data;
    for (T& v : denormal.x) v = std::round(v * 50) * tiny;
    for (const T v : run<T>(member.method, denormal).m) EXPECT_LE(std::abs(v), 250 * tiny);
  });
}

TYPED_TEST(SampleProperties, RejectNamesThePlaceAndLeavesTheResult) {
  using T = TypeParam;
  for (const Member& member : members()) {
    SCOPED_TRACE(member.name);
    Matrix<T> data = normal<T>(5, 300, 1);
    data(2, 270) = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> out(300, T(42));
    try {
      (void)aggregate<T>(member.method, data.rows(), out);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("row 3, column 271"), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(out, std::vector<T>(300, T(42)));
    SampleOptions<T> options;
    options.non_finite = NonFinite::robust;
    data(0, 3) = -std::numeric_limits<T>::infinity();
    const SampleInfo info = aggregate<T>(member.method, data.rows(), out, options);
    EXPECT_EQ(info.nan, 1u);
    EXPECT_EQ(info.inf, 1u);
    for (std::size_t i = 0; i < 5; ++i) data(i, 7) = std::numeric_limits<T>::quiet_NaN();
    EXPECT_THROW((void)aggregate<T>(member.method, data.rows(), out, options), Error);
  }
}

}  // namespace
}  // namespace medgrad
