// What n workers need to talk to each other: one thin interface, and what may go wrong behind it.
//
// Engines: threads of one process (make_threads, for simulations and tests), c10d process groups of
// libtorch (medgrad/torch/process_group.h; Gloo), MPI (src/mpi). Each of them brings an exchange
// between all; whatever else is needed is made of it. All ranks make the same calls in the same
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
#include "medgrad/large_vector.h"

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

// For each rank what it is sent, or where what comes from it is put. Lengths are known on both
// sides. What is sent may overlap: to all the same, for example.
using Outgoing = std::span<const std::span<const std::byte>>;
using Incoming = std::span<const std::span<std::byte>>;

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // "gloo", for messages.
  [[nodiscard]] virtual std::string engine() const = 0;

  // Returns at once. The spans themselves are needed until then only.
  [[nodiscard]] Transfer start_exchange(Outgoing send, Incoming receive);
  // The same where all of it lies together: the first send_sizes[0] bytes of `send` are for rank 0,
  // and the first receive_sizes[0] of `receive` for what comes from there.
  [[nodiscard]] Transfer start_all_to_all(std::span<const std::byte> send,
                                          std::span<const std::size_t> send_sizes,
                                          std::span<std::byte> receive,
                                          std::span<const std::size_t> receive_sizes);
  // Everybody's `mine`, all of the same length, one after the other.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  // The sum over the ranks, as the engine makes it: in an order of its own, and at its own speed.
  void all_reduce(std::span<float> sum);
  void barrier();

  // Memory in large pages that stays from call to call, which spares the system giving it anew each
  // time: at least so many bytes, aligned to 64; what was there may be lost.
  [[nodiscard]] std::byte* scratch(std::size_t bytes);

  // How long any exchange may take before it counts as lost; 0 is for ever.
  void set_deadline(std::chrono::milliseconds deadline) { deadline_ = deadline; }
  [[nodiscard]] std::chrono::milliseconds deadline() const { return deadline_; }

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  // What this rank sends to itself; may be where it is to be already.
  void take_own(Outgoing send, Incoming receive) const;

 private:
  [[nodiscard]] virtual std::unique_ptr<Transfer::Pending> exchange(Outgoing send,
                                                                    Incoming receive) = 0;
  virtual void sum(std::span<float> values) = 0;

  int rank_, size_;
  std::chrono::milliseconds deadline_{0};
  Traffic traffic_;
  struct Free {
    void operator()(std::byte* memory) const noexcept { free_large(memory); }
  };
  std::unique_ptr<std::byte, Free> scratch_;
  std::size_t scratch_bytes_ = 0;
};

// For engines that exchange what lies together, rank by rank, and nothing else: all the rest is
// copied.
class Packing : public Communicator {
 protected:
  using Communicator::Communicator;

 private:
  [[nodiscard]] virtual std::unique_ptr<Transfer::Pending> all_to_all(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) = 0;
  [[nodiscard]] std::unique_ptr<Transfer::Pending> exchange(Outgoing send, Incoming receive) final;
};

// n ranks, one for each of n threads. When one of them is destroyed, the others lose it.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_threads(int n);

}  // namespace medgrad::dist
#pragma GCC visibility pop
