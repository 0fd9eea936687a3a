#include "language/method.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

// The paper's names for what the registry calls otherwise.
std::string label_of(std::string_view name, std::string_view given) {
  static const std::pair<std::string_view, std::string_view> labels[] = {
      {"momentum", "SGD-M"},
      {"vclip", "VClip"},
      {"cclip", "CClip"},
      {"clipped-mean", "clipped-SGD"},
      {"adam", "Adam"},
      {"sgd", "SGD"},
      {"huber", "Huber"},
      {"sign-sgd", "sign-SGD"},
      {"median-adam", "MedianAdam"},
      {"cclip-adam", "CClip-Adam"}};
  for (const auto& [key, label] : labels)
    if (key == name) return std::string(label);
  return std::string(given);
}

}  // namespace

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) words.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

Method parse_method(std::string_view word) {
  const MethodText given = parse_method_text(word);
  const Entry<GradientMethod>& entry = find_optimizer(given.name);
  ParameterValues values = read_parameters(entry.name, entry.parameters, given.parameters);
  Method method;
  method.word = word;
  method.label = label_of(entry.name, given.name);
  for (const auto& [key, value] : values)
    method.label += fmt::format(", {} = {}", key, entry.find(key)->value_text(value));
  if (entry.find("tau") != nullptr)
    values.try_emplace("tau", entry.name == "momentum" ? 1.0 / 9 : 0.1);
  method.gradient = entry.make(values);
  method.key = entry.name == "momentum"       ? "sgd-m"
               : entry.name == "clipped-mean" ? "clipped-sgd"
                                              : std::string(entry.name);
  method.line = entry.name;
  const ParameterValues all = complete(entry.name, entry.parameters, values);
  for (const auto& [key, value] : all) {
    const Parameter& parameter = *entry.find(key);
    if (!applies(parameter, all)) continue;
    method.line += fmt::format(" {}={}", key, value == kAutomaticNumber ? "auto" : number(value));
  }
  return method;
}

}  // namespace medgrad::language
