#include "medgrad/torch/process_group.h"

#include <ATen/ops/from_blob.h>
#include <fmt/core.h>
#include <signal.h>

// libtorch has Gloo in any case; what its header needs is in a package of its own. Gloo's objects
// are made and used inside libtorch, and here held by pointers: their headers may be of another
// version.
#if __has_include(<gloo/rendezvous/store.h>)
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

#include <string_view>
#include <utility>
#include <vector>

#include "medgrad/error.h"
#include "torch/versions.h"

namespace medgrad::libtorch {
namespace {

// Ignores SIGPIPE, unless somebody handles it.
[[maybe_unused]] void outlive_closed_sockets() {
  struct sigaction present {};
  if (sigaction(SIGPIPE, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return;
  present.sa_handler = SIG_IGN;
  (void)sigaction(SIGPIPE, &present, nullptr);
}

// c10d's exceptions are of many types, and their texts have backtraces.
std::string_view first_line(const std::exception& error) {
  const std::string_view text = error.what();
  return text.substr(0, text.find('\n'));
}

dist::Lost lost(const std::exception& error) {
  return dist::Lost(fmt::format("A worker is gone or too late: {}.", first_line(error)));
}

at::Tensor view(const std::byte* data, std::size_t size) {
  static std::byte nothing{};
  // c10d does not write to what is sent.
  auto* const memory = const_cast<std::byte*>(size == 0 ? &nothing : data);
  return at::from_blob(memory, {static_cast<std::int64_t>(size)}, at::kByte);
}

class Waiting : public dist::Transfer::Pending {
 public:
  explicit Waiting(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  void wait() override {
    try {
      work_->wait();
    } catch (const std::exception& error) {
      throw lost(error);
    }
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

class ProcessGroupEngine : public dist::Communicator {
 public:
  explicit ProcessGroupEngine(c10::intrusive_ptr<c10d::ProcessGroup> group)
      : Communicator(group->getRank(), group->getSize()), group_(std::move(group)) {}
  [[nodiscard]] std::string engine() const override { return group_->getBackendName(); }

 private:
  std::unique_ptr<dist::Transfer::Pending> exchange(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) override {
    std::vector<std::int64_t> out(send_sizes.begin(), send_sizes.end());
    std::vector<std::int64_t> in(receive_sizes.begin(), receive_sizes.end());
    at::Tensor to = view(receive.data(), receive.size()), from = view(send.data(), send.size());
    try {
      return std::make_unique<Waiting>(all_to_all(*group_, to, from, in, out));
    } catch (const std::exception& error) {
      throw lost(error);
    }
  }

  void sum(std::span<float> values) override {
    std::vector<at::Tensor> tensors = {
        at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat)};
    try {
      group_->allreduce(tensors)->wait();
    } catch (const std::exception& error) {
      throw lost(error);
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace

std::unique_ptr<dist::Communicator> communicate(c10::intrusive_ptr<c10d::ProcessGroup> group) {
  return std::make_unique<ProcessGroupEngine>(std::move(group));
}

c10::intrusive_ptr<c10d::ProcessGroup> gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                  int rank, int size,
                                                  std::chrono::milliseconds timeout,
                                                  const std::string& address) {
#if __has_include(<gloo/rendezvous/store.h>)
  outlive_closed_sockets();
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  try {
    options->devices.push_back(address.empty()
                                   ? c10d::ProcessGroupGloo::createDefaultDevice()
                                   : c10d::ProcessGroupGloo::createDeviceForHostname(address));
  } catch (const std::exception& error) {
    throw Error(fmt::format("Gloo cannot listen at {} ({}).",
                            address.empty() ? "this host's name" : address, first_line(error)));
  }
  try {
    return group_of<c10d::ProcessGroup>(
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options), store);
  } catch (const std::exception& error) {
    throw lost(error);
  }
#else
  (void)store, (void)rank, (void)size, (void)timeout, (void)address;
  throw Error("This build has no Gloo: its headers (libgloo-dev) were not found.");
#endif
}

}  // namespace medgrad::libtorch
