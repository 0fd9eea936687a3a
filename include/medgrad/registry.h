// The registry: every distance, online method, sample estimator, pre-aggregator and noise by name,
// with its parameters, made from what each of them says about itself (description.h).
//
// The command line, its help and error texts, experiments, `medgrad list` and docs/methods.md are
// made from it. A new member is a struct under its formula and its name in a list:
// distance_list.h, sample_list.h, or the variants OnlineMethod, PreAggregator and NoiseModel.
//
// A method is written the same everywhere: as text, NAME:parameter=value:parameter=value,
//
//     vclip      vclip:tau=0.1      huber:mu=1.3:tau=0.1      stable:alpha=1.5:form=S1
//
// as JSON, {"name": "vclip", "tau": 0.1}, and as options, vclip --tau 0.1. A rule of several parts
// joins them by '+', the sample estimator last:
//
//     nnm+median:f=2      clip:clip=2+krum:f=1      {"name": "arc+nnm+median", "f": 2}
//
// What follows the last part (or is given as keys or options) goes to every part that has such a
// parameter; what follows another part is that part's own, and goes before. A '+' that begins a
// number or belongs to its power of ten (1e+5) joins nothing.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "medgrad/description.h"
#include "medgrad/estimator.h"
#include "medgrad/noise.h"
#include "medgrad/sample.h"

#pragma GCC visibility push(default)
namespace medgrad {

// A field of a method as the outside sees it: a number with its range.
struct Parameter {
  std::string_view name;     // kebab case, as on the command line: "tau", "max-iter"
  std::string_view meaning;  // "step size of the proximal point method"
  Range range;
  double fallback;                   // the default; NaN where a value has to be given
  Words words = {};                  // the values 0, 1, … by name, where they have names
  std::string_view needs_auto = {};  // the parameter that has to be auto for this one to be given

  [[nodiscard]] bool required() const { return std::isnan(fallback); }
  [[nodiscard]] std::string range_text() const;            // "0 < tau < inf", "S0 or S1"
  [[nodiscard]] std::string value_text(double x) const;    // "0.1", "S1"
  [[nodiscard]] double read(std::string_view text) const;  // "0.1", "inf", "S1"; Error where wrong
  // Throws Error ("tau is -1; it must satisfy …") unless the value is in range.
  void check(double value) const;
};

using ParameterValues = std::map<std::string, double, std::less<>>;
using ParameterTexts = std::map<std::string, std::string, std::less<>>;

// Checks the given values (an unknown name, a missing required one, one out of range or one that
// has no meaning beside the others is an Error that names the parameter) and fills in defaults.
// `name` is whose parameters they are.
[[nodiscard]] ParameterValues complete(std::string_view name, std::span<const Parameter> parameters,
                                       const ParameterValues& given);
// Does a parameter mean anything beside these values (which are complete)?
[[nodiscard]] bool applies(const Parameter& parameter, const ParameterValues& values);
// The values of texts; names must be known, ranges are for complete().
[[nodiscard]] ParameterValues read_parameters(std::string_view name,
                                              std::span<const Parameter> parameters,
                                              const ParameterTexts& given);

// A method with parameters as text, taken apart. Throws Error where it is not of that form. Of a
// rule of several parts, the name is all up to the name of the last part.
struct MethodText {
  std::string name;
  ParameterTexts parameters;
};
[[nodiscard]] MethodText parse_method_text(std::string_view text);
// The parts of "clip:clip=2+krum": "clip:clip=2" and "krum". Throws Error where one is empty.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view text);

template <class Made>
struct Entry {
  std::string_view name;                  // "vclip"
  std::vector<std::string_view> aliases;  // {"l2"}
  std::string_view formula;               // "m <- m + min(1, tau/|g-m|) (g-m)"
  std::string_view meaning;  // "clips the increment as a vector: tracks the geometric median"
  std::vector<Parameter> parameters;
  std::function<Made(const ParameterValues&)> build;  // gets every parameter, checked and filled in

  [[nodiscard]] Made make(const ParameterValues& given) const {
    return build(complete(name, parameters, given));
  }
  [[nodiscard]] const Parameter* find(std::string_view parameter) const {
    const auto found = std::ranges::find(parameters, parameter, &Parameter::name);
    return found == parameters.end() ? nullptr : &*found;
  }
};

[[nodiscard]] std::span<const Entry<AnyDistance>> distances();
[[nodiscard]] std::span<const Entry<OnlineMethod>> online_methods();
[[nodiscard]] std::span<const Entry<SampleMethod>> sample_methods();
[[nodiscard]] std::span<const Entry<PreAggregator>> pre_aggregators();
[[nodiscard]] std::span<const Entry<NoiseModel>> noises();

// The entry of that name or alias; an Error that says what is near, or what there is, where there
// is none.
[[nodiscard]] const Entry<AnyDistance>& find_distance(std::string_view name);
[[nodiscard]] const Entry<OnlineMethod>& find_online_method(std::string_view name);
[[nodiscard]] const Entry<SampleMethod>& find_sample_method(std::string_view name);
[[nodiscard]] const Entry<PreAggregator>& find_pre_aggregator(std::string_view name);
[[nodiscard]] const Entry<NoiseModel>& find_noise(std::string_view name);

// The sample estimators as rules; and the entry of any rule, with those parameters of its parts
// that its name leaves open: find_rule("clip:clip=2+krum") has f and neighbours.
[[nodiscard]] std::span<const Entry<Rule>> rules();
[[nodiscard]] const Entry<Rule>& find_rule(std::string_view name);
// The rule that a text is: make_rule("nnm+median:f=2").
[[nodiscard]] Rule make_rule(std::string_view text);

// The entry of that name or alias in a table of such; an Error as above.
template <class Made>
[[nodiscard]] const Entry<Made>& find_entry(std::span<const Entry<Made>> entries,
                                            std::string_view kind, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Entry<Made>& entry : entries) {
    if (entry.name == name || std::ranges::count(entry.aliases, name) > 0) return entry;
    known.push_back(entry.name);
    known.insert(known.end(), entry.aliases.begin(), entry.aliases.end());
  }
  fail_unknown(kind, name, known);
}

// ---- From a description to an entry -------------------------------------------------------------

// The parameters of S, with the defaults of `prototype`.
template <Described S>
[[nodiscard]] std::vector<Parameter> parameters_of(const S& prototype = {}) {
  std::vector<Parameter> parameters;
  for_each_field<S>([&]<class V>(const Field<S, V>& f) {
    if constexpr (internal::Scalar<V>) {
      const double fallback = f.required ? std::numeric_limits<double>::quiet_NaN()
                                         : internal::to_number(prototype.*f.member);
      parameters.push_back({f.name, f.meaning, f.range, fallback, f.words});
    }
  });
  return parameters;
}

// `prototype` with the values that are given under the names of its parameters.
template <Described S>
[[nodiscard]] S with_values(S prototype, const ParameterValues& values) {
  for_each_field<S>([&]<class V>(const Field<S, V>& f) {
    if constexpr (internal::Scalar<V>) {
      if (const auto found = values.find(f.name); found != values.end())
        prototype.*f.member = internal::from_number<V>(found->second);
    }
  });
  return prototype;
}

template <class Made, Described S>
[[nodiscard]] Entry<Made> entry_of(const S& prototype = {}, const About& about = S::about) {
  return {about.name,
          {about.aliases.begin(), about.aliases.end()},
          about.formula,
          about.meaning,
          parameters_of(prototype),
          [prototype](const ParameterValues& v) { return Made(with_values(prototype, v)); }};
}

}  // namespace medgrad
#pragma GCC visibility pop
