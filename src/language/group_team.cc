#include "language/group_team.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "medgrad/sample.h"

namespace medgrad::language {

// One that was started again has been through it.
bool ProcessTeam::begin(std::uint64_t step) {
  for (const Event& one : options().events) {
    if (one.worker != worker_ || one.from != step || joined_late()) continue;
    if (one.kind == Event::Kind::killed) (void)::raise(SIGKILL);
    if (one.kind == Event::Kind::stalled && !stalled_) {
      stalled_ = true;
      // The others lose it after a deadline, and have a group without it after another one.
      std::this_thread::sleep_for(std::chrono::duration<double>(4 * options().deadline));
    }
  }
  return false;
}

template <class Exchange>
auto ProcessTeam::together(const Exchange& exchange) {
  try {
    return exchange();
  } catch (const dist::Lost&) {
    group_.reset();  // the others notice at once
    throw;
  } catch (const dist::Unfit& unfit) {
    const int rank = group_->rank();
    group_.reset();
    if (std::ranges::find(unfit.ranks(), rank) != unfit.ranks().end()) throw;
    throw dist::Lost(unfit.what(), unfit.ranks());
  }
}

void ProcessTeam::check_settings(std::span<const dist::Setting> mine) {
  together([&] { dist::check_settings(*group_, mine); });
}

void ProcessTeam::catch_up(std::optional<std::uint64_t> steps,
                           const std::function<std::string()>& save,
                           const std::function<void(const std::string&)>& load) {
  together([&] { (void)dist::catch_up(*group_, steps, save, load); });
}

Joint ProcessTeam::combine(std::uint64_t step, std::span<Contribution> mine, Wish wish,
                           std::span<float> result) {
  Contribution& own = mine.front();
  return together([&] {
    damage(own, step);
    lie(own, step);
    std::vector<dist::WorkerReport> reports;
    dist::Options<float> how = aggregation(step);
    how.seconds = own.seconds;
    how.word = packed({own.loss, wish, waits()});
    how.report = &reports;
    (void)dist::aggregate<float>(*group_, options().rule, own.gradient, result, how);
    return conclude(reports, result);
  });
}

// The honest show the liars what they have, and those make up what they send.
void ProcessTeam::lie(Contribution& own, std::uint64_t step) {
  const Camps all = camps(step);
  if (all.liars.empty()) return;
  const std::size_t d = own.gradient.size();
  const auto n = static_cast<std::size_t>(group_->size()),
             me = static_cast<std::size_t>(group_->rank());
  const bool mine = std::ranges::count(all.liars, me) > 0;
  std::vector<std::span<const std::byte>> sent(n);
  std::vector<std::span<std::byte>> received(n);
  LargeVector<float> rows(mine ? all.honest.size() * d : 0);
  for (std::size_t k = 0; k < all.honest.size() && mine; ++k)
    received[all.honest[k]] = std::as_writable_bytes(std::span<float>(rows).subspan(k * d, d));
  for (const std::size_t r : all.liars) {
    if (std::ranges::count(all.honest, me) > 0)
      sent[r] = std::as_bytes(std::span<const float>(own.gradient));
  }
  group_->start_exchange(sent, received).wait();
  if (!mine) return;
  const Share share = share_of(all, me, step);
  const LargeVector<float> said = lies_about(*share.lie, rows, share.of, d, step);
  const auto begin = said.begin() + static_cast<std::ptrdiff_t>(share.place * d);
  own.gradient.assign(begin, begin + static_cast<std::ptrdiff_t>(d));
}

namespace {

// A process, as others on the same machine can look for it.
struct Place {
  std::uint64_t machine = 0;
  std::int64_t process = 0;
};

Place this_place() {
  std::string machine;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), machine);
  std::error_code unknown;  // processes of containers are counted by themselves
  machine += std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
  return {std::hash<std::string>()(machine), ::getpid()};
}

class GroupTeam final : public ProcessTeam {
 public:
  GroupTeam(const TeamOptions& options, std::unique_ptr<dist::Communicator> group)
      : ProcessTeam(options, group->rank()),
        places_(static_cast<std::size_t>(group->size())),
        here_(this_place()) {
    group->set_deadline(std::chrono::milliseconds(std::llround(1000 * options.deadline)));
    group->all_gather(std::as_bytes(std::span(&here_, 1)),
                      std::as_writable_bytes(std::span(places_)));
    engine_ = group->engine();
    group_ = std::move(group);
  }

  // Once the group is lost, without those who are known to be dead: another one saves then.
  std::vector<int> members() const override {
    std::vector<int> all;
    for (std::size_t r = 0; r < places_.size(); ++r)
      if (group_ != nullptr || !is_dead(places_[r])) all.push_back(static_cast<int>(r));
    return all;
  }

  void gather() override {
    if (group_ == nullptr)
      throw TooFew("A worker is lost, and " + engine_ + " cannot go on without it.");
  }

  void part() override {
    if (group_ != nullptr) group_->barrier();
  }

 private:
  // Of those on other machines nobody can tell.
  [[nodiscard]] bool is_dead(const Place& one) const {
    return one.machine == here_.machine && ::kill(static_cast<pid_t>(one.process), 0) != 0 &&
           errno == ESRCH;
  }

  std::vector<Place> places_;  // by rank
  Place here_;
  std::string engine_;
};

}  // namespace

std::unique_ptr<Team> make_group_team(const TeamOptions& options,
                                      std::unique_ptr<dist::Communicator> group) {
  return std::make_unique<GroupTeam>(options, std::move(group));
}

}  // namespace medgrad::language
