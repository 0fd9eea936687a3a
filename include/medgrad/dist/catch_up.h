// After a group has changed: do all speak of the same, and everybody comes to where the one is who
// is farthest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "medgrad/dist/aggregate.h"
#include "medgrad/dist/communicator.h"

#pragma GCC visibility push(default)
namespace medgrad::dist {

// Something that has to be the same for all, by name.
struct Setting {
  std::string name, value;
};

// Throws Unfit, on all ranks alike, where some have other settings than most: the ranks that do,
// and which settings those are. Of as many the side of the lowest rank counts.
void check_settings(Communicator& group, std::span<const Setting> mine);

// Says how many steps this worker has taken (nothing: it is new, and has no state to speak of).
// Those who are not as far as the farthest get the state of one who is, the lowest rank of them,
// whose `save` makes it; for the others there is nothing to do. Where nobody has a state, rank 0
// gives its own. A step that some have taken and others have lost is thus taken once.
//
// What a worker gets goes to its `load`, which throws where it cannot be used; nor can what is far
// longer than its own `save` would be, or was damaged. Where most of those who get it, and of the
// one who sends it, find it good, the others are Unfit, and else the sender is, on all ranks alike;
// of as many the side of the lowest rank counts. Returns whether this worker got a state.
bool catch_up(Communicator& group, std::optional<std::uint64_t> steps,
              const std::function<std::string()>& save,
              const std::function<void(const std::string&)>& load);

}  // namespace medgrad::dist
#pragma GCC visibility pop
