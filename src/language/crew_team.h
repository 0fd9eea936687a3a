// Workers that are processes of their own, which come and go (medgrad/torch/crew.h).
#pragma once

#include <memory>

#include "language/team.h"
#include "medgrad/torch/world.h"

namespace medgrad::language {

// Where all meet, and which of them this one is. gather() throws TooFew where fewer are left than
// the quorum or the rule needs; combine() throws Error on a worker that is about something else
// than the others, and on those dist::Lost.
[[nodiscard]] std::unique_ptr<Team> make_crew_team(const TeamOptions& options,
                                                   const libtorch::World& world);

}  // namespace medgrad::language
