#include "medgrad/registry.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "core/range_text.h"

namespace medgrad {
namespace {

// ---- The tables, from the lists -----------------------------------------------------------------

// f<S>() for every alternative S of a variant.
template <class Variant, class F, std::size_t... I>
void for_each_alternative(const F& f, std::index_sequence<I...>) {
  (f.template operator()<std::variant_alternative_t<I, Variant>>(), ...);
}
template <class Variant, class F>
void for_each_alternative(const F& f) {
  for_each_alternative<Variant>(f, std::make_index_sequence<std::variant_size_v<Variant>>());
}

template <class Made, class Variant>
std::vector<Entry<Made>> entries_of() {
  std::vector<Entry<Made>> entries;
  for_each_alternative<Variant>(
      [&]<class S>() { entries.push_back(entry_of<Made, S>(S{}, S::about)); });
  return entries;
}

// Following a stream by a distance: the parameters of the method (tau), then those of the distance
// and those of tau = auto.
template <class Method, class D>
Entry<OnlineMethod> tracking_entry(const Tracking& tracking) {
  const Method prototype{D{}};
  Entry<OnlineMethod> entry = entry_of<OnlineMethod>(prototype, tracking.about);
  for (Parameter& parameter : entry.parameters) {
    if (parameter.name != "tau") continue;
    parameter.meaning = tracking.tau;
    parameter.range = tracking.range;
  }
  const auto append = [&](const std::vector<Parameter>& more) {
    entry.parameters.insert(entry.parameters.end(), more.begin(), more.end());
  };
  append(parameters_of<D>());
  if (tracking.range.automatic) {
    std::vector<Parameter> how = parameters_of<AutomaticTau>();
    for (Parameter& parameter : how) parameter.needs_auto = "tau";
    append(how);
  }
  entry.build = [prototype](const ParameterValues& v) {
    Method method = with_values(prototype, v);
    method.distance = with_values(D{}, v);
    if constexpr (requires { method.automatic; }) method.automatic = with_values(AutomaticTau{}, v);
    return OnlineMethod(std::move(method));
  };
  return entry;
}

std::vector<Entry<OnlineMethod>> make_online_methods() {
  std::vector<Entry<OnlineMethod>> entries;
  for_each_alternative<BuiltInDistance>([&]<class D>() {
    if constexpr (requires { D::proximal; }) {
      entries.push_back(tracking_entry<ProximalPoint, D>(D::proximal));
    } else {
      entries.push_back(tracking_entry<ProximalPoint, D>(
          {{D::about.name, "m <- g + prox_{tau D}(m - g)", D::about.meaning}}));
    }
  });
  for_each_alternative<BuiltInDistance>([&]<class D>() {
    if constexpr (requires { D::subgradient_method; })
      entries.push_back(tracking_entry<Subgradient, D>(D::subgradient_method));
  });
  // Those that are not made of a distance.
  for_each_alternative<OnlineMethod>([&]<class S>() {
    if constexpr (!requires(S s) { s.distance; })
      entries.push_back(entry_of<OnlineMethod, S>(S{}, S::about));
  });
  return entries;
}

// Throws unless `given` is the name of a parameter.
const Parameter& known(std::string_view name, std::span<const Parameter> parameters,
                       const std::string& given) {
  const auto found = std::ranges::find(parameters, given, &Parameter::name);
  if (found != parameters.end()) return *found;
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  const std::string hint = suggestion(given, names);
  throw Error(given, "",
              hint.empty() ? fmt::format("is not a parameter of {}, which has {}", name,
                                         names.empty() ? "none" : one_of(names, "and"))
                           : fmt::format("is not a parameter of {}.{}", name, hint));
}

// Are its values words? (One that may be found from the data is a number, and has at most one word:
// for the value that is to be found.)
bool has_names(const Parameter& parameter) {
  return parameter.words.size() > 0 && !parameter.range.automatic;
}
std::string_view automatic(const Parameter& parameter) {
  return parameter.words.size() > 0 ? *parameter.words.begin() : std::string_view("auto");
}

}  // namespace

// ---- Parameters ---------------------------------------------------------------------------------

std::string Parameter::range_text() const {
  if (has_names(*this)) return one_of({words.begin(), words.end()});
  Range numbers = range;
  numbers.automatic = false;
  return range.automatic ? fmt::format("{}, or {}", numbers.text(name), automatic(*this))
                         : numbers.text(name);
}

std::string Parameter::value_text(double x) const {
  if (range.automatic && x == kAutomaticNumber) return std::string(automatic(*this));
  const bool named = has_names(*this) && range.contains(x);
  return named ? std::string(words.begin()[static_cast<std::size_t>(x)]) : number(x);
}

double Parameter::read(std::string_view text) const {
  if (range.automatic && text == automatic(*this)) return kAutomaticNumber;
  if (has_names(*this)) {
    const auto* const word = std::find(words.begin(), words.end(), text);
    if (word != words.end()) return static_cast<double>(word - words.begin());
  }
  const std::string quoted = fmt::format("'{}'", text);
  double value = 0;
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole_text = stop == digits.data() + digits.size();
  if (error == std::errc::result_out_of_range && whole_text)
    throw Error(std::string(name), quoted, "that is out of range for a number");
  const bool is_auto = range.automatic && value == kAutomaticNumber;  // which has its own word
  if (error != std::errc() || !whole_text || std::isnan(value) || is_auto) {
    const std::string kind =
        range.automatic ? fmt::format("a number or {}", automatic(*this)) : "a number";
    throw Error(std::string(name), quoted,
                fmt::format("it must be {}", has_names(*this) ? range_text() : kind));
  }
  return value;
}

void Parameter::check(double value) const {
  if (range.contains(value)) return;
  throw Error(std::string(name), number(value),
              has_names(*this) ? "it must be " + range_text()
                               : internal::requirement(range, name, automatic(*this)));
}

ParameterValues complete(std::string_view name, std::span<const Parameter> parameters,
                         const ParameterValues& given) {
  for (const auto& [key, value] : given) (void)known(name, parameters, key);
  ParameterValues values;
  for (const Parameter& parameter : parameters) {
    const auto it = given.find(parameter.name);
    if (it == given.end() && parameter.required())
      throw Error(std::string(parameter.name), "",
                  fmt::format("is missing; {} needs it ({})", name, parameter.range_text()));
    const double value = it == given.end() ? parameter.fallback : it->second;
    parameter.check(value);
    values.emplace(parameter.name, value);
  }
  for (const Parameter& parameter : parameters) {
    if (!given.contains(parameter.name) || applies(parameter, values)) continue;
    const Parameter& needed = known(name, parameters, std::string(parameter.needs_auto));
    throw Error(std::string(parameter.name),
                parameter.value_text(given.find(parameter.name)->second),
                fmt::format("it goes with {0} = auto, and {0} is {1}", needed.name,
                            needed.value_text(values.find(needed.name)->second)));
  }
  return values;
}

bool applies(const Parameter& parameter, const ParameterValues& values) {
  const auto needed = values.find(parameter.needs_auto);
  return needed == values.end() || needed->second == kAutomaticNumber;
}

ParameterValues read_parameters(std::string_view name, std::span<const Parameter> parameters,
                                const ParameterTexts& given) {
  ParameterValues values;
  for (const auto& [key, text] : given)
    values.emplace(key, known(name, parameters, key).read(text));
  return values;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '+') continue;
    const char before = i > 0 ? text[i - 1] : ' ', after = i + 1 < text.size() ? text[i + 1] : ' ';
    if (before == '=' || (after >= '0' && after <= '9') || after == '.') continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  if (parts.size() > 1 && std::ranges::any_of(parts, &std::string_view::empty))
    throw Error(
        fmt::format("'{}' has a '+' with nothing {} it; parts are joined as in 'nnm+median'.", text,
                    parts.front().empty() ? "before" : "after"));
  return parts;
}

MethodText parse_method_text(std::string_view text) {
  const auto fail = [&](std::string_view part, std::string_view what) {
    throw Error(fmt::format("'{}'{} {}; a method is written NAME or NAME:parameter=value.", part,
                            part == text ? "" : fmt::format(" in '{}'", text), what));
  };
  MethodText method;
  std::string_view rest = parts_of(text).back();
  const std::string_view before = text.substr(0, text.size() - rest.size());
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view part = rest.substr(0, colon);
    if (part.empty() || colon + 1 == rest.size()) fail(text, "has an empty part");
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (first) {
      method.name = fmt::format("{}{}", before, part);
      continue;
    }
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size())
      fail(part, "has no value");
    if (!method.parameters.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      fail(part, "is given twice");
  }
  return method;
}

// ---- Look-up ------------------------------------------------------------------------------------

std::span<const Entry<AnyDistance>> distances() {
  static const auto table = entries_of<AnyDistance, BuiltInDistance>();
  return table;
}
std::span<const Entry<OnlineMethod>> online_methods() {
  static const auto table = make_online_methods();
  return table;
}
std::span<const Entry<SampleMethod>> sample_methods() {
  static const auto table = entries_of<SampleMethod, SampleMethod>();
  return table;
}
std::span<const Entry<PreAggregator>> pre_aggregators() {
  static const auto table = entries_of<PreAggregator, PreAggregator>();
  return table;
}
std::span<const Entry<NoiseModel>> noises() {
  static const auto table = entries_of<NoiseModel, NoiseModel>();
  return table;
}

const Entry<AnyDistance>& find_distance(std::string_view name) {
  return find_entry(distances(), "a distance", name);
}
const Entry<OnlineMethod>& find_online_method(std::string_view name) {
  return find_entry(online_methods(), "an online method", name);
}
const Entry<SampleMethod>& find_sample_method(std::string_view name) {
  return find_entry(sample_methods(), "an aggregator", name);
}
const Entry<PreAggregator>& find_pre_aggregator(std::string_view name) {
  return find_entry(pre_aggregators(), "a pre-aggregator", name);
}
const Entry<NoiseModel>& find_noise(std::string_view name) {
  return find_entry(noises(), "a noise", name);
}

}  // namespace medgrad
