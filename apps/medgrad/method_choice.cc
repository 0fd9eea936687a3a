#include "method_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "medgrad/attack.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "text.h"

namespace medgrad::app {

template <class Made>
void MethodChoice<Made>::declare(Options& options) {
  std::string lower = kind_;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  options.argument(kind_, name_, "one of the " + lower + "s below");
  std::vector<std::string> names;
  for (const Entry<Made>& entry : entries_) names.emplace_back(entry.name);
  options.offer(kind_, names);
  parameters_.declare(options, entries_, {"seed"});
  parameters_.declare(options, before_, {"seed"});
}

template <class Made>
void MethodChoice<Made>::give_seed(const std::string& text) {
  const bool own =
      entry().find("seed") != nullptr && !parse_method_text(name_).parameters.contains("seed");
  if (own && !text.empty()) parameters_.give("seed", text);
}

template <class Made>
const Entry<Made>& MethodChoice<Made>::entry() const {
  if (name_.empty()) {
    std::string names;
    for (const Entry<Made>& e : entries_)
      names += (names.empty() ? "" : ", ") + std::string(e.name);
    throw Error(fmt::format("{} is missing; it must be one of {}.", kind_, names));
  }
  return named([&]() -> const Entry<Made>& { return find_(parse_method_text(name_).name); });
}

template <class Made>
void MethodChoice<Made>::give(std::string_view parameter, const std::string& text) {
  parameters_.give(parameter, text);
}

template <class Made>
bool MethodChoice<Made>::given(std::string_view parameter) const {
  return parameters_.with(name_).contains(parameter);
}

template <class Made>
Made MethodChoice<Made>::make() const {
  const Entry<Made>& chosen = entry();
  const ParameterTexts texts = parameters_.with(name_);
  return named([&] { return chosen.make(read_parameters(chosen.name, chosen.parameters, texts)); });
}

namespace {

// All members of a table with the names of their parameters.
template <class Made>
std::vector<TextRow> member_rows(std::span<const Entry<Made>> entries) {
  std::vector<TextRow> members;
  for (const Entry<Made>& e : entries) {
    std::string names;
    for (const Parameter& parameter : e.parameters)
      names += (names.empty() ? " [--" : " --") + std::string(parameter.name);
    members.emplace_back(e.name, std::string(e.meaning) + (names.empty() ? "" : names + "]") +
                                     "\n" + std::string(e.formula));
  }
  return members;
}

}  // namespace

template <class Made>
std::string MethodChoice<Made>::help() const {
  if (!name_.empty()) return method_help(entry());
  std::string text =
      "\n" + kind_ + "s, each with its parameters:\n" + columns(member_rows(entries_));
  if (!before_.empty()) {
    text += "\nbefore a " + kind_ + ", joined by '+' as in nnm+median or clip:clip=2+krum:\n" +
            columns(member_rows(before_));
  }
  return text + "\nparameters, for those that have them:\n" + columns(parameter_rows());
}

// One row per parameter; where members mean different things by one name, a row for each of them.
template <class Made>
std::vector<TextRow> MethodChoice<Made>::parameter_rows() const {
  std::vector<TextRow> rows;
  for (const auto& [name, text] : parameters_.texts()) {
    std::map<std::string, std::string> members_by_meaning;
    const auto add = [&, &key = name](const auto& e) {
      for (const Parameter& parameter : e.parameters) {
        if (parameter.name != key) continue;
        std::string& members = members_by_meaning[describe(parameter)];
        members += (members.empty() ? "" : ", ") + std::string(e.name);
      }
    };
    std::ranges::for_each(entries_, add);
    std::ranges::for_each(before_, add);
    for (const auto& [meaning, members] : members_by_meaning) {
      std::string right = members_by_meaning.size() > 1 ? members + ": " : "";
      right += meaning;
      rows.emplace_back("--" + name + " X", right);
    }
  }
  return rows;
}

template class MethodChoice<AnyDistance>;
template class MethodChoice<OnlineMethod>;
template class MethodChoice<Rule>;
template class MethodChoice<Attack>;

}  // namespace medgrad::app
