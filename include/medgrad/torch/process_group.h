// c10d process groups as an engine of medgrad/dist: one that the caller has, or one of Gloo's.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "medgrad/dist/communicator.h"

namespace medgrad::libtorch {

// Any process group that has alltoall_base for tensors on the CPU (Gloo's has). How long an
// exchange may take is the group's own timeout; a deadline of the communicator is not used.
[[nodiscard]] std::unique_ptr<dist::Communicator> communicate(
    c10::intrusive_ptr<c10d::ProcessGroup> group);

// A group of Gloo's that meets at `store`, over the network interface with this address: the
// loopback for workers of one machine, empty for the one that the host's name stands for. After
// `timeout` an exchange counts as lost. Throws dist::Lost where not all come in time. Gloo writes
// to sockets whose other end may be gone: SIGPIPE, which would end the process, is ignored from
// here on unless the program handles it itself.
[[nodiscard]] c10::intrusive_ptr<c10d::ProcessGroup> gloo_group(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout, const std::string& address = "127.0.0.1");

}  // namespace medgrad::libtorch
