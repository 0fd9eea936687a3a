#include "medgrad/torch/crew.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/torch/process_group.h"

namespace medgrad::libtorch {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(10);

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// "0 2 3"; what is no number there is left out.
std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += (text.empty() ? "" : " ") + std::to_string(n);
  return text;
}
std::vector<int> split(const std::string& text) {
  std::vector<int> numbers;
  for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
    int n = 0;
    const auto [next, failed] = std::from_chars(at, end, n);
    if (failed == std::errc()) numbers.push_back(n);
    at = failed == std::errc() ? next : at + 1;
  }
  return numbers;
}

std::string here_key(std::uint64_t epoch, int worker) {
  return fmt::format("epoch{}/here/{}", epoch, worker);
}
std::string knock_key(std::uint64_t k) { return fmt::format("knock/{}", k); }
std::string gone_key(int worker) { return fmt::format("gone/{}", worker); }
std::string members_key(std::uint64_t epoch) { return fmt::format("epoch{}/members", epoch); }

const std::string kFinished = "finished";

constexpr int kAttempts = 10;  // to connect those who are there
constexpr int kPatience = 3;   // in deadlines: with one that has the number

// c10d's exceptions about a store that is gone, as a sentence.
template <class Ask>
auto ask(const Ask& question) {
  try {
    return question();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    std::string_view text = error.what();
    throw CannotMeet(fmt::format("The meeting point of the workers does not answer ({}).",
                                 text.substr(0, text.find('\n'))));
  }
}

bool contains(const std::vector<int>& all, int one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string random_identity() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

void mark_gone(c10d::Store& store, int worker) {
  ask([&] {
    store.set(gone_key(worker), bytes_of("1"));
    return 0;
  });
}

void mark_finished(c10d::Store& store) {
  ask([&] {
    store.set(kFinished, bytes_of("1"));
    return 0;
  });
}

Crew::Crew(c10::intrusive_ptr<c10d::Store> store, int worker, int expected, CrewOptions options)
    : store_(std::move(store)),
      worker_(worker),
      options_(std::move(options)),
      identity_(random_identity()) {
  members_.resize(static_cast<std::size_t>(expected));
  std::iota(members_.begin(), members_.end(), 0);
  ask([&] {
    check_token();
    epoch_ = static_cast<std::uint64_t>(store_->add("epoch", 0));
    return 0;
  });
  if (epoch_ == 0) return;
  members_.clear();  // the others have begun: it has to knock
  is_member_ = false;
}

// The first one to come says what it is; the launcher does that where there is one.
void Crew::check_token() {
  const std::string kept = text_of(store_->compareSet("token", {}, bytes_of(options_.token + ".")));
  if (kept != options_.token + ".")
    throw Error("This worker's token is not that of the run it wants to join.");
}

// Nothing is written, so that a store in a file does not grow.
std::uint64_t Crew::knocked() {
  return ask([&] {
    std::uint64_t k = known_;
    while (store_->check({knock_key(k + 1)})) ++k;
    return k;
  });
}

void Crew::knock() {
  if (knocked_) return;
  const auto k = static_cast<std::uint64_t>(store_->add("knocks", 1));
  store_->set(knock_key(k), bytes_of(std::to_string(worker_)));
  knocked_ = true;
}

// The last members and all who have knocked since.
std::vector<int> Crew::expected() {
  std::set<int> all(members_.begin(), members_.end());
  const std::uint64_t knocks = knocked();
  for (std::uint64_t k = known_ + 1; k <= knocks; ++k) {
    for (const int worker : split(text_of(store_->get(knock_key(k))))) all.insert(worker);
  }
  known_ = knocks;
  return {all.begin(), all.end()};
}

void Crew::finish() { mark_finished(*store_); }

std::vector<int> Crew::members_of(std::uint64_t epoch) {
  return split(text_of(store_->get(members_key(epoch))));
}

// One that is not a member waits for those who are; those of the last epoch may all be dead.
void Crew::check_that_it_goes_on(std::uint64_t epoch, bool member) {
  if (store_->check({kFinished})) throw RunEnded("The run has ended without this worker.");
  if (member || epoch < 2 || !store_->check({members_key(epoch - 1)})) return;
  for (const int worker : members_of(epoch - 1))
    if (!store_->check({gone_key(worker)})) return;
  throw RunEnded("Nobody is left of the run that this worker wants to join.");
}

// Is another process in the group of that epoch by this number, as far as anybody knows?
bool Crew::is_taken(std::uint64_t epoch) {
  return !is_member_ && epoch > 0 && store_->check({members_key(epoch)}) &&
         contains(members_of(epoch), worker_) && !store_->check({gone_key(worker_)});
}

// Until there is another group, or one knows that it is gone. It may have died just now.
void Crew::wait_until_free(std::uint64_t epoch) {
  knocked_ = false;
  const auto until = Clock::now() + kPatience * options_.deadline;
  while (is_taken(epoch) && !store_->check({members_key(epoch + 1)})) {
    check_that_it_goes_on(epoch + 1, false);
    if (Clock::now() > until)
      throw Error(fmt::format("Another process takes part as worker {} (RANK).", worker_));
    std::this_thread::sleep_for(kPause);
  }
}

// Waits until it is written down who is in the group of that epoch. A member may do that.
void Crew::decide(std::uint64_t epoch, bool member) {
  const auto until = Clock::now() + options_.deadline;
  const std::vector<int> all = member ? expected() : std::vector<int>();
  while (!store_->check({members_key(epoch)})) {
    check_that_it_goes_on(epoch, member);
    if (member) {
      std::vector<int> here;
      std::size_t gone = 0;
      for (const int worker : all) {
        if (store_->check({here_key(epoch, worker)})) {
          here.push_back(worker);
        } else if (store_->check({gone_key(worker)})) {
          ++gone;
        }
      }
      if (here.size() + gone == all.size() || Clock::now() > until)
        store_->compareSet(members_key(epoch), {}, bytes_of(joined(here)));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// Those of the next epoch that has this worker.
std::vector<int> Crew::next_members() {
  while (true) {
    if (is_taken(epoch_)) {
      wait_until_free(epoch_);
      if (store_->check({members_key(epoch_ + 1)})) ++epoch_;
      continue;
    }
    if (!is_member_) knock();
    const std::uint64_t epoch = epoch_ + 1;
    const std::string shown =
        text_of(store_->compareSet(here_key(epoch, worker_), {}, bytes_of(identity_)));
    const bool is_here = shown == identity_;
    decide(epoch, is_member_ && is_here);
    epoch_ = epoch;
    members_ = members_of(epoch);
    is_member_ = is_here && contains(members_, worker_);
    if (is_member_) return members_;  // else it is too late: the others have gone on
  }
}

std::unique_ptr<dist::Communicator> Crew::connect() {
  const auto at = std::find(members_.begin(), members_.end(), worker_);
  auto group = communicate(gloo_group(
      c10::make_intrusive<c10d::PrefixStore>(fmt::format("epoch{}/gloo", epoch_), store_),
      static_cast<int>(at - members_.begin()), static_cast<int>(members_.size()), options_.deadline,
      options_.address));
  // New ones learn what the others know, and that this is the epoch.
  std::vector<std::uint64_t> known(members_.size());
  group->all_gather(std::as_bytes(std::span(&known_, 1)), std::as_writable_bytes(std::span(known)));
  known_ = *std::max_element(known.begin(), known.end());
  if (group->rank() == 0) {
    const std::int64_t behind = static_cast<std::int64_t>(epoch_) - store_->add("epoch", 0);
    if (behind > 0) store_->add("epoch", behind);
  }
  if (store_->check({gone_key(worker_)})) store_->deleteKey(gone_key(worker_));  // one before it
  return group;
}

std::unique_ptr<dist::Communicator> Crew::form() {
  return ask([&]() -> std::unique_ptr<dist::Communicator> {
    for (int attempt = 1;; ++attempt) {
      const std::size_t size = next_members().size();
      was_let_in_ = std::exchange(knocked_, false) || (attempt > 1 && was_let_in_);
      if (size < static_cast<std::size_t>(options_.quorum)) {
        throw BelowQuorum(fmt::format("Only {} left; the run needs {}.",
                                      counted(size, "worker is", "workers are"), options_.quorum));
      }
      try {
        return connect();
      } catch (const dist::Lost& lost) {  // somebody is gone since: without them, then
        if (attempt == kAttempts)
          throw CannotMeet(
              fmt::format("{} at the meeting point do not reach each other, in {} attempts. {}",
                          counted(size, "worker", "workers"), attempt, lost.what()));
      }
    }
  });
}

}  // namespace medgrad::libtorch
