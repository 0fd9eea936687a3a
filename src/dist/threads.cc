// The engine for threads of one process: everybody shows where their data is, and takes what is
// theirs.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/text.h"
#include "dist/names.h"
#include "medgrad/dist/communicator.h"

namespace medgrad::dist {
namespace {

// What a rank shows for one exchange, by who is to take it.
using Shown = std::vector<std::span<const std::byte>>;

struct Exchange {
  explicit Exchange(std::size_t n) : shown(n), done(n) {}
  std::vector<std::shared_ptr<const Shown>> shown;  // null: not yet, or no more
  std::vector<bool> done;                           // who has taken what is theirs
  // How many are in each.
  std::size_t here = 0, through = 0;
  std::size_t copying = 0;  // who is at it
  std::size_t left = 0;     // who is through with it all
};

// Where the ranks meet. Exchanges are numbered: all ranks make the same ones in the same order.
class Hub {
 public:
  explicit Hub(std::size_t n) : n_(n), gone_(n), failed_(n) {}

  void show(std::uint64_t number, std::size_t rank, Shown shown) {
    const std::lock_guard lock(mutex_);
    Exchange& exchange = find(number);
    exchange.shown[rank] = std::make_shared<const Shown>(std::move(shown));
    if (++exchange.here == n_) changed_.notify_all();  // nobody waits for less
  }

  void take(std::uint64_t number, std::size_t rank, Incoming receive,
            std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    try {
      take(lock, number, rank, receive, deadline);
    } catch (...) {
      // Its memory may be gone next: nobody is to look there any more.
      failed_[rank] = true;
      Exchange& exchange = find(number);
      if (exchange.shown[rank] != nullptr) --exchange.here;
      exchange.shown[rank].reset();
      changed_.notify_all();
      idle_.wait(lock, [&] { return find(number).copying == 0; });
      throw;
    }
  }

  void leave(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    gone_[rank] = true;
    changed_.notify_all();
  }

 private:
  void take(std::unique_lock<std::mutex>& lock, std::uint64_t number, std::size_t rank,
            Incoming receive, std::chrono::milliseconds deadline) {
    const auto until = std::chrono::steady_clock::now() + deadline;
    wait(
        lock, deadline, until, [&] { return find(number).here == n_; },
        [&](std::size_t r) { return find(number).shown[r] != nullptr; });
    const std::vector<std::shared_ptr<const Shown>> shown = find(number).shown;
    ++find(number).copying;
    lock.unlock();
    bool fits = true;
    for (std::size_t r = 0; r < n_; ++r) {
      const std::span<const std::byte> from = (*shown[r])[rank];
      fits = fits && from.size() == receive[r].size();
      if (fits && r != rank) std::copy(from.begin(), from.end(), receive[r].begin());
    }
    lock.lock();
    Exchange& exchange = find(number);
    if (--exchange.copying == 0) idle_.notify_all();
    exchange.done[rank] = true;
    if (++exchange.through == n_) changed_.notify_all();
    if (!fits) throw Lost("A worker sent a message of another length than was agreed.");
    // Nobody may change what others have not taken yet.
    wait(
        lock, deadline, until, [&] { return find(number).through == n_; },
        [&](std::size_t r) { return find(number).done[r]; });
    if (++find(number).left == n_) exchanges_.erase(number);
  }

  Exchange& find(std::uint64_t number) { return exchanges_.try_emplace(number, n_).first->second; }

  // Until all are ready, which is ready(r) for every rank r; throws Lost where one is gone or late.
  template <class All, class Ready>
  void wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds deadline,
            std::chrono::steady_clock::time_point until, const All& all, const Ready& ready) {
    while (!all()) {
      std::vector<int> missing, dead, failed;
      for (std::size_t r = 0; r < n_; ++r) {
        if (ready(r)) continue;
        missing.push_back(static_cast<int>(r));
        if (gone_[r]) dead.push_back(static_cast<int>(r));
        if (failed_[r]) failed.push_back(static_cast<int>(r));
      }
      if (missing.empty()) return;
      if (dead.empty() && !failed.empty())  // they lost somebody else
        throw Lost(workers(failed) + " gave up.", failed);
      if (!dead.empty())
        throw Lost(workers(dead) + (dead.size() == 1 ? " is" : " are") + " gone.", dead);
      if (deadline.count() == 0) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, until) == std::cv_status::timeout) {
        throw Lost(late(missing, deadline), missing);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_, idle_;  // idle_: nobody copies any more
  std::size_t n_;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::vector<bool> gone_, failed_;  // who left, and who lost somebody
};

class Threads : public Communicator {
 public:
  Threads(std::shared_ptr<Hub> hub, int rank, int size)
      : Communicator(rank, size), hub_(std::move(hub)) {}
  ~Threads() override { hub_->leave(static_cast<std::size_t>(rank())); }
  [[nodiscard]] std::string engine() const override { return "threads"; }

 private:
  class Taking : public Transfer::Pending {
   public:
    Taking(Threads& group, std::uint64_t number, Incoming receive)
        : hub_(group.hub_),
          rank_(static_cast<std::size_t>(group.rank())),
          number_(number),
          receive_(receive.begin(), receive.end()),
          deadline_(group.deadline()) {}
    void wait() override { hub_->take(number_, rank_, receive_, deadline_); }

   private:
    std::shared_ptr<Hub> hub_;
    std::size_t rank_;
    std::uint64_t number_;
    std::vector<std::span<std::byte>> receive_;
    std::chrono::milliseconds deadline_;
  };

  std::unique_ptr<Transfer::Pending> exchange(Outgoing send, Incoming receive) override {
    take_own(send, receive);
    hub_->show(next_, static_cast<std::size_t>(rank()), Shown(send.begin(), send.end()));
    return std::make_unique<Taking>(*this, next_++, receive);
  }

  // In the order of the ranks.
  void sum(std::span<float> values) override {
    std::vector<float> all(values.size() * static_cast<std::size_t>(size()));
    all_gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
    for (std::size_t j = 0; j < values.size(); ++j) {
      float total = 0;
      for (std::size_t at = j; at < all.size(); at += values.size()) total += all[at];
      values[j] = total;
    }
  }

  std::shared_ptr<Hub> hub_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_threads(int n) {
  const auto hub = std::make_shared<Hub>(static_cast<std::size_t>(n));
  std::vector<std::unique_ptr<Communicator>> ranks;
  ranks.reserve(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) ranks.push_back(std::make_unique<Threads>(hub, r, n));
  return ranks;
}

}  // namespace medgrad::dist
