// What methods say about themselves, and what follows from it: one walk over everything registered.
#include "medgrad/description.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "medgrad/attack.h"
#include "medgrad/estimator.h"
#include "medgrad/optimize.h"
#include "medgrad/registry.h"
#include "medgrad/worker.h"
#include "parameter_values.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;
using testing::needed;
using testing::two_values;

// Every parameter arrives: changing it changes the line that tells methods apart, as a value and as
// text; what is out of range is an Error about it; and the text of a method gives the method.
template <class Made>
void check_parameters(std::span<const Entry<Made>> entries) {
  for (const Entry<Made>& entry : entries) {
    const ParameterValues given = needed(entry.parameters);
    std::string text(entry.name);
    for (const Parameter& p : entry.parameters) {
      SCOPED_TRACE(std::string(entry.name) + " " + std::string(p.name));
      const auto [one, other] = two_values(p);
      ParameterValues values = given;
      if (!p.needs_auto.empty()) values[std::string(p.needs_auto)] = kAutomaticNumber;
      values[std::string(p.name)] = one;
      const std::string line = describe(entry.make(values));
      values[std::string(p.name)] = other;
      EXPECT_NE(describe(entry.make(values)), line);
      EXPECT_EQ(p.read(p.value_text(one)), one);
      if (p.needs_auto.empty()) text += ":" + std::string(p.name) + "=" + p.value_text(one);
      for (const double bad : {p.range.min - 1, std::nan("")}) {
        values[std::string(p.name)] = bad;
        try {
          (void)entry.make(values);
          ADD_FAILURE() << bad;
        } catch (const Error& error) {
          EXPECT_EQ(error.subject(), p.name);
          EXPECT_EQ(error.value(), number(bad));
        }
      }
    }
    ParameterValues all;
    for (const Parameter& p : entry.parameters)
      if (p.needs_auto.empty()) all[std::string(p.name)] = two_values(p).first;
    const MethodText parsed = parse_method_text(text);
    EXPECT_EQ(parsed.name, entry.name);
    EXPECT_EQ(
        describe(entry.make(read_parameters(entry.name, entry.parameters, parsed.parameters))),
        describe(entry.make(all)));
  }
}

TEST(Description, EveryParameterOfEveryMethodArrives) {
  check_parameters(distances());
  check_parameters(online_methods());
  check_parameters(sample_methods());
  check_parameters(rules());
  check_parameters(pre_aggregators());
  check_parameters(noises());
  check_parameters(worker_methods());
  check_parameters(attacks());
}

// Of sample gradients, inexact-tau arrives where there are such passes, and only what minimises a
// distance has them.
TEST(Description, EveryParameterOfEveryOptimizerArrives) {
  std::vector<Entry<GradientMethod>> entries(optimizers().begin(), optimizers().end());
  for (const char* const name : {"smgd-nnm+krum", "workers-ef21-top-k+nnm+median"})
    entries.push_back(find_optimizer(name));
  for (Entry<GradientMethod>& entry : entries) {
    const auto made = [&](double inexact, double tau) {
      ParameterValues values = needed(entry.parameters);
      values.insert({{"inexact", inexact}, {"inexact-tau", tau}});
      return describe(entry.make(values));
    };
    if (entry.find("inexact") == nullptr) continue;
    if (message_of([&] { return made(1, 1); }) == "no error") {
      EXPECT_NE(made(1, 1), made(2, 1));
      EXPECT_NE(made(1, 1), made(1, 2));
    }
    std::erase_if(entry.parameters,
                  [](const Parameter& p) { return p.name.starts_with("inexact"); });
    entry.build = [build = entry.build](ParameterValues values) {
      values.insert({{"inexact", 0}, {"inexact-tau", 1}});
      return build(values);
    };
  }
  check_parameters(std::span<const Entry<GradientMethod>>(entries));
}

// One default: what the struct has is what the registry has.
template <class Variant, std::size_t... I>
void check_defaults(std::span<const Entry<Variant>> entries, std::index_sequence<I...>) {
  const auto check_one = [&]<class S>(const S& made) {
    const auto& entry = find_entry(entries, "an entry", S::about.name);
    if (needed(entry.parameters).empty()) {
      EXPECT_EQ(describe(entry.make({})), describe(made));
    }
  };
  (check_one(std::variant_alternative_t<I, Variant>{}), ...);
}

TEST(Description, DefaultsAreThoseOfTheStructs) {
  check_defaults<SampleMethod>(sample_methods(),
                               std::make_index_sequence<std::variant_size_v<SampleMethod>>());
  check_defaults<PreAggregator>(pre_aggregators(),
                                std::make_index_sequence<std::variant_size_v<PreAggregator>>());
  check_defaults<NoiseModel>(noises(), std::make_index_sequence<std::variant_size_v<NoiseModel>>());
  EXPECT_EQ(describe(find_online_method("vclip").make({})), describe(ProximalPoint{L2{}}));
  EXPECT_EQ(describe(find_online_method("huber").make({})), describe(ProximalPoint{Huber{}}));
  EXPECT_EQ(describe(find_online_method("clipped-mean").make({})), describe(ClippedMean{}));
}

TEST(Description, Lines) {
  EXPECT_EQ(describe(OnlineMethod(ProximalPoint{Huber(2), 0.5})),
            "proximal-point huber mu=2 tau=0.5");
  EXPECT_EQ(state_line(ProximalPoint{Huber(2), 0.5}), "proximal-point huber mu=2");
  EXPECT_EQ(state_line(ClippedMean{0.5, 2}), "clipped-mean beta=0.5 clip=2");
  EXPECT_EQ(describe(OnlineMethod(ProximalPoint{Huber(2), kAutomaticNumber, {0.5, 0.3, 0.1}})),
            "proximal-point huber mu=2 tau=auto theta=0.5 level=0.3 rate=0.1");
  EXPECT_EQ(state_line(ProximalPoint{L1{}, kAutomaticNumber, {0.5, 0.3, 0.1}}),
            "proximal-point l1 tau=auto level=0.3 rate=0.1");
  EXPECT_EQ(describe(NoiseModel(StableParameters{1.5, 0, 1, 0, StableForm::S1})),
            "stable alpha=1.5 beta=0 scale=1 location=0 form=S1");
  EXPECT_EQ(describe(NoiseModel(EllipticalStable{1.5, 1, {1, 0, 0, 1}})),
            "elliptical alpha=1.5 scale=1 [1 0 0 1]");
}

TEST(Description, ErrorsHaveParts) {
  const Error error("tau", "-1", "it must satisfy 0 < tau < inf");
  EXPECT_STREQ(error.what(), "tau is -1; it must satisfy 0 < tau < inf.");
  EXPECT_STREQ(error.called("--tau").what(), "--tau is -1; it must satisfy 0 < tau < inf.");
  EXPECT_STREQ(error.called("'tau'").at("a.json:3").what(),
               "a.json:3: 'tau' is -1; it must satisfy 0 < tau < inf.");
  EXPECT_STREQ(Error("mu", "", "is missing").at("x").what(), "x: mu is missing.");
  EXPECT_STREQ(Error("mu", "", "is none. Did you mean 'nu'?").what(),
               "mu is none. Did you mean 'nu'?");
  const Error plain("There are no rows.");
  EXPECT_STREQ(plain.called("--tau").what(), "There are no rows.");
  EXPECT_STREQ(plain.at("a.csv").what(), "a.csv: There are no rows.");
  EXPECT_TRUE(plain.subject().empty());
}

TEST(Description, Ranges) {
  EXPECT_EQ(range::positive.text("tau"), "0 < tau < inf");
  EXPECT_EQ(range::exponent.text("p"), "p >= 1, inf allowed");
  EXPECT_EQ(range::whole(0, 5).text("f"), "a whole number from 0 to 5");
  EXPECT_EQ(range::whole(1, 1e12).text("f"), "a whole number from 1 to 1e12");
  EXPECT_EQ(range::or_auto(range::whole(0)).text("f"), "a whole number from 0 to 1e9, or auto");
  EXPECT_EQ(message_of([] { check("f", 0.5, range::whole(0, 5)); }),
            "f is 0.5; it must be a whole number from 0 to 5.");
  EXPECT_EQ(message_of([] { check("tau", -1, range::or_auto(range::positive)); }),
            "tau is -1; it must satisfy 0 < tau < inf, or be auto.");
  EXPECT_TRUE(range::exponent.contains(kInfinity));
  EXPECT_FALSE(range::positive.contains(kInfinity));
  EXPECT_FALSE(range::positive.contains(0));
  EXPECT_FALSE(range::finite.contains(-kInfinity));
  EXPECT_FALSE(range::share.contains(std::nan("")));
  EXPECT_FALSE(range::whole(0).contains(0.5));
  EXPECT_FALSE(range::decay.contains(1));
}

TEST(Description, MethodsAsText) {
  const MethodText method = parse_method_text("huber:mu=1.3:tau=0.1");
  EXPECT_EQ(method.name, "huber");
  EXPECT_EQ(method.parameters, (ParameterTexts{{"mu", "1.3"}, {"tau", "0.1"}}));
  EXPECT_EQ(parse_method_text("median").parameters.size(), 0u);
  for (const char* const bad : {"", ":", "vclip:", "vclip::tau=1", "vclip:tau",
                                "vclip:tau=", "vclip:=1", ":tau=1", "vclip:tau=1:tau=2"})
    EXPECT_THROW((void)parse_method_text(bad), Error) << bad;
  EXPECT_EQ(message_of([] { return parse_method_text("vclip:tau"); }),
            "'tau' in 'vclip:tau' has no value; a method is written NAME or NAME:parameter=value.");
  EXPECT_EQ(message_of([] { return parse_method_text("vclip:"); }),
            "'vclip:' has an empty part; a method is written NAME or NAME:parameter=value.");
  const Entry<OnlineMethod>& vclip = find_online_method("vclip");
  EXPECT_EQ(message_of([&] {
              return read_parameters("vclip", vclip.parameters, {{"tau", "fast"}});
            }),
            "tau is 'fast'; it must be a number or auto.");
  EXPECT_EQ(message_of([&] {
              return read_parameters("vclip", vclip.parameters, {{"tau", "1e999"}});
            }),
            "tau is '1e999'; that is out of range for a number.");
  EXPECT_EQ(message_of([] { return find_online_method("momentum").find("tau")->read("auto"); }),
            "tau is 'auto'; it must be a number.");
  EXPECT_EQ(message_of([&] {
              return vclip.make({{"theta", 0.2}});
            }),
            "theta is 0.2; it goes with tau = auto, and tau is 1.");
  EXPECT_EQ(message_of([&] {
              return vclip.make({{"tau", kAutomaticNumber}, {"level", 1}});
            }),
            "level is 1; it must satisfy 0 < level < 1.");
}

// ---- Distances of one's own ---------------------------------------------------------------------

struct Shrink {
  static constexpr About about{"shrink", "(a/2) |x|^2", "a mean, with a stiffness"};
  static constexpr auto fields() {
    return std::tuple(field("a", &Shrink::a, range::positive, "stiffness"));
  }
  double a = 1;

  template <class T>
  void prox(double tau, std::span<const T> x, std::span<T> out) const {
    for (std::size_t i = 0; i < x.size(); ++i)
      out[i] = static_cast<T>(static_cast<double>(x[i]) / (1 + a * tau));
  }
};

struct Vanish {  // the same shape, another name
  static constexpr About about{"vanish", "0 at 0, else infinity", "follows every vector"};
  static constexpr auto fields() {
    return std::tuple(field("a", &Vanish::a, range::positive, "not used"));
  }
  double a = 1;

  void prox(double, std::span<const double>, std::span<double> out) const {
    for (double& x : out) x = 0;
  }
};

struct Unnamed {
  void prox(double, std::span<const double> x, std::span<double> out) const {
    std::copy(x.begin(), x.end(), out.begin());
  }
};

std::string saved(const OnlineMethod& method) {
  OnlineEstimator<double> estimator(method, 2);
  estimator.update(std::vector<double>{1, 2});
  std::ostringstream out;
  estimator.save(out);
  return out.str();
}

TEST(UserDistance, NameAndParametersAreWhatIsSaved) {
  const std::string state = saved(ProximalPoint{Shrink{2}, 0.5});
  const auto loads = [&](const OnlineMethod& method) {
    OnlineEstimator<double> estimator(method, 2);
    std::istringstream in(state);
    return message_of([&] { return estimator.load(in), 0; }) == "no error";
  };
  EXPECT_TRUE(loads(ProximalPoint{Shrink{2}, 0.5}));
  EXPECT_TRUE(loads(ProximalPoint{Shrink{2}, 0.7}));  // tau comes with the state
  EXPECT_FALSE(loads(ProximalPoint{Shrink{3}, 0.5}));
  EXPECT_FALSE(loads(ProximalPoint{Vanish{2}, 0.5}));
  EXPECT_FALSE(loads(ProximalPoint{Squared{}, 0.5}));
  EXPECT_EQ(AnyDistance(Shrink{2}).name(), "shrink");
}

TEST(UserDistance, WithoutANameItCanBeUsedButNotSaved) {
  OnlineEstimator<double> estimator(ProximalPoint{Unnamed{}, 1}, 2);
  EXPECT_NO_THROW(estimator.update(std::vector<double>{1, 2}));
  std::ostringstream out;
  EXPECT_NE(message_of([&] { return estimator.save(out), 0; }).find("has no name"),
            std::string::npos);
  EXPECT_TRUE(out.str().empty());
}

TEST(UserDistance, WhatItLacksIsAnError) {
  const AnyDistance vanish = Vanish{};
  std::vector<float> x = {1, 2};
  EXPECT_FALSE(vanish.has_prox<float>());
  EXPECT_EQ(message_of([&] { return prox(vanish, 1, x, x), 0; }),
            "the distance 'vanish' has no prox for float.");
  std::vector<double> y = {1, 2};
  EXPECT_THROW(vanish.subgradient(std::span<const double>(y), std::span<double>(y)), Error);
  EXPECT_EQ(message_of([] {
              return OnlineEstimator<float>(ProximalPoint{Vanish{}, 1}, 2), 0;
            }),
            "the distance 'vanish' has no prox for float.");
}

TEST(Ranges, VectorsNeedNoSpans) {
  const std::vector<double> x = {3, -4};
  std::vector<double> out(2);
  prox(L2{}, 1, x, out);
  EXPECT_NEAR(out[0], 2.4, 1e-15);
  EXPECT_EQ(norm(2, x), 5);
  EXPECT_EQ(value(L1{}, x), 7);
  subgradient(L2{}, x, out);
  EXPECT_NEAR(out[0], 0.6, 1e-15);
  EXPECT_NEAR(out[1], -0.8, 1e-15);
  subgradient(AnyDistance(L1{}), x, std::span(out));
  EXPECT_EQ(out, (std::vector<double>{1, -1}));
  project_dual(L1{}, 3.5, x, out);
  EXPECT_EQ(out, (std::vector<double>{3, -3.5}));
  std::array<float, 2> small = {3, -4};
  project_dual(L2{}, 1, small, small);
  EXPECT_NEAR(small[1], -0.8, 1e-7);
  project_ball(2, 1, x, out);
  EXPECT_NEAR(out[1], -0.8, 1e-15);
  aggregate(Median{}, Rows(x, 2, 1), std::span(out).first(1));
  EXPECT_EQ(out[0], -0.5);
}

}  // namespace
}  // namespace medgrad
