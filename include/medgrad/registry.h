// The registry: every distance, online method, sample estimator and noise by name, with its
// parameters.
//
// The command line, its help and error texts, `medgrad list` and docs/methods.md are made from it.
// To add a member: one class under its formula, one entry here; nothing else needs to know.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "medgrad/noise.h"
#include "medgrad/sample.h"

namespace medgrad {

// A number with its range. `fallback` is the default; NaN where a value has to be given.
struct Parameter {
  std::string_view name;     // kebab case, as on the command line: "tau", "max-iter"
  std::string_view meaning;  // "step size of the proximal point method"
  double fallback;
  double min, max;
  bool min_open = false, max_open = false;  // is the bound itself excluded?
  bool integer = false;

  [[nodiscard]] bool required() const;
  [[nodiscard]] std::string range() const;  // "0 < tau < inf", "p >= 1", "f >= 0 (whole number)"
  // Throws Error ("--tau is -1; it must be …") unless the value is in range.
  void check(double value) const;
};

using ParameterValues = std::map<std::string, double, std::less<>>;

// Checks the given values (an unknown name, a missing required one or one out of range is an Error
// that names `name`) and fills in defaults.
[[nodiscard]] ParameterValues complete(std::string_view name, std::span<const Parameter> parameters,
                                       const ParameterValues& given);

template <class Made>
struct Entry {
  std::string_view name;                  // "vclip"
  std::vector<std::string_view> aliases;  // {"l2-clip"}
  std::string_view formula;               // "m <- m + min(1, tau/|g-m|) (g-m)"
  std::string_view meaning;  // "clips the increment as a vector: tracks the geometric median"
  std::vector<Parameter> parameters;
  std::function<Made(const ParameterValues&)> build;  // gets every parameter, checked and filled in

  [[nodiscard]] Made make(const ParameterValues& given) const {
    return build(complete(name, parameters, given));
  }
};

[[nodiscard]] std::span<const Entry<AnyDistance>> distances();
[[nodiscard]] std::span<const Entry<OnlineMethod>> online_methods();
[[nodiscard]] std::span<const Entry<SampleMethod>> sample_methods();
[[nodiscard]] std::span<const Entry<NoiseModel>> noises();

// The entry of that name or alias; an Error that names the nearest valid one where there is none.
[[nodiscard]] const Entry<AnyDistance>& find_distance(std::string_view name);
[[nodiscard]] const Entry<OnlineMethod>& find_online_method(std::string_view name);
[[nodiscard]] const Entry<SampleMethod>& find_sample_method(std::string_view name);
[[nodiscard]] const Entry<NoiseModel>& find_noise(std::string_view name);

// The candidate with the smallest edit distance to `name`, for "did you mean".
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       std::span<const std::string_view> candidates);

// The entry of that name or alias in a table of such; an Error as above, which calls it a `kind`.
template <class Made>
[[nodiscard]] const Entry<Made>& find_entry(std::span<const Entry<Made>> entries,
                                            std::string_view kind, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Entry<Made>& entry : entries) {
    if (entry.name == name || std::ranges::count(entry.aliases, name) > 0) return entry;
    known.push_back(entry.name);
    known.insert(known.end(), entry.aliases.begin(), entry.aliases.end());
  }
  throw Error("'" + std::string(name) + "' is no " + std::string(kind) + "; the nearest is '" +
              std::string(nearest(name, known)) + "' (medgrad list shows all).");
}

}  // namespace medgrad
