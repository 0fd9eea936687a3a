// Rules by name: of one part, or of several that are put together when they are asked for.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"

namespace medgrad {
namespace {

Entry<Rule> rule_of(const Entry<SampleMethod>& from) {
  return {
      from.name,       from.aliases,
      from.formula,    from.meaning,
      from.parameters, [build = from.build](const ParameterValues& v) {
            return Rule(build(v)); }};
}

// A part with the parameters that its text gives, and those that it leaves open.
template <class Made>
struct Bound {
  const Entry<Made>* entry = nullptr;
  ParameterValues given;

  Bound(const Entry<Made>& from, const ParameterTexts& texts)
      : entry(&from), given(read_parameters(from.name, from.parameters, texts)) {
    for (const auto& [name, value] : given) from.find(name)->check(value);
  }
  void add_open(std::vector<Parameter>& parameters) const {
    for (const Parameter& one : entry->parameters) {
      const bool known = std::ranges::count(parameters, one.name, &Parameter::name) > 0;
      if (!known && !given.contains(one.name)) parameters.push_back(one);
    }
  }
  [[nodiscard]] Made make(const ParameterValues& all) const {
    ParameterValues own = given;
    for (const Parameter& one : entry->parameters)
      if (const auto found = all.find(one.name); found != all.end()) own.emplace(*found);
    return entry->make(own);
  }
};

// An entry and the texts that it has views of.
struct Composed {
  std::string name, formula, meaning;
  Entry<Rule> entry;
};

const Entry<PreAggregator>& find_first(const std::string& name, std::string_view text) {
  const auto is_it = [&](const auto& e) {
    return e.name == name || std::ranges::count(e.aliases, name) > 0;
  };
  if (std::ranges::any_of(sample_methods(), is_it)) {
    std::vector<std::string_view> names;
    for (const auto& e : pre_aggregators()) names.push_back(e.name);
    throw Error(
        fmt::format("'{}' in '{}' is an aggregator, which comes last; before it there may be {}.",
                    name, text, one_of(names)));
  }
  return find_pre_aggregator(name);
}

const Entry<SampleMethod>& find_last(const std::string& name, std::string_view text) {
  const auto is_it = [&](const auto& e) { return e.name == name; };
  if (std::ranges::any_of(pre_aggregators(), is_it)) {
    throw Error(fmt::format("'{}' ends in {}, which goes before an aggregator, as in '{}+median'.",
                            text, name, name));
  }
  return find_sample_method(name);
}

std::unique_ptr<Composed> compose(std::string_view text) {
  const std::vector<std::string_view> parts = parts_of(text);
  std::vector<Bound<PreAggregator>> before;
  for (const std::string_view part : std::span(parts).first(parts.size() - 1)) {
    const MethodText own = parse_method_text(part);
    before.emplace_back(find_first(own.name, text), own.parameters);
  }
  const MethodText own = parse_method_text(parts.back());
  const Bound<SampleMethod> last(find_last(own.name, text), own.parameters);

  auto made = std::make_unique<Composed>();
  made->name = text;
  Entry<Rule>& entry = made->entry;
  for (const auto& part : before) {
    made->formula += fmt::format("{}; ", part.entry->formula);
    made->meaning += fmt::format("{}, then ", part.entry->name);
    part.add_open(entry.parameters);
  }
  made->formula += last.entry->formula;
  made->meaning += fmt::format("{}: {}", last.entry->name, last.entry->meaning);
  last.add_open(entry.parameters);
  entry.name = made->name;
  entry.formula = made->formula;
  entry.meaning = made->meaning;
  entry.build = [before, last](const ParameterValues& v) {
    Rule rule;
    for (const auto& part : before) rule.before.push_back(part.make(v));
    rule.method = last.make(v);
    return rule;
  };
  return made;
}

}  // namespace

std::span<const Entry<Rule>> rules() {
  static const std::vector<Entry<Rule>> table = [] {
    std::vector<Entry<Rule>> entries;
    for (const auto& method : sample_methods()) entries.push_back(rule_of(method));
    return entries;
  }();
  return table;
}

const Entry<Rule>& find_rule(std::string_view name) {
  if (parts_of(name).size() == 1) {
    return find_entry(rules(), "an aggregator", find_last(std::string(name), name).name);
  }
  // Entries live as long as the program, as those of the tables do; one for every text.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Composed>, std::less<>> composed;
  const std::lock_guard lock(mutex);
  const auto found = composed.find(name);
  if (found != composed.end()) return found->second->entry;
  return composed.emplace(name, compose(name)).first->second->entry;
}

Rule make_rule(std::string_view text) {
  const MethodText given = parse_method_text(text);
  // Nobody else sees the entry of a rule of several parts, so it goes with this call: a program may
  // come up with any number of texts.
  const auto own = parts_of(given.name).size() > 1 ? compose(given.name) : nullptr;
  const Entry<Rule>& entry = own != nullptr ? own->entry : find_rule(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

}  // namespace medgrad
