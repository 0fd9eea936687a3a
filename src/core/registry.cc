#include "medgrad/registry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();

// ---- Parameters, each defined once --------------------------------------------------------------

Parameter positive(std::string_view name, std::string_view meaning, double fallback) {
  return {name, meaning, fallback, 0, kInfinity, true, true};
}
Parameter whole(std::string_view name, std::string_view meaning, double fallback, double min) {
  return {name, meaning, fallback, min, 1e9, false, false, true};
}
Parameter exponent(double fallback) {
  return {"p", "exponent of the norm; inf is allowed", fallback, 1, kInfinity};
}

Parameter tau(std::string_view meaning) { return positive("tau", meaning, 1); }
const Parameter kTauOfVectors = tau("step size: the most that one vector can move the estimate"),
                kTauOfComponents =
                    tau("step size: the most that one vector can move each component");
const Parameter kMu =
    positive("mu", "where the Huber function turns from quadratic to linear", 1.345);
const Parameter kBeta = {"beta", "momentum coefficient", 0.9, 0, 1, false, true};
const Parameter kClip = positive("clip", "largest norm that passes unchanged", 1);
const Parameter kTolerance =
    positive("tol", "certified relative gap to stop at; 1e-8 and less goes on to rounding", 1e-10);
const Parameter kMaxIterations = whole("max-iter", "largest number of iterations", 1000, 1);
const Parameter kAlpha = {"alpha", "tail index; 2 is Gaussian, 1 Cauchy", kRequired, 0, 2, true};
const Parameter kScale = positive("scale", "factor of the standard variable", 1);

int whole_of(const ParameterValues& v, std::string_view name) {
  return static_cast<int>(v.find(name)->second);
}
double of(const ParameterValues& v, std::string_view name) { return v.find(name)->second; }

// ---- The tables ---------------------------------------------------------------------------------

std::vector<Entry<AnyDistance>> make_distances() {
  return {
      {"squared",
       {"half-squared"},
       "1/2 |x|_2^2",
       "tracks the mean",
       {},
       [](const ParameterValues&) { return AnyDistance(Squared{}); }},
      {"l1",
       {},
       "|x|_1",
       "tracks the componentwise median",
       {},
       [](const ParameterValues&) { return AnyDistance(L1{}); }},
      {"l2",
       {},
       "|x|_2",
       "tracks the geometric median",
       {},
       [](const ParameterValues&) { return AnyDistance(L2{}); }},
      {"lp",
       {},
       "|x|_p",
       "tracks the l_p median",
       {exponent(kRequired)},
       [](const ParameterValues& v) { return AnyDistance(Lp(of(v, "p"))); }},
      {"huber",
       {},
       "1/2 |x|^2 up to |x| = mu, then mu |x| - mu^2/2",
       "between the mean and the geometric median",
       {kMu},
       [](const ParameterValues& v) { return AnyDistance(Huber(of(v, "mu"))); }},
  };
}

std::vector<Entry<OnlineMethod>> make_online_methods() {
  return {
      {"momentum",
       {"sgd-m", "squared", "ema"},
       "m <- m + tau/(1+tau) (g - m), beta = 1/(1+tau)",
       "exponential average: tracks the mean",
       {tau("step size; a new vector counts tau/(1+tau)")},
       [](const ParameterValues& v) {
         return ProximalPoint{Squared{}, of(v, "tau")};
       }},
      {"vclip",
       {"l2"},
       "m <- m + min(1, tau/|g-m|) (g - m)",
       "clips the increment as a vector: tracks the geometric median",
       {kTauOfVectors},
       [](const ParameterValues& v) {
         return ProximalPoint{L2{}, of(v, "tau")};
       }},
      {"cclip",
       {"l1"},
       "m <- m + clamp(g - m, -tau, tau)",
       "clips the increment per component: tracks the componentwise median",
       {kTauOfComponents},
       [](const ParameterValues& v) {
         return ProximalPoint{L1{}, of(v, "tau")};
       }},
      {"huber",
       {},
       "m <- m + mu tau / max(|g-m|, mu (1+tau)) (g - m)",
       "momentum for small increments, vclip for large ones",
       {tau("step size; one vector can move the estimate by mu tau at most"), kMu},
       [](const ParameterValues& v) {
         return ProximalPoint{Huber(of(v, "mu")), of(v, "tau")};
       }},
      {"lp",
       {},
       "m <- m + Proj_{|.|_q <= tau}(g - m), 1/p + 1/q = 1",
       "tracks the l_p median",
       {tau("step size: the most that one vector can move the estimate, in the q-norm"),
        exponent(kRequired)},
       [](const ParameterValues& v) {
         return ProximalPoint{Lp(of(v, "p")), of(v, "tau")};
       }},
      {"sign",
       {"sign-sgd"},
       "m <- m + tau sign(g - m)",
       "subgradient step on the 1-norm: tracks the componentwise median",
       {kTauOfComponents},
       [](const ParameterValues& v) {
         return Subgradient{L1{}, of(v, "tau")};
       }},
      {"normalized",
       {"normalised"},
       "m <- m + tau (g - m)/|g-m|",
       "subgradient step on the 2-norm: tracks the geometric median",
       {kTauOfVectors},
       [](const ParameterValues& v) {
         return Subgradient{L2{}, of(v, "tau")};
       }},
      {"clipped-mean",
       {"clipped-sgd"},
       "m <- beta m + (1-beta) min(1, clip/|g|) g",
       "momentum over clipped vectors: tracks the Catoni-Giulini mean",
       {kBeta, kClip},
       [](const ParameterValues& v) {
         return ClippedMean{of(v, "beta"), of(v, "clip")};
       }},
  };
}

std::vector<Entry<SampleMethod>> make_sample_methods() {
  return {
      {"mean",
       {"average"},
       "sum x_i / n",
       "the mean; one bad row moves it anywhere",
       {},
       [](const ParameterValues&) { return Mean{}; }},
      {"median",
       {"l1-median", "componentwise-median"},
       "argmin sum |m - x_i|_1",
       "componentwise median; for even n the midpoint of the two middle values",
       {},
       [](const ParameterValues&) { return Median{}; }},
      {"geometric-median",
       {"l2-median"},
       "argmin sum |m - x_i|_2",
       "the point with the smallest sum of distances",
       {kTolerance, kMaxIterations},
       [](const ParameterValues& v) {
         return GeometricMedian{of(v, "tol"), whole_of(v, "max-iter")};
       }},
      {"lp-median",
       {},
       "argmin sum |m - x_i|_p",
       "median in the p-norm",
       {exponent(kRequired), kTolerance, kMaxIterations},
       [](const ParameterValues& v) {
         return LpMedian{of(v, "p"), of(v, "tol"), whole_of(v, "max-iter")};
       }},
      {"median-of-means",
       {"mom"},
       "l_p median of the means of consecutive blocks of rows",
       "averages within blocks, then takes their median",
       {whole("blocks", "number of blocks; 0 stands for the square root of n, rounded up", 0, 0),
        exponent(2)},
       [](const ParameterValues& v) {
         return MedianOfMeans{static_cast<std::size_t>(of(v, "blocks")), of(v, "p")};
       }},
      {"huber-location",
       {"huber"},
       "argmin sum H_mu(m - x_i)",
       "between the mean and the geometric median",
       {kMu, kTolerance, kMaxIterations},
       [](const ParameterValues& v) {
         return HuberLocation{of(v, "mu"), of(v, "tol"), whole_of(v, "max-iter")};
       }},
      {"trimmed-mean",
       {},
       "per component: mean without the f smallest and f largest",
       "drops the extremes of every component",
       {whole("f", "how many to drop at either end; 2 f < n", 1, 0)},
       [](const ParameterValues& v) { return TrimmedMean{static_cast<std::size_t>(of(v, "f"))}; }},
      {"clipped-mean",
       {"catoni-giulini"},
       "c + sum min(1, clip/|x_i - c|) (x_i - c) / n",
       "mean of the rows clipped around a centre (0, or --center)",
       {kClip},
       [](const ParameterValues& v) { return SampleClippedMean{of(v, "clip")}; }},
  };
}

std::vector<Entry<NoiseModel>> make_noises() {
  return {
      {"stable",
       {"alpha-stable"},
       "E exp(itX) = exp(-|t|^alpha (1 - i beta tan(pi alpha/2) sign t)) in S1",
       "independent stable entries: the paper's heavy-tailed noise",
       {kAlpha,
        {"beta", "skewness", 0, -1, 1},
        kScale,
        {"location", "shift", 0, -kInfinity, kInfinity, true, true},
        {"form", "Nolan's form: 0 for S0, 1 for S1 (--form S0, --form S1)", 0, 0, 1, false, false,
         true}},
       [](const ParameterValues& v) {
         return StableParameters{of(v, "alpha"), of(v, "beta"), of(v, "scale"), of(v, "location"),
                                 of(v, "form") == 0 ? StableForm::S0 : StableForm::S1};
       }},
      {"elliptical",
       {"elliptical-stable", "sub-gaussian"},
       "X = sqrt(A) G, A positive stable, G ~ N(0, I)",
       "stable vectors whose large entries come together",
       {kAlpha, kScale},
       [](const ParameterValues& v) {
         return EllipticalStable{of(v, "alpha"), of(v, "scale"), {}};
       }},
      {"gaussian",
       {"normal"},
       "N(0, scale^2)",
       "light tails, for comparison",
       {kScale},
       [](const ParameterValues& v) { return Gaussian{of(v, "scale")}; }},
      {"cauchy",
       {},
       "f(x) = 1/(pi (1 + x^2))",
       "no mean: stable with alpha = 1",
       {kScale},
       [](const ParameterValues& v) { return Cauchy{of(v, "scale")}; }},
      {"student-t",
       {"student", "t"},
       "f(x) ~ (1 + x^2/df)^{-(df+1)/2}",
       "tails of index df, finite variance for df > 2",
       {positive("df", "degrees of freedom", 3), kScale},
       [](const ParameterValues& v) {
         return StudentT{of(v, "df"), of(v, "scale")};
       }},
      {"pareto",
       {"lomax"},
       "P(|X| > x) = (1 + x)^-index",
       "a power law from 0 on, with a random sign",
       {positive("index", "tail index", 1.5),
        kScale,
        {"symmetric", "1 for a random sign, 0 for X >= 0", 1, 0, 1, false, false, true}},
       [](const ParameterValues& v) {
         return Pareto{of(v, "index"), of(v, "scale"), of(v, "symmetric") != 0};
       }},
      {"contaminated-normal",
       {"contaminated"},
       "(1 - epsilon) N(0, scale^2) + epsilon N(0, (factor scale)^2)",
       "Gaussian with a share of gross errors",
       {{"epsilon", "share of gross errors", 0.1, 0, 1},
        positive("factor", "how much wider they are", 10),
        kScale},
       [](const ParameterValues& v) {
         return ContaminatedNormal{of(v, "epsilon"), of(v, "factor"), of(v, "scale")};
       }},
  };
}

// ---- Look-up ------------------------------------------------------------------------------------

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

bool Parameter::required() const { return std::isnan(fallback); }

std::string Parameter::range() const {
  std::string text;
  if (std::isinf(max) && !max_open) {
    text = std::string(name) + (min_open ? " > " : " >= ") + number(min) + ", inf allowed";
  } else {
    text = number(min) + (min_open ? " < " : " <= ") + std::string(name) +
           (max_open ? " < " : " <= ") + number(max);
  }
  return integer ? text + ", a whole number" : text;
}

void Parameter::check(double value) const {
  const bool low = min_open ? value > min : value >= min;
  const bool high = max_open ? value < max : value <= max;
  if (low && high && (!integer || value == std::floor(value))) return;
  throw Error("--" + std::string(name) + " is " + number(value) + "; it must satisfy " + range() +
              ".");
}

ParameterValues complete(std::string_view name, std::span<const Parameter> parameters,
                         const ParameterValues& given) {
  for (const auto& [key, value] : given) {
    const auto known = std::ranges::find(parameters, key, &Parameter::name);
    if (known == parameters.end()) {
      std::string has;
      for (const Parameter& p : parameters)
        has += (has.empty() ? "--" : ", --") + std::string(p.name);
      throw Error(std::string(name) + " has no --" + key + "; it " +
                  (has.empty() ? "takes no parameters." : "takes " + has + "."));
    }
  }
  ParameterValues values;
  for (const Parameter& parameter : parameters) {
    const auto it = given.find(parameter.name);
    if (it == given.end() && parameter.required()) {
      throw Error(std::string(name) + " needs --" + std::string(parameter.name) + " (" +
                  parameter.range() + ").");
    }
    const double value = it == given.end() ? parameter.fallback : it->second;
    parameter.check(value);
    values.emplace(parameter.name, value);
  }
  return values;
}

std::span<const Entry<AnyDistance>> distances() {
  static const auto table = make_distances();
  return table;
}
std::span<const Entry<OnlineMethod>> online_methods() {
  static const auto table = make_online_methods();
  return table;
}
std::span<const Entry<SampleMethod>> sample_methods() {
  static const auto table = make_sample_methods();
  return table;
}
std::span<const Entry<NoiseModel>> noises() {
  static const auto table = make_noises();
  return table;
}

const Entry<AnyDistance>& find_distance(std::string_view name) {
  return find_entry(distances(), "distance", name);
}
const Entry<OnlineMethod>& find_online_method(std::string_view name) {
  return find_entry(online_methods(), "online method", name);
}
const Entry<SampleMethod>& find_sample_method(std::string_view name) {
  return find_entry(sample_methods(), "aggregator", name);
}
const Entry<NoiseModel>& find_noise(std::string_view name) {
  return find_entry(noises(), "noise", name);
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  return *std::ranges::min_element(
      candidates, {}, [&](std::string_view candidate) { return edit_distance(name, candidate); });
}

}  // namespace medgrad
