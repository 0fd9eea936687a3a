// What happens to workers on the way, at given steps: for experiments and tests.
//
//     6:ipm:strength=5@40     worker 6 lies from step 40 on; an attack as in medgrad/attack.h
//     5:bit-flip@80-120       in steps 80 to 119 bits of worker 5's own gradient are flipped
//     4:killed@120-160        worker 4 is gone before its part of step 120, and back in step 160
//     3:stalled@200-240       worker 3 stands still, is left behind, and is back in step 240
//
// Steps are counted from 0. Where workers are simulated, one that is away takes no part in those
// steps. A worker that is a process does it for real: it kills itself (SIGKILL), or stands still
// for four deadlines; when it is back is then for those to say who start it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "medgrad/attack.h"

namespace medgrad::language {

struct Event {
  enum class Kind : std::uint8_t { lies, killed, stalled };
  static constexpr std::uint64_t kForGood = std::numeric_limits<std::uint64_t>::max();

  int worker = 0;
  Kind kind = Kind::lies;
  Attack attack;                          // of one that lies
  std::uint64_t from = 0, to = kForGood;  // the first step, and the first one after it
  std::string text;                       // as it was asked for

  [[nodiscard]] bool at(std::uint64_t step) const { return from <= step && step < to; }
  [[nodiscard]] bool is_away(std::uint64_t step) const { return kind != Kind::lies && at(step); }
  // Is its own gradient damaged, where others make one up?
  [[nodiscard]] bool damages() const {
    return kind == Kind::lies && std::holds_alternative<BitFlip>(attack);
  }
};

// Throws Error, with the subject "events".
[[nodiscard]] Event parse_event(std::string_view text);

// Those of `workers` that take part in a step.
[[nodiscard]] std::vector<int> present(const std::vector<Event>& events, std::size_t workers,
                                       std::uint64_t step);

}  // namespace medgrad::language
