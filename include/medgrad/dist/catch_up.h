// After a group has changed: everybody comes to where the one is who is farthest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "medgrad/dist/communicator.h"

#pragma GCC visibility push(default)
namespace medgrad::dist {

// Says how many steps this worker has taken (nothing: it is new, and has no state to speak of).
// Those who are not as far as the farthest get the state of one who is, the lowest rank of them,
// whose `save` makes it; for the others there is nothing to do, and the result is empty. Where
// nobody has a state, rank 0 gives its own. A step that some have taken and others have lost is
// thus taken once.
[[nodiscard]] std::optional<std::string> catch_up(Communicator& group,
                                                  std::optional<std::uint64_t> steps,
                                                  const std::function<std::string()>& save);

}  // namespace medgrad::dist
#pragma GCC visibility pop
