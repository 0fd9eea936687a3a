// What the rules of distributed learning bear, refuse and promise.
#include "medgrad/rules.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/sample_helpers.h"
#include "medgrad/attack.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "medgrad/thread_pool.h"
#include "testing.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;
using sample_test::normal;
using sample_test::run;
using testing::message_of;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

// ---- Breakdown ----------------------------------------------------------------------------------

// What f liars may send, all of them the same or each something else: of any size, and every attack
// there is, also with strengths that are found against the rule.
std::vector<Matrix<double>> lies(const Matrix<double>& honest, std::size_t f, const Rule& rule) {
  std::vector<Matrix<double>> all;
  std::vector<Attack> tried = {Alie{kOptimal}, Ipm{kOptimal}, Alie{1.5}, Ipm{10}};
  for (const Entry<Attack>& entry : attacks()) tried.push_back(entry.make({}));
  for (const Attack& one : tried) {
    if (needs_data(one) || rows_sent(one, f) == 0) continue;
    Matrix<double> sent(f, honest.d);
    attack<double>(one, Rows<double>(honest.x.data(), honest.n - f, honest.d), f, sent.x,
                   {.against = &rule});
    all.push_back(sent);
  }
  const auto noise = normal<double>(f, honest.d, 99);
  for (const double size : {3.0, 1e4, 1e15, 1e160, 1.7e308}) {
    Matrix<double> together(f, honest.d), apart(f, honest.d), opposite(f, honest.d);
    for (std::size_t i = 0; i < f; ++i) {
      for (std::size_t j = 0; j < honest.d; ++j) {
        together(i, j) = size;
        apart(i, j) = size / 10 * std::clamp(noise(i, j), -5.0, 5.0);
        opposite(i, j) = i % 2 == 0 ? size : -size;
      }
    }
    all.insert(all.end(), {together, apart, opposite});
  }
  for (const double x : {kInf, -kInf, kNan}) {
    Matrix<double> same(f, honest.d);
    std::fill(same.x.begin(), same.x.end(), x);
    all.push_back(same);
  }
  return all;
}

TEST(Rules, BearWhatTheySay) {
  const std::size_t n = 11, d = 6;
  const auto honest = normal<double>(n, d, 3);
  for (const char* const text :
       {"krum", "multi-krum", "meamed", "mda", "smea", "monna", "caf", "trimmed-mean", "nnm+krum",
        "nnm+trimmed-mean", "nnm+geometric-median", "nnm+caf", "arc+nnm+meamed", "median",
        "geometric-median", "huber-location", "lp-median:p=1.5",
        "centered-clipping:clip=0.5:iterations=500"}) {
    const bool krum = std::string(text).find("krum") != std::string::npos;
    for (std::size_t f = 1; f <= (krum ? (n - 3) / 2 : (n - 1) / 2); ++f) {
      const Rule rule = rule_told(text, f);
      for (const Matrix<double>& lie : lies(honest, f, rule)) {
        SCOPED_TRACE(std::string(text) + ", f = " + std::to_string(f) + ", " +
                     std::to_string(lie.x[0]));
        Matrix<double> rows = honest;
        // The liars are the last ones; MoNNA trusts row 0.
        std::copy(lie.x.begin(), lie.x.end(),
                  rows.x.begin() + static_cast<std::ptrdiff_t>((n - f) * d));
        std::vector<double> mean(d);
        for (std::size_t i = 0; i < n - f; ++i)
          for (std::size_t j = 0; j < d; ++j) mean[j] += rows(i, j) / static_cast<double>(n - f);
        double radius = 0;  // of the honest ones
        for (std::size_t i = 0; i < n - f; ++i)
          radius = std::max(radius, distance({&rows.x[i * d], &rows.x[i * d] + d}, mean));
        const auto got = run<double>(rule, rows, {.non_finite = NonFinite::robust}).m;
        for (const double x : got) ASSERT_TRUE(std::isfinite(x));
        // Robustness coefficients grow like f/(n-2f); at f = 5 of 11 they are about 5.
        EXPECT_LE(distance(got, mean), 6 * radius);
      }
    }
  }
}

// ---- Sizes that are refused ---------------------------------------------------------------------

std::string refusal(const char* text, std::size_t n) {
  return message_of([&] {
    validate(make_rule(text), n);
    return 0;
  });
}

TEST(Rules, RefuseWhatTheyCannotBear) {
  EXPECT_EQ(refusal("krum:f=4", 10), "f is 4; with 10 rows it must be at most 3.");
  EXPECT_EQ(refusal("krum:f=0", 2), "krum needs at least 3 rows; there are 2.");
  EXPECT_EQ(refusal("multi-krum:f=1:select=9", 8),
            "select is 9; with 8 rows it must be at most 8.");
  EXPECT_EQ(refusal("krum:neighbours=8", 8), "neighbours is 8; with 8 rows it must be at most 7.");
  for (const char* const text : {"meamed:f=5", "mda:f=5", "smea:f=5", "monna:f=5", "caf:f=5",
                                 "trimmed-mean:f=5", "nnm+mean:f=5", "arc+mean:f=5"})
    EXPECT_EQ(refusal(text, 10), "f is 5; with 10 rows it must be at most 4.") << text;
  EXPECT_EQ(refusal("monna:f=0:pivot=3", 3),
            "pivot is 3; rows are counted from 0, and with 3 rows it must be at most 2.");
  EXPECT_EQ(refusal("mda:f=20", 60),
            "f is 20; mda would have to look at about 4.2e15 subsets of 60 rows, and does so for "
            "at most 1e+08.");
  EXPECT_EQ(refusal("smea:f=12", 25),
            "f is 12; smea would have to look at about 5.2e6 subsets of 25 rows, and does so for "
            "at most 5e+06.");
  EXPECT_EQ(refusal("smea:f=5000", 16000),
            "f is 5000; smea would have to look at about 1e308 and more subsets of 16000 rows, and "
            "does so for at most 5e+06.");
  EXPECT_EQ(refusal("caf:f=1", 20000),
            "caf compares all pairs of rows; there are 20000 rows, and it takes at most 16384.");
  // Buckets are fewer.
  EXPECT_NO_THROW(validate(make_rule("trimmed-mean:f=4"), 10));
  EXPECT_EQ(refusal("bucketing+trimmed-mean:f=4", 10), "f is 4; with 5 rows it must be at most 2.");
}

// ---- Ties ---------------------------------------------------------------------------------------

TEST(Rules, BreakTiesByTheLowerIndex) {
  Matrix<double> square(4, 2);  // all scores and all diameters of pairs along a side are the same
  square.x = {0, 0, 0, 1, 1, 1, 1, 0};
  EXPECT_EQ(run<double>(Krum{.f = 0, .neighbours = 2}, square).m, (std::vector<double>{0, 0}));
  EXPECT_EQ(run<double>(MultiKrum{.f = 0, .neighbours = 2, .select = 2}, square).m,
            (std::vector<double>{0, 0.5}));
  EXPECT_EQ(run<double>(Mda{.f = 1}, square).m, run<double>(Monna{.f = 1, .pivot = 1}, square).m);
  EXPECT_LE(farthest(run<double>(Monna{.f = 1}, square).m, std::vector<double>{1.0 / 3, 1.0 / 3}),
            1e-16);
  Matrix<double> column(4, 1);  // the median is 1.5, 0 and 3 are equally far
  column.x = {3, 1, 2, 0};
  EXPECT_EQ(run<double>(MeaMed{.f = 1}, column).m, std::vector<double>{2});
  column.x = {0, 1, 2, 3};
  EXPECT_EQ(run<double>(MeaMed{.f = 1}, column).m, std::vector<double>{1});
}

// Rounding must not decide: the largest eigenvalues of equal subsets, points that are equal once
// they are clipped, the middle of two values that is between two numbers.
TEST(Rules, BreakTiesByTheLowerIndexWhateverIsRounded) {
  Matrix<double> two(4, 2);
  two.x = {-6, 8, -1, 6, -6, 8, -1, 6};
  EXPECT_LE(farthest(run<double>(Smea{.f = 1}, two).m, std::vector<double>{-13.0 / 3, 22.0 / 3}),
            1e-14);
  Matrix<double> clipped(7, 2);
  clipped.x = {-3, 7, 5, -9, -1, 1, -3, 7, 5, -9, -1, 1, 5, -9};
  std::vector<RowReport> rows;
  (void)run<double>(make_rule("clip:clip=1+mda:f=1"), clipped, {.report = &rows});
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(rows[i].weight != 0, i < 6) << i;
  for (const std::size_t n : {4u, 16u, 18u, 40u, 130u}) {
    const auto ends = normal<float>(2, 300, static_cast<unsigned>(n));
    Matrix<float> data(n, 300);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < 300; ++j) data(i, j) = ends((i + j) % 2, j);
    const auto got = run<float>(MeaMed{.f = 1}, data).m;
    for (std::size_t j = 0; j < 300; ++j) {
      double sum = 0;  // without the last one
      for (std::size_t i = 0; i + 1 < n; ++i) sum += static_cast<double>(data(i, j));
      ASSERT_NEAR(got[j], sum / static_cast<double>(n - 1), 1e-6) << n << " " << j;
    }
  }
}

TEST(Rules, MeaMedForEveryNumberOfRows) {
  for (const std::size_t n : {1u, 2u, 3u, 8u, 17u, 40u, 128u, 129u, 200u}) {
    for (const std::size_t f : {std::size_t{0}, n / 4, (n - 1) / 2}) {
      Matrix<double> data = normal<double>(n, 30, static_cast<unsigned>(n + f));
      for (std::size_t j = 0; j < 30; j += 2)
        for (std::size_t i = 0; i < n; ++i) data(i, j) = std::round(2 * data(i, j));  // ties
      const auto got = run<double>(MeaMed{.f = f}, data).m;
      const auto middle = run<double>(Median{}, data).m;
      for (std::size_t j = 0; j < 30; ++j) {
        std::vector<std::pair<double, std::size_t>> order(n);
        for (std::size_t i = 0; i < n; ++i) order[i] = {std::abs(data(i, j) - middle[j]), i};
        std::sort(order.begin(), order.end());
        long double sum = 0;
        for (std::size_t i = 0; i < n - f; ++i) sum += data(order[i].second, j);
        ASSERT_NEAR(got[j], static_cast<double>(sum / static_cast<long double>(n - f)), 1e-13)
            << n << " " << f << " " << j;
      }
    }
  }
}

// ---- f = auto -----------------------------------------------------------------------------------

std::size_t found(const Matrix<double>& data) {
  return run<double>(TrimmedMean{.f = kAutomatic}, data, {.non_finite = NonFinite::robust}).info.f;
}

// Clean Gaussian rows. The probability of any outlier, in 20,000 samples of an independent version:
// 1.5 % at 3 x 1, 3 % at 4 x 1, 3 % at 5 x 1, 5 % at 6 x 1, 2 % at 5 x 2, 1 % at 10 x 1, less for
// more rows or columns. 12 of 100 at 3 %, or 16 at 5 %, are five standard deviations too many.
TEST(AutomaticF, SaysZeroWhereNothingIsWrong) {
  for (const std::size_t d : {1u, 2u, 10u, 300u}) {
    for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 6u, 10u, 20u, 50u}) {
      std::size_t alarms = 0, most = 0;
      for (unsigned seed = 0; seed < 100; ++seed) {
        const std::size_t f = found(normal<double>(n, d, 1000 * seed + static_cast<unsigned>(n)));
        alarms += f > 0 ? 1 : 0;
        most = std::max(most, f);
      }
      EXPECT_LE(alarms, n == 6 ? 16u : n < 6 ? 12u : 6u) << n << " x " << d;
      EXPECT_LE(most, 2u) << n << " x " << d;
    }
  }
}

TEST(AutomaticF, CountsOutliersOfAnySize) {
  for (const double size : {30.0, 1e10, 1e200, 1.7e308, kInf}) {
    for (const std::size_t f : {1u, 3u, 6u}) {
      Matrix<double> data = normal<double>(14, 20, 8);
      for (std::size_t i = 0; i < f; ++i)
        for (std::size_t j = 0; j < 20; ++j) data(2 * i, j) = i % 2 == 0 ? size : -size;
      EXPECT_EQ(found(data), f) << size;
    }
  }
  for (const std::size_t n : {3u, 4u}) {
    Matrix<double> few = normal<double>(n, 20, 8);
    for (std::size_t j = 0; j < 20; ++j) few(1, j) = 1e4;
    EXPECT_EQ(found(few), 1u);
  }
  // More than the rule can bear is not asked of it.
  Matrix<double> data = normal<double>(5, 20, 8);
  for (std::size_t j = 0; j < 20; ++j) data(0, j) = data(3, j) = 1e6;
  const auto krum = run<double>(Krum{.f = kAutomatic}, data);
  EXPECT_EQ(krum.info.f, 1u);
  EXPECT_EQ(krum.m, run<double>(Krum{.f = 1}, data).m);
  // Rows of which most are the same.
  Matrix<double> same(7, 3);
  same(4, 1) = 1e-200;
  EXPECT_EQ(found(same), 1u);
}

TEST(AutomaticF, IsTheSameForAllParts) {
  Matrix<double> data = normal<double>(14, 20, 8);
  for (std::size_t j = 0; j < 20; ++j) data(1, j) = data(6, j) = 500;
  EXPECT_EQ(run<double>(make_rule("nnm+trimmed-mean:f=auto"), data).m,
            run<double>(make_rule("nnm+trimmed-mean:f=2"), data).m);
  EXPECT_EQ(run<double>(make_rule("nnm:f=4+caf:f=auto"), data).m,
            run<double>(make_rule("nnm:f=4+caf:f=2"), data).m);
}

// ---- Centered clipping --------------------------------------------------------------------------

// Its fixed point minimises the Huber function with mu = clip (HuberLocation), and goes to the
// geometric median as clip -> 0.
TEST(CenteredClippingRule, FixedPoints) {
  const Matrix<double> data = normal<double>(9, 5, 21);
  const std::vector<double> median = run<double>(GeometricMedian{}, data).m;
  double last = kInf;
  for (const double clip : {3.0, 1.0, 0.1, 0.01}) {
    const auto got = run<double>(CenteredClipping{.clip = clip, .iterations = 2000000}, data);
    EXPECT_EQ(got.info.stop, Stop::rounding) << clip;
    EXPECT_LE(farthest(got.m, run<double>(HuberLocation{.mu = clip}, data).m), 1e-11) << clip;
    const double off = distance(got.m, median);
    EXPECT_LE(off, last + 1e-12);
    last = off;
  }
  EXPECT_LE(last, 1e-4);
}

// A median that is a data point, and a clip far below what squares of distances can tell.
TEST(CenteredClippingRule, AtADataPoint) {
  Matrix<double> data(5, 2);
  data.x = {1, 0, -1, 0, 0, 1, 0, -1, 0, 0};
  const std::vector<double> start = {0.1, 0.1};
  const auto got =
      run<double>(CenteredClipping{.clip = 1e-4, .iterations = 200000}, data, {.center = start});
  EXPECT_LE(distance(got.m, {0, 0}), 1e-7);
}

TEST(CenteredClippingRule, OnceIsTheClippedMean) {
  const Matrix<double> data = normal<double>(6, 30, 4);
  const std::vector<double> weights = {0.5, 1.25, 2, 0.1, 1, 3}, center(30, 0.25);
  for (const double clip : {1e-3, 1.0, 4.0, 1e6}) {
    for (const bool with : {false, true}) {
      SampleOptions<double> options;
      if (with) options.weights = weights;
      if (with) options.center = center;
      EXPECT_LE(farthest(run<double>(CenteredClipping{.clip = clip}, data, options).m,
                         run<double>(SampleClippedMean{clip}, data, options).m),
                1e-14);
    }
  }
}

// ---- Text ---------------------------------------------------------------------------------------

TEST(RuleText, PartsAndParameters) {
  EXPECT_EQ(describe(make_rule("median")), "median");
  EXPECT_EQ(describe(make_rule("nnm+median:f=2")), "nnm f=2 + median");
  EXPECT_EQ(describe(make_rule("nnm+trimmed-mean:f=2")), "nnm f=2 + trimmed-mean f=2");
  EXPECT_EQ(describe(make_rule("nnm:f=3+trimmed-mean:f=2")), "nnm f=3 + trimmed-mean f=2");
  EXPECT_EQ(describe(make_rule("clip:clip=2+krum:f=1")), "clip clip=2 + krum f=1 neighbours=0");
  EXPECT_EQ(describe(make_rule("clip:clip=1e+5+l1-median")), "clip clip=1e+05 + median");
  EXPECT_EQ(describe(make_rule("clip+median:clip=+.5")), "clip clip=0.5 + median");
  EXPECT_EQ(describe(make_rule("arc+bucketing:bucket=3:seed=7+caf:f=auto")),
            "arc f=auto + bucketing bucket=3 seed=7 + caf f=auto");
  const Entry<Rule>& open = find_rule("clip:clip=2+krum");
  EXPECT_EQ(open.name, "clip:clip=2+krum");
  ASSERT_EQ(open.parameters.size(), 2u);
  EXPECT_EQ(open.parameters[0].name, "f");
  EXPECT_EQ(&find_rule("clip:clip=2+krum"), &open);
}

TEST(RuleText, SentencesThatHelp) {
  const auto message = [](const char* text) { return message_of([&] { return make_rule(text); }); };
  EXPECT_EQ(message("nmm+median"), "'nmm' is not a pre-aggregator. Did you mean 'nnm'?");
  EXPECT_EQ(message("nnm+medain"), "'medain' is not an aggregator. Did you mean 'median'?");
  EXPECT_EQ(message("krum+nnm"),
            "'krum' in 'krum+nnm' is an aggregator, which comes last; before it there may be nnm, "
            "bucketing, clip or arc.");
  EXPECT_EQ(message("arc+nnm"),
            "'arc+nnm' ends in nnm, which goes before an aggregator, as in 'nnm+median'.");
  EXPECT_EQ(message("nnm+median:mu=1"), "mu is not a parameter of nnm+median, which has f.");
  EXPECT_EQ(message("clip:f=1+median"), "f is not a parameter of clip, which has clip.");
  EXPECT_EQ(message("krum:f=many"), "f is 'many'; it must be a number or auto.");
  EXPECT_EQ(message("krum:f=-inf"), "f is '-inf'; it must be a number or auto.");
  EXPECT_EQ(message("clip:clip=-1+median"), "clip is -1; it must satisfy 0 < clip < inf.");
  EXPECT_EQ(message("+median"),
            "'+median' has a '+' with nothing before it; parts are joined as in 'nnm+median'.");
  EXPECT_EQ(message("nnm++krum"),
            "'nnm++krum' has a '+' with nothing after it; parts are joined as in 'nnm+median'.");
  EXPECT_EQ(message("median+"),
            "'median+' has a '+' with nothing after it; parts are joined as in 'nnm+median'.");
  EXPECT_EQ(message("krum:Neighbors=3"),
            "Neighbors is not a parameter of krum. Did you mean 'neighbours'?");
  for (const char* const bad :
       {"+median", "nnm+", "nnm++median", "nnm:+median", "+", "nnm+median:"})
    EXPECT_THROW((void)make_rule(bad), Error) << bad;
}

// A value that is given once goes to every part that has the parameter: it means the same there.
TEST(RuleText, ParametersOfOneNameAreAlike) {
  for (const auto& part : pre_aggregators()) {
    for (const auto& method : sample_methods()) {
      for (const Parameter& own : part.parameters) {
        const Parameter* const other = method.find(own.name);
        if (other == nullptr) continue;
        EXPECT_EQ(own.fallback, other->fallback) << part.name << " " << method.name;
        EXPECT_EQ(own.range_text(), other->range_text()) << part.name << " " << method.name;
      }
    }
  }
}

}  // namespace
}  // namespace medgrad
