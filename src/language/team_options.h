// How many workers train a model together, by which rule, and who of them lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "language/events.h"
#include "medgrad/attack.h"
#include "medgrad/dist/aggregate.h"
#include "medgrad/pre_aggregators.h"

namespace medgrad::language {

struct TeamOptions {
  std::size_t workers = 1;
  Rule rule;
  dist::Topology topology = dist::Topology::sharded;
  std::size_t byzantine = 0;  // so many, the last ones, lie
  Attack attack;              // what they say
  std::vector<Event> events;  // what happens to whom on the way
  // Of workers that are processes; no number depends on these.
  double deadline = 30;    // seconds that an exchange may take
  std::size_t quorum = 1;  // with fewer the run ends

  // What a worker says in a step in the place of its gradient; nullptr: that.
  [[nodiscard]] const Attack* lie_of(int worker, std::uint64_t step) const;
  // The one of its own gradient, which it computes as ever.
  [[nodiscard]] const BitFlip* damage_of(int worker, std::uint64_t step) const;
};

// What was asked for, in words.
struct TeamTexts {
  std::size_t workers = 1;
  std::string aggregate;              // a rule, as in registry.h: "nnm+median:f=2"
  std::optional<std::size_t> f = {};  // of that; where nothing is said, as many as lie
  std::string topology = "sharded";
  std::size_t byzantine = 0;
  std::string attack = {};               // as in attack.h: "alie:strength=1.5"
  std::vector<std::string> events = {};  // as in events.h: "4:killed@120-160"
};

// Throws Error for what makes no sense; its subject is the name of a member of TeamTexts, or of a
// parameter of the rule or of the attack.
[[nodiscard]] TeamOptions team_options(const TeamTexts& texts);

}  // namespace medgrad::language
