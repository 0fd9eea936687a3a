// For mpirun: `mpi_program bits` checks that every rule has the bits of one process, `mpi_program
// traffic` that eight ranks have them at twice the vector, `mpi_program stall` what happens where a
// worker stalls.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "dist/on_all_ranks.h"
#include "medgrad/dist/mpi.h"

int main(int argc, char** argv) {
  using namespace medgrad;
  const std::string what = argc > 1 ? argv[1] : "";
  const auto group = dist::mpi_world();
  try {
    if (what == "bits") {
      const auto n = static_cast<std::size_t>(group->size());
      const auto x = dist_test::vectors<float>(n, 16384 * 2 + 777, 7, true);
      const std::string said = dist_test::differences(*group, dist_test::all_wanted(x), x);
      std::vector<float> values(100, static_cast<float>(group->rank() + 1));
      group->all_reduce(values);
      const auto want = static_cast<float>(n * (n + 1) / 2);
      std::printf("%s", said.c_str());
      if (said.empty() && values[99] == want) std::printf("rank %d is fine\n", group->rank());
    } else if (what == "traffic") {
      const auto x = dist_test::vectors<float>(8, 1 << 17, 3, false);
      const std::string said =
          dist_test::at_twice_the_vector(*group, dist_test::wanted_of_eight(x), x);
      std::printf("%s", said.c_str());
      if (said.empty()) std::printf("rank %d is fine\n", group->rank());
    } else {
      group->set_deadline(std::chrono::milliseconds(500));
      std::vector<float> mine(1000, 1.0f), out(1000);
      if (group->rank() == 1) sleep(20);
      (void)dist::aggregate<float>(*group, Median{}, mine, out);
    }
  } catch (const dist::Lost& error) {
    dist::end_mpi(error.what());
  }
  dist::end_mpi();
}
