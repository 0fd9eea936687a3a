#include "language/method.h"

#include <algorithm>
#include <charconv>

#include "core/text.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

double value_of(std::string_view word, std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    throw Error(std::string("'").append(text).append("' in '").append(word).append(
        "' is not a number; a method is NAME:parameter=number."));
  return value;
}

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
      {"median-adam", "MedianAdam"}};
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
  if (word.ends_with(':'))
    throw Error(std::string("'").append(word).append(
        "' has nothing after its last colon; a method is NAME:parameter=number."));
  Method method;
  method.word = word;
  std::string_view rest = word;
  const auto take = [&rest] {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view part = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    return part;
  };
  const std::string_view name = take();
  const Entry<GradientMethod>& entry = find_optimizer(name);
  ParameterValues values;
  for (const Parameter& parameter : entry.parameters)
    if (parameter.name == "tau") values["tau"] = entry.name == "momentum" ? 1.0 / 9 : 0.1;
  method.label = label_of(entry.name, name);
  while (!rest.empty()) {
    const std::string_view part = take();
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      throw Error(std::string("'").append(part).append("' in '").append(word).append(
          "' has no value; a method is NAME:parameter=number."));
    const std::string key(part.substr(0, equals));
    values[key] = value_of(word, part.substr(equals + 1));
    method.label.append(", ").append(key).append(" = ").append(number(values[key]));
  }
  method.gradient = entry.make(values);
  method.key = entry.name == "momentum"       ? "sgd-m"
               : entry.name == "clipped-mean" ? "clipped-sgd"
                                              : std::string(entry.name);
  method.line = entry.name;
  for (const auto& [key, value] : complete(entry.name, entry.parameters, values))
    method.line.append(" ").append(key).append("=").append(number(value));
  return method;
}

}  // namespace medgrad::language
