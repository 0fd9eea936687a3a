#include "language/team_options.h"

#include <fmt/core.h>

#include <set>

#include "base/remedy.h"
#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "medgrad/sample.h"

namespace medgrad::language {
namespace {

Attack attack_of(const TeamTexts& texts) {
  if (texts.attack.empty())
    throw Error("attack", "",
                fmt::format("is missing; it says what the {}, as in alie",
                            texts.byzantine == 1 ? "liar sends" : "liars send"));
  Attack attack = make_attack(texts.attack);
  if (std::holds_alternative<Silent>(attack))
    throw Error("attack", texts.attack,
                "workers that send nothing are not there; have fewer of them instead");
  return attack;
}

// Those of the texts. In every step the rule must have as many workers as it needs.
std::vector<Event> events_of(const TeamTexts& texts, const Rule& rule) {
  std::vector<Event> events;
  std::set<std::uint64_t> changes;
  for (const std::string& text : texts.events) {
    events.push_back(parse_event(text));
    if (static_cast<std::size_t>(events.back().worker) >= texts.workers)
      throw Error(
          "events", text,
          fmt::format("workers are counted from 0, and the last one is {}", texts.workers - 1));
    changes.insert(events.back().from);
  }
  for (const std::uint64_t step : changes) {
    const std::size_t n = present(events, texts.workers, step).size();
    if (n == 0)
      throw Error("events", texts.events.front(), fmt::format("nobody is left in step {}", step));
    try {
      validate(rule, n);
    } catch (const Error& error) {
      throw Error(fmt::format("In step {} the rule has {}, which is too few: {}", step,
                              counted(n, "worker"), error.what()));
    }
  }
  return events;
}

}  // namespace

const Attack* TeamOptions::lie_of(int worker, std::uint64_t step) const {
  for (const Event& one : events)
    if (one.worker == worker && one.kind == Event::Kind::lies && !one.damages() && one.at(step))
      return &one.attack;
  return static_cast<std::size_t>(worker) + byzantine >= workers ? &attack : nullptr;
}

const BitFlip* TeamOptions::damage_of(int worker, std::uint64_t step) const {
  for (const Event& one : events)
    if (one.worker == worker && one.damages() && one.at(step))
      return &std::get<BitFlip>(one.attack);
  return nullptr;
}

TeamOptions team_options(const TeamTexts& texts) {
  TeamOptions options;
  options.workers = texts.workers;
  options.byzantine = texts.byzantine;
  options.topology = dist::topology_of(texts.topology);
  if (texts.byzantine >= texts.workers)
    throw Error("byzantine", std::to_string(texts.byzantine),
                fmt::format("there {}, and at least one must be honest",
                            texts.workers == 1 ? "is one worker"
                                               : fmt::format("are {} workers", texts.workers)));
  if (texts.byzantine == 0 && !texts.attack.empty())
    throw WithRemedy<Error>([attack = texts.attack](const auto& name) {
      return fmt::format("{} is {}; nobody lies unless {} says how many do.", name("attack"),
                         attack, name("byzantine"));
    });
  if (texts.byzantine > 0) options.attack = attack_of(texts);
  if (texts.f && parse_method_text(texts.aggregate).parameters.contains("f"))
    throw Error("f", std::to_string(*texts.f),
                fmt::format("'{}' gives it too, and one of them is enough", texts.aggregate));
  const bool told = texts.f.has_value() || texts.byzantine > 0;
  options.rule = told ? rule_told(texts.aggregate, texts.f.value_or(texts.byzantine))
                      : make_rule(texts.aggregate);
  validate(options.rule, options.workers);
  options.events = events_of(texts, options.rule);
  return options;
}

}  // namespace medgrad::language
