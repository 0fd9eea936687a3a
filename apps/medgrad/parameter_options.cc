#include "parameter_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "text.h"

namespace medgrad::app {

std::string describe(const Parameter& parameter) {
  return fmt::format(
      "{} ({}; {})", parameter.meaning, parameter.range_text(),
      parameter.required() ? "required" : "default " + parameter.value_text(parameter.fallback));
}

std::string method_help(std::string_view name, std::string_view meaning, std::string_view formula,
                        std::span<const std::string_view> aliases,
                        std::span<const Parameter> parameters) {
  std::vector<TextRow> rows = {{"formula", std::string(formula)}};
  std::string others;
  for (const std::string_view alias : aliases)
    others += (others.empty() ? "" : ", ") + std::string(alias);
  if (!others.empty()) rows.emplace_back("also", others);
  for (const Parameter& parameter : parameters)
    rows.emplace_back(fmt::format("--{} X", parameter.name), describe(parameter));
  return fmt::format("\n{}\n{}", wrapped(fmt::format("{}: {}", name, meaning), 2), columns(rows));
}

void fail_given_twice(std::string_view text, std::string_view option, std::string_view parameter) {
  throw Error(fmt::format("'{}' and {} both give {}; give it once.", text, option, parameter));
}

void ParameterOptions::declare(Options& options, std::span<const Parameter> parameters,
                               std::initializer_list<std::string_view> taken) {
  for (const Parameter& parameter : parameters) {
    const auto [it, is_new] = given_.try_emplace(std::string(parameter.name));
    if (is_new && std::ranges::find(taken, parameter.name) == taken.end())
      options.value("--" + it->first, it->second, "X", "");
  }
}

void ParameterOptions::give(std::string_view parameter, const std::string& text) {
  given_[std::string(parameter)] = text;
}

ParameterTexts ParameterOptions::with(const std::string& method) const {
  ParameterTexts all = parse_method_text(method).parameters;
  for (const auto& [name, text] : given_)
    if (!text.empty() && !all.emplace(name, text).second)
      fail_given_twice(method, "--" + name, name);
  return all;
}

std::string ParameterOptions::text_with(const std::string& method) const {
  (void)with(method);
  std::string text = method;
  for (const auto& [name, value] : given_)
    if (!value.empty()) text += fmt::format(":{}={}", name, value);
  return text;
}

// One that was not given at all could be: as an option.
Error ParameterOptions::renamed(const Error& error, const std::string& method) const {
  const std::string& subject = error.subject();
  if (subject.empty()) return error;
  const auto option = given_.find(subject);
  const bool as_option = option != given_.end() && !option->second.empty();
  const bool in_text = method.find(fmt::format(":{}=", subject)) != std::string::npos;
  if (as_option || !in_text) return error.called("--" + subject);
  return error.called(fmt::format("{} in '{}'", subject, method));
}

}  // namespace medgrad::app
