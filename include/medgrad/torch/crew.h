// Who takes part: groups that form again without those who died or are too late, and with those
// who come.
//
// Workers have numbers of their own, and meet at a store that outlives each of them (in the
// launcher, not in a worker). Groups follow each other in epochs. When an exchange is lost, every
// survivor goes to the next epoch, shows itself there, and waits until all others have or the
// deadline has passed; then the first one who is through writes down who is there, which holds for
// all. Those in the list form a Gloo group; if one of them is gone by then, there is another epoch.
// Who comes too late knocks, and is let in when the others form a group again. A number belongs to
// one process at a time: a second one waits until the first is gone, and is turned away where that
// takes too long.
//
//     Crew crew(store, worker, 4, {});
//     auto group = crew.form();
//     … on dist::Lost:  group.reset(); group = crew.form();
//     … then dist::catch_up(*group, …)
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "medgrad/dist/communicator.h"

namespace medgrad::libtorch {

struct CrewOptions {
  std::chrono::milliseconds deadline = std::chrono::seconds(30);  // of an exchange, and of forming
  int quorum = 1;                     // with fewer than so many a run ends
  std::string address = "127.0.0.1";  // of the network interface, as in gloo_group
  std::string token = {};             // shown by everybody; another one is not let in
};

// For a launcher, which sees its workers end: nobody waits for one that is gone. Its number is free
// then for another one.
void mark_gone(c10d::Store& store, int worker);

// The run is over: whoever wants to be let in, now or later, is told so.
void mark_finished(c10d::Store& store);

// Not enough workers are left.
class BelowQuorum : public Error {
 public:
  using Error::Error;
};

// The run was over before this worker was let in (again), or nobody is left who could do it.
class RunEnded : public Error {
 public:
  using Error::Error;
};

// The meeting point is gone, or those who are there cannot reach each other: no group can be
// formed.
class CannotMeet : public Error {
 public:
  using Error::Error;
};

class Crew {
 public:
  // `worker` is this one's number; at first workers 0 … expected-1 are waited for.
  Crew(c10::intrusive_ptr<c10d::Store> store, int worker, int expected, CrewOptions options);

  // The next group: without those who are gone, with those who have knocked. Every member calls it,
  // after the last group was lost or because somebody knocked. A worker that is not let in at once,
  // as it is new or too late, knocks and waits. Throws BelowQuorum, RunEnded and CannotMeet, and
  // Error where the token is wrong and where another worker has the number and does not go.
  [[nodiscard]] std::unique_ptr<dist::Communicator> form();

  void finish();  // mark_finished

  // Those in the group, by number, in the order of their ranks.
  [[nodiscard]] const std::vector<int>& members() const { return members_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Had it to be let in by the last form(), as there was a group without it?
  [[nodiscard]] bool was_let_in() const { return was_let_in_; }
  // How many have knocked so far: where it is more than at the last form(), somebody waits. Asks
  // the store, which takes some 0.1 ms: one rank may do it, and tell the others (Options::word).
  [[nodiscard]] std::uint64_t knocked();
  [[nodiscard]] std::uint64_t known() const { return known_; }

 private:
  [[nodiscard]] std::vector<int> next_members();
  [[nodiscard]] std::unique_ptr<dist::Communicator> connect();
  void decide(std::uint64_t epoch, bool member);
  [[nodiscard]] std::vector<int> members_of(std::uint64_t epoch);
  [[nodiscard]] std::vector<int> expected();
  [[nodiscard]] bool is_taken(std::uint64_t epoch);
  void wait_until_free(std::uint64_t epoch);
  void knock();
  void check_token();
  void check_that_it_goes_on(std::uint64_t epoch, bool member);

  c10::intrusive_ptr<c10d::Store> store_;
  int worker_;
  CrewOptions options_;
  std::vector<int> members_;
  std::uint64_t epoch_ = 0, known_ = 0;
  std::string identity_;   // of this process, where others may have the same number
  bool is_member_ = true;  // of the last group, or expected in the first one
  bool knocked_ = false;   // and not let in yet
  bool was_let_in_ = false;
};

}  // namespace medgrad::libtorch
