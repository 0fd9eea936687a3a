// Where a worker finds the others: what its launcher has put into the environment.
//
//     MEDGRAD_STORE               a file where workers of one machine meet (medgrad launch)
//     MASTER_ADDR, MASTER_PORT    else, a host and port (torchrun, medgrad launch --host)
//     RANK, WORLD_SIZE            the worker's number, and how many there are at first
//     MEDGRAD_TOKEN               what it shows, or MEDGRAD_TOKEN_FILE, a file that has it
//     TORCHELASTIC_USE_AGENT_STORE  True: the launcher has the store; else worker 0 has it
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace medgrad::libtorch {

struct World {
  int worker = 0, workers = 1;
  c10::intrusive_ptr<c10d::Store> store;
  std::string token;
  // Of this machine where the others can reach it: the one on the way to where all meet.
  std::string address;
};

// Nothing where the environment says nothing of others. Throws Error where it is not complete, and
// where the store cannot be reached in time.
[[nodiscard]] std::optional<World> world_from_environment(
    std::chrono::milliseconds timeout = std::chrono::minutes(1));

}  // namespace medgrad::libtorch
