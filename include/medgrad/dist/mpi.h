// MPI as an engine, for clusters that have it; in a library of its own (medgrad_mpi): only programs
// that train on MPI link it.
//
// MPI cannot go on without a rank that dies: mpirun ends the whole job, and the others learn
// nothing. A rank that stalls is noticed at the deadline. Either way what is left is to end with a
// sentence (end_mpi), and to start again from the last checkpoint.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "medgrad/dist/communicator.h"

namespace medgrad::dist {

// Has mpirun started this process?
[[nodiscard]] bool started_by_mpi();

// All ranks that mpirun started. Initialises MPI if nobody has. Once `stop` is set, exchanges with
// a deadline are lost: where a rank dies mpirun asks the others to end, and kills them soon after.
[[nodiscard]] std::unique_ptr<Communicator> mpi_world(const std::atomic<bool>* stop = nullptr);

// Call it last, on every rank: finalises MPI. With a sentence it says that on standard error and
// ends the whole job with exit code 1, from any rank.
void end_mpi();
[[noreturn]] void end_mpi(const std::string& sentence);

}  // namespace medgrad::dist
