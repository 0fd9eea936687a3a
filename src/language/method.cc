#include "language/method.h"

#include <fmt/core.h>

#include <map>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "language/task_table.h"

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

const Entry<GradientMethod>& find_training_method(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string_view, Entry<GradientMethod>> adapted;
  const Entry<GradientMethod>& entry = find_optimizer(name);
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = adapted.try_emplace(entry.name, entry);
  if (is_new)
    for (Parameter& parameter : found->second.parameters)
      if (parameter.name == "tau") parameter.fallback = training_tau(entry.name);
  return found->second;
}

Method parse_method(std::string_view word) {
  const MethodText given = parse_method_text(word);
  const Entry<GradientMethod>& entry = find_training_method(given.name);
  const ParameterValues values = read_parameters(entry.name, entry.parameters, given.parameters);
  Method method;
  method.word = word;
  method.label = label_of(entry.name, given.name);
  for (const auto& [key, value] : values)
    method.label += fmt::format(", {} = {}", key, entry.find(key)->value_text(value));
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
