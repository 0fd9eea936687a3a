#include "medgrad/torch/process_group.h"

#include <ATen/ops/from_blob.h>
#include <fmt/core.h>
#include <sched.h>
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

#include <algorithm>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "medgrad/error.h"
#include "torch/versions.h"
#ifdef MEDGRAD_GUARDS_GLOO
#include "torch/dist/guarded_device.h"
#endif

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

using Work = c10::intrusive_ptr<c10d::Work>;

void sum(c10d::ProcessGroup& group, std::span<float> values) {
  std::vector<at::Tensor> tensors = {
      at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat)};
  try {
    group.allreduce(tensors)->wait();
  } catch (const std::exception& error) {
    throw lost(error);
  }
}

// For all of it, no longer than `deadline` together; 0: each as long as the group allows.
class Waiting : public dist::Transfer::Pending {
 public:
  Waiting(std::vector<Work> works, std::chrono::milliseconds deadline)
      : works_(std::move(works)), deadline_(deadline) {}
  void wait() override {
    using namespace std::chrono;
    const auto until = steady_clock::now() + deadline_;
    try {
      for (const Work& work : works_) {
        const auto left = duration_cast<milliseconds>(until - steady_clock::now());
        work->wait(deadline_.count() == 0 ? deadline_ : std::max(left, milliseconds(1)));
      }
    } catch (const std::exception& error) {
      throw lost(error);
    }
  }

 private:
  std::vector<Work> works_;
  std::chrono::milliseconds deadline_;
};

// Gloo sends from anywhere to anywhere, without its threads for collectives in between.
class GlooEngine : public dist::Communicator {
 public:
  explicit GlooEngine(c10::intrusive_ptr<c10d::ProcessGroup> group)
      : Communicator(group->getRank(), group->getSize()), group_(std::move(group)) {
#ifdef USE_C10D_GLOO
    if (auto* const gloo = gloo_of<c10d::ProcessGroupGloo>(*group_))
      timeout_ = gloo->getOptions()->timeout;
#endif
  }
  [[nodiscard]] std::string engine() const override { return "gloo"; }

 private:
  // Not a number that others would choose; messages with it arrive in the order they were sent.
  static constexpr int kTag = 0x6d64'6701;

  std::unique_ptr<dist::Transfer::Pending> exchange(dist::Outgoing send,
                                                    dist::Incoming receive) override {
    const auto n = send.size(), me = static_cast<std::size_t>(rank());
    std::vector<Work> works;
    works.reserve(2 * n);
    try {
      for (std::size_t k = 1; k < n; ++k) {
        const std::size_t to = (me + k) % n;
        if (send[to].empty()) continue;
        std::vector<at::Tensor> from = {view(send[to].data(), send[to].size())};
        works.push_back(group_->send(from, static_cast<int>(to), kTag));
      }
      for (std::size_t k = 1; k < n; ++k) {
        const std::size_t from = (me + n - k) % n;
        if (receive[from].empty()) continue;
        std::vector<at::Tensor> to = {view(receive[from].data(), receive[from].size())};
        works.push_back(group_->recv(to, static_cast<int>(from), kTag));
      }
    } catch (const std::exception& error) {
      throw lost(error);
    }
    take_own(send, receive);
    return std::make_unique<Waiting>(std::move(works), timeout_);
  }

  void sum(std::span<float> values) override { libtorch::sum(*group_, values); }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::chrono::milliseconds timeout_{0};
};

// What all process groups have.
class ProcessGroupEngine : public dist::Packing {
 public:
  explicit ProcessGroupEngine(c10::intrusive_ptr<c10d::ProcessGroup> group)
      : Packing(group->getRank(), group->getSize()), group_(std::move(group)) {}
  [[nodiscard]] std::string engine() const override { return group_->getBackendName(); }

 private:
  std::unique_ptr<dist::Transfer::Pending> all_to_all(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) override {
    std::vector<std::int64_t> out(send_sizes.begin(), send_sizes.end());
    std::vector<std::int64_t> in(receive_sizes.begin(), receive_sizes.end());
    at::Tensor to = view(receive.data(), receive.size()), from = view(send.data(), send.size());
    try {
      std::vector<Work> works = {libtorch::all_to_all(*group_, to, from, in, out)};
      return std::make_unique<Waiting>(std::move(works), std::chrono::milliseconds(0));
    } catch (const std::exception& error) {
      throw lost(error);
    }
  }

  void sum(std::span<float> values) override { libtorch::sum(*group_, values); }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

#ifdef USE_C10D_GLOO
// What listens at an address ("": this host's), with a thread that moves the data.
//
// That thread is one of those that wait for a processor rather than interrupt whoever has it
// (SCHED_BATCH; it has the policy of the thread that makes it). Otherwise workers that share
// processors hold each other up: one that is interrupted while it holds the lock of a connection
// makes this thread, in its own process, spin at that lock for as long as it is away.
std::shared_ptr<gloo::transport::Device> device_at(const std::string& address) {
  std::shared_ptr<gloo::transport::Device> device;
  std::exception_ptr failure;
  std::thread([&] {
    const sched_param none{};
    (void)sched_setscheduler(0, SCHED_BATCH, &none);  // of this thread
    try {
      device = address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                               : c10d::ProcessGroupGloo::createDeviceForHostname(address);
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
#ifdef MEDGRAD_GUARDS_GLOO
  return guarded(std::move(device));
#else
  return device;
#endif
}
#endif

}  // namespace

std::unique_ptr<dist::Communicator> communicate(c10::intrusive_ptr<c10d::ProcessGroup> group) {
  if (group->getBackendName() == "gloo") return std::make_unique<GlooEngine>(std::move(group));
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
    options->devices.push_back(device_at(address));
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
