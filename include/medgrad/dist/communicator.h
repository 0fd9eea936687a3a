// What n workers need to talk to each other: one thin interface, and what may go wrong behind it.
//
// Engines: threads of one process (make_threads, for simulations and tests), c10d process groups of
// libtorch (medgrad/torch/process_group.h; Gloo), MPI (src/mpi). Each of them brings an
// all-to-all; whatever else is needed is made of it. All ranks make the same calls in the same
// order, as with any of those engines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "medgrad/error.h"

#pragma GCC visibility push(default)
namespace medgrad::dist {

// Somebody is no longer there, or did not answer before the deadline: what was under way is lost,
// and this group with it. `ranks` are those that it was, where the engine knows.
class Lost : public Error {
 public:
  explicit Lost(const std::string& sentence, std::vector<int> ranks = {})
      : Error(sentence), ranks_(std::move(ranks)) {}
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

 private:
  std::vector<int> ranks_;
};

// An exchange under way. The memory that it was given must stay until wait() has returned or
// thrown; the destructor waits too, and says nothing.
class Transfer {
 public:
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;  // throws Lost
  };

  Transfer() = default;
  explicit Transfer(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  ~Transfer() { give_up(); }
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&& other) noexcept {
    if (this != &other) {
      give_up();
      pending_ = std::move(other.pending_);
    }
    return *this;
  }

  void wait();

 private:
  void give_up() noexcept;
  std::unique_ptr<Pending> pending_;
};

// Bytes that went to others and came from them; what a rank sends to itself does not count.
struct Traffic {
  std::uint64_t sent = 0, received = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // "gloo", for messages.
  [[nodiscard]] virtual std::string engine() const = 0;

  // Sends send_sizes[r] bytes of `send` to each rank r, the first ones to rank 0, and receives
  // receive_sizes[r] from it, in the same order. Returns at once.
  [[nodiscard]] Transfer start_all_to_all(std::span<const std::byte> send,
                                          std::span<const std::size_t> send_sizes,
                                          std::span<std::byte> receive,
                                          std::span<const std::size_t> receive_sizes);
  // Everybody's `mine`, all of the same length, one after the other.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  // The sum over the ranks, as the engine makes it: in an order of its own, and at its own speed.
  void all_reduce(std::span<float> sum);
  void barrier();

  // How long any exchange may take before it counts as lost; 0 is for ever.
  void set_deadline(std::chrono::milliseconds deadline) { deadline_ = deadline; }
  [[nodiscard]] std::chrono::milliseconds deadline() const { return deadline_; }

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  [[nodiscard]] virtual std::unique_ptr<Transfer::Pending> exchange(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) = 0;
  virtual void sum(std::span<float> values) = 0;

  int rank_, size_;
  std::chrono::milliseconds deadline_{0};
  Traffic traffic_;
};

// n ranks, one for each of n threads. When one of them is destroyed, the others lose it.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_threads(int n);

}  // namespace medgrad::dist
#pragma GCC visibility pop
