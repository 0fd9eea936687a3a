#include "torch/mpi_team.h"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "language/group_team.h"
#include "medgrad/error.h"
#include "stop.h"
#ifdef MEDGRAD_MPI
#include "medgrad/dist/mpi.h"
#endif

namespace medgrad::app {

#ifdef MEDGRAD_MPI

namespace {

// MPI is initialised once; it says how many there are before it is known what they do.
std::unique_ptr<dist::Communicator>& world() {
  static std::unique_ptr<dist::Communicator> all = dist::mpi_world(&stop_requested());
  return all;
}

}  // namespace

std::size_t mpi_workers() {
  return dist::started_by_mpi() ? static_cast<std::size_t>(world()->size()) : 0;
}

std::unique_ptr<language::Team> make_mpi_team(const language::TeamOptions& options) {
  return language::make_group_team(options, std::move(world()));
}

void end_mpi_team() { dist::end_mpi(); }

void end_mpi_team(const std::string& sentence, bool leads) {
  constexpr auto kPatience = std::chrono::seconds(20);
  if (!leads) std::this_thread::sleep_for(kPatience);  // the one that saves ends all
  dist::end_mpi(sentence);
}

#else

std::size_t mpi_workers() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && std::getenv("PMI_SIZE") == nullptr)
    return 0;
  throw Error(
      "mpirun has started this program, which was built without MPI (libopenmpi-dev); start "
      "workers "
      "with medgrad launch or torchrun.");
}

std::unique_ptr<language::Team> make_mpi_team(const language::TeamOptions&) { return nullptr; }
void end_mpi_team() {}
void end_mpi_team(const std::string& sentence, bool) { throw std::runtime_error(sentence); }

#endif

}  // namespace medgrad::app
