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
int count(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error("MPI takes messages of up to 2 GiB; the vectors are too long for so few workers.");
  return static_cast<int>(size);
}

struct State {
  MPI_Comm group = MPI_COMM_NULL;
  bool lost = false;  // no call to MPI is any use then, and none is made
  const std::atomic<bool>* stop = nullptr;
};

class Waiting : public Transfer::Pending {
 public:
  Waiting(std::shared_ptr<State> state, std::size_t rank, Outgoing send, Incoming receive,
          std::chrono::milliseconds deadline)
      : state_(std::move(state)), deadline_(deadline) {
    requests_.reserve(2 * send.size());
    for (std::size_t k = 1; k < send.size(); ++k) {
      const std::size_t from = (rank + send.size() - k) % send.size();
      if (receive[from].empty()) continue;
      check(MPI_Irecv(receive[from].data(), count(receive[from].size()), MPI_BYTE,
                      static_cast<int>(from), 0, state_->group, &requests_.emplace_back()));
    }
    for (std::size_t k = 1; k < send.size(); ++k) {
      const std::size_t to = (rank + k) % send.size();
      if (send[to].empty()) continue;
      check(MPI_Isend(send[to].data(), count(send[to].size()), MPI_BYTE, static_cast<int>(to), 0,
                      state_->group, &requests_.emplace_back()));
    }
  }

  void wait() override {
    if (state_->lost) throw Lost("A worker did not answer before.");
    if (deadline_.count() == 0) {
      check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
      return;
    }
    // MPI knows no timeouts; it makes progress only while it is asked.
    const auto until = std::chrono::steady_clock::now() + deadline_;
    for (int asked = 0, done = 0;; ++asked) {
      check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                        MPI_STATUSES_IGNORE));
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
  std::vector<MPI_Request> requests_;
  std::chrono::milliseconds deadline_;
};

class Mpi : public Communicator {
 public:
  Mpi(std::shared_ptr<State> state, int rank, int size)
      : Communicator(rank, size), state_(std::move(state)) {}
  [[nodiscard]] std::string engine() const override { return "mpi"; }

 private:
  std::unique_ptr<Transfer::Pending> exchange(Outgoing send, Incoming receive) override {
    if (state_->lost) throw Lost("A worker did not answer before.");
    auto waiting = std::make_unique<Waiting>(state_, static_cast<std::size_t>(rank()), send,
                                             receive, deadline());
    take_own(send, receive);
    return waiting;
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
