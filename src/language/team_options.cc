#include "language/team_options.h"

#include <fmt/core.h>

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

}  // namespace

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
    throw Error("attack", texts.attack, "nobody lies unless byzantine says how many do");
  if (texts.byzantine > 0) options.attack = attack_of(texts);
  const bool told = texts.f.has_value() || texts.byzantine > 0;
  options.rule = told ? rule_told(texts.aggregate, texts.f.value_or(texts.byzantine))
                      : make_rule(texts.aggregate);
  validate(options.rule, options.workers);
  return options;
}

}  // namespace medgrad::language
