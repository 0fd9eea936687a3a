// Parameters of a method as options, all from the registry: vclip --tau 0.1, which is
// vclip:tau=0.1.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "command.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"

namespace medgrad::app {

// "step size …: 0 < tau < inf, default 1".
[[nodiscard]] std::string describe(const Parameter& parameter);
// What there is to say about a method: formula, other names, parameters.
[[nodiscard]] std::string method_help(std::string_view name, std::string_view meaning,
                                      std::string_view formula,
                                      std::span<const std::string_view> aliases,
                                      std::span<const Parameter> parameters);
template <class Made>
[[nodiscard]] std::string method_help(const Entry<Made>& entry) {
  return method_help(entry.name, entry.meaning, entry.formula, entry.aliases, entry.parameters);
}

// Throws Error about a parameter that an option gives and the text of a method (or schedule) too.
[[noreturn]] void fail_given_twice(std::string_view text, std::string_view option,
                                   std::string_view parameter);

class ParameterOptions {
 public:
  // One option for every parameter that any of them has. The `taken` ones are options of something
  // else: whoever has those gives them, where they are meant.
  template <class Made>
  void declare(Options& options, std::span<const Entry<Made>> entries,
               std::initializer_list<std::string_view> taken = {}) {
    for (const Entry<Made>& entry : entries) declare(options, entry.parameters, taken);
  }
  void give(std::string_view parameter, const std::string& text);

  // What was given as options; all declared ones, in the order of their names.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& texts() const {
    return given_;
  }
  // The same with what the text of the method gives; an Error where both give a parameter.
  [[nodiscard]] ParameterTexts with(const std::string& method) const;
  // The method with all of it, as text.
  [[nodiscard]] std::string text_with(const std::string& method) const;

  // Runs `make`; an Error about a parameter calls it as it was given: --tau, or tau in
  // 'vclip:tau=-1'.
  template <class Make>
  decltype(auto) named(const std::string& method, Make&& make) const {
    try {
      return make();
    } catch (const Error& error) {
      throw renamed(error, method);
    }
  }

 private:
  void declare(Options& options, std::span<const Parameter> parameters,
               std::initializer_list<std::string_view> taken);
  [[nodiscard]] Error renamed(const Error& error, const std::string& method) const;

  std::map<std::string, std::string, std::less<>> given_;  // stable addresses: options write here
};

}  // namespace medgrad::app
