// Workers that mpirun started, where this program was built with MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "language/team.h"

namespace medgrad::app {

// How many mpirun started; 0 where it started none. Throws Error where it did and this program has
// no MPI.
[[nodiscard]] std::size_t mpi_workers();
// Their team, for as long as nobody is lost.
[[nodiscard]] std::unique_ptr<language::Team> make_mpi_team(const language::TeamOptions& options);
// Last, on all of them. With a sentence: it has failed; `leads` is whether this process says why
// and ends all others, which wait for that.
void end_mpi_team();
[[noreturn]] void end_mpi_team(const std::string& sentence, bool leads);

}  // namespace medgrad::app
