#include "medgrad/dist/mpi.h"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/text.h"

namespace medgrad::dist {
namespace {

void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Lost(fmt::format("MPI failed: {}.", text));
}

// MPI counts with ints.
std::vector<int> counts(std::span<const std::size_t> sizes) {
  std::vector<int> all;
  std::size_t sum = 0;
  for (const std::size_t size : sizes) {
    sum += size;
    if (sum > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error(
          "MPI takes messages of up to 2 GiB; the vectors are too long for so few workers.");
    all.push_back(static_cast<int>(size));
  }
  return all;
}

std::vector<int> starts(const std::vector<int>& sizes) {
  std::vector<int> all(sizes.size());
  for (std::size_t i = 1; i < sizes.size(); ++i) all[i] = all[i - 1] + sizes[i - 1];
  return all;
}

struct State {
  MPI_Comm group = MPI_COMM_NULL;
  bool lost = false;  // no call to MPI is any use then, and none is made
  const std::atomic<bool>* stop = nullptr;
};

class Waiting : public Transfer::Pending {
 public:
  Waiting(std::shared_ptr<State> state, std::span<const std::byte> send,
          std::span<const std::size_t> send_sizes, std::span<std::byte> receive,
          std::span<const std::size_t> receive_sizes, std::chrono::milliseconds deadline)
      : state_(std::move(state)),
        send_counts_(counts(send_sizes)),
        receive_counts_(counts(receive_sizes)),
        send_starts_(starts(send_counts_)),
        receive_starts_(starts(receive_counts_)),
        deadline_(deadline) {
    check(MPI_Ialltoallv(send.data(), send_counts_.data(), send_starts_.data(), MPI_BYTE,
                         receive.data(), receive_counts_.data(), receive_starts_.data(), MPI_BYTE,
                         state_->group, &request_));
  }

  void wait() override {
    if (state_->lost) throw Lost("A worker did not answer before.");
    if (deadline_.count() == 0) {
      check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
      return;
    }
    // MPI knows no timeouts; it makes progress only while it is asked.
    const auto until = std::chrono::steady_clock::now() + deadline_;
    for (int asked = 0, done = 0;; ++asked) {
      check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
      if (done != 0) return;
      if (state_->stop != nullptr && state_->stop->load()) {
        state_->lost = true;
        throw Lost("This process was asked to stop.");
      }
      if (std::chrono::steady_clock::now() > until) {
        state_->lost = true;
        const double seconds = static_cast<double>(deadline_.count()) / 1000;
        throw Lost(fmt::format("A worker did not answer within {} second{}.", number(seconds),
                               seconds == 1 ? "" : "s"));
      }
      if (asked > 1000) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  std::shared_ptr<State> state_;
  std::vector<int> send_counts_, receive_counts_, send_starts_, receive_starts_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::chrono::milliseconds deadline_;
};

class Mpi : public Communicator {
 public:
  Mpi(std::shared_ptr<State> state, int rank, int size)
      : Communicator(rank, size), state_(std::move(state)) {}
  [[nodiscard]] std::string engine() const override { return "mpi"; }

 private:
  std::unique_ptr<Transfer::Pending> exchange(std::span<const std::byte> send,
                                              std::span<const std::size_t> send_sizes,
                                              std::span<std::byte> receive,
                                              std::span<const std::size_t> receive_sizes) override {
    if (state_->lost) throw Lost("A worker did not answer before.");
    return std::make_unique<Waiting>(state_, send, send_sizes, receive, receive_sizes, deadline());
  }

  void sum(std::span<float> values) override {
    check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                        MPI_SUM, state_->group));
  }

  std::shared_ptr<State> state_;
};

}  // namespace

bool started_by_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

std::unique_ptr<Communicator> mpi_world(const std::atomic<bool>* stop) {
  int running = 0;
  check(MPI_Initialized(&running));
  if (running == 0) {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
  }
  auto state = std::make_shared<State>();
  state->stop = stop;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &state->group));
  check(MPI_Comm_set_errhandler(state->group, MPI_ERRORS_RETURN));
  int rank = 0, size = 1;
  check(MPI_Comm_rank(state->group, &rank));
  check(MPI_Comm_size(state->group, &size));
  return std::make_unique<Mpi>(std::move(state), rank, size);
}

void end_mpi() { MPI_Finalize(); }

void end_mpi(const std::string& sentence) {
  std::fprintf(stderr, "medgrad: %s\n", sentence.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace medgrad::dist
