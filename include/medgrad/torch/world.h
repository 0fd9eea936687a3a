// Where a worker finds the others: what its launcher has put into the environment.
//
//     MEDGRAD_STORE               where the workers of medgrad launch meet: "@…" on one machine, or
//                                 HOST:PORT (medgrad launch --host)
//     MASTER_ADDR, MASTER_PORT    else, a host and port where c10d has a store (torchrun)
//     RANK, WORLD_SIZE            the worker's number, and how many there are at first
//     MEDGRAD_TOKEN               what it shows, or MEDGRAD_TOKEN_FILE, a file that has it
//     TORCHELASTIC_USE_AGENT_STORE  True: torchrun has the store; else worker 0 has it
//     TORCHELASTIC_RESTART_COUNT  how often torchrun has started them: they meet anew each time
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
  bool store_is_in_worker_0 = false;  // and gone with it
  // Of this machine where the others can reach it: the one on the way to where all meet.
  std::string address;
};

// What MEDGRAD_TOKEN says, or the first line of the file that MEDGRAD_TOKEN_FILE names; empty where
// there is neither. Throws Error where the file cannot be read.
[[nodiscard]] std::string token_from_environment();

// Nothing where the environment says nothing of others. Throws Error where it is not complete, and
// where the store cannot be reached in time.
[[nodiscard]] std::optional<World> world_from_environment(
    std::chrono::milliseconds timeout = std::chrono::minutes(1));

}  // namespace medgrad::libtorch
