#include "language/crew_team.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "medgrad/dist/catch_up.h"
#include "medgrad/sample.h"
#include "medgrad/torch/crew.h"

namespace medgrad::language {
namespace {

libtorch::CrewOptions crew_options(const TeamOptions& options, const libtorch::World& world) {
  libtorch::CrewOptions crew;
  crew.deadline = std::chrono::milliseconds(std::llround(1000 * options.deadline));
  crew.quorum = static_cast<int>(options.quorum);
  crew.address = world.address;
  crew.token = world.token;
  return crew;
}

class CrewTeam final : public Team {
 public:
  CrewTeam(const TeamOptions& options, const libtorch::World& world)
      : Team(options),
        worker_(world.worker),
        crew_(world.store, world.worker, world.workers, crew_options(options, world)),
        late_(crew_.epoch() > 0) {}

  std::vector<int> here() const override { return {worker_}; }
  std::vector<int> members() const override { return crew_.members(); }
  bool leads() const override { return !members().empty() && members().front() == worker_; }
  bool has_others() const override { return true; }
  bool joined_late() const override { return late_; }

  // One that was started again has been through it.
  bool begin(std::uint64_t step) override {
    for (const Event& one : options().events) {
      if (one.worker != worker_ || one.from != step || late_) continue;
      if (one.kind == Event::Kind::killed) (void)::raise(SIGKILL);
      if (one.kind == Event::Kind::stalled && !stalled_) {
        stalled_ = true;
        std::this_thread::sleep_for(std::chrono::duration<double>(2 * options().deadline));
      }
    }
    return false;
  }

  void gather() override {
    group_.reset();
    try {
      group_ = crew_.form();
      validate(options().rule, static_cast<std::size_t>(group_->size()));
    } catch (const libtorch::BelowQuorum& below) {
      throw TooFew(below.what());
    } catch (const Error& error) {
      if (group_ == nullptr) throw;
      throw TooFew(fmt::format("The rule needs more workers than are left: {}", error.what()));
    }
  }

  void catch_up(std::optional<std::uint64_t> steps, const std::function<std::string()>& save,
                const std::function<void(const std::string&)>& load) override {
    if (const auto got = dist::catch_up(*group_, steps, save)) load(*got);
  }

  Joint combine(std::uint64_t step, std::span<Contribution> mine, bool stop,
                std::span<float> result) override {
    Contribution& own = mine.front();
    try {
      damage(own, step);
      lie(own, step);
      std::vector<dist::WorkerReport> reports;
      dist::Options<float> how = aggregation(step);
      how.seconds = own.seconds;
      how.word = packed({own.loss, stop, group_->rank() == 0 && crew_.knocked() > crew_.known()});
      how.report = &reports;
      (void)dist::aggregate<float>(*group_, options().rule, own.gradient, result, how);
      return conclude(reports, result);
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

  void part() override {
    try {
      if (group_ != nullptr) group_->barrier();  // worker 0 may have the meeting point
    } catch (const dist::Lost&) {
      // Others have gone before.
    }
    if (leads()) crew_.finish();
    group_.reset();
  }

 private:
  // The honest show the liars what they have, and those make up what they send.
  void lie(Contribution& own, std::uint64_t step) {
    const Camps all = camps(step);
    if (all.liars.empty()) return;
    const std::size_t d = own.gradient.size(), bytes = d * sizeof(float);
    const auto n = static_cast<std::size_t>(group_->size()),
               me = static_cast<std::size_t>(group_->rank());
    const bool mine = std::ranges::count(all.liars, me) > 0;
    std::vector<std::size_t> sent(n), received(n);
    LargeVector<float> copies, rows(mine ? all.honest.size() * d : 0);
    for (const std::size_t r : all.honest) received[r] = mine ? bytes : 0;
    for (const std::size_t r : all.liars) {
      if (std::ranges::count(all.honest, me) == 0) continue;
      sent[r] = bytes;
      copies.insert(copies.end(), own.gradient.begin(), own.gradient.end());
    }
    group_
        ->start_all_to_all(std::as_bytes(std::span<const float>(copies)), sent,
                           std::as_writable_bytes(std::span<float>(rows)), received)
        .wait();
    if (!mine) return;
    const Share share = share_of(all, me, step);
    const LargeVector<float> said = lies_about(*share.lie, rows, share.of, d, step);
    const auto begin = said.begin() + static_cast<std::ptrdiff_t>(share.place * d);
    own.gradient.assign(begin, begin + static_cast<std::ptrdiff_t>(d));
  }

  int worker_;
  libtorch::Crew crew_;
  bool late_, stalled_ = false;
  std::unique_ptr<dist::Communicator> group_;
};

}  // namespace

std::unique_ptr<Team> make_crew_team(const TeamOptions& options, const libtorch::World& world) {
  return std::make_unique<CrewTeam>(options, world);
}

}  // namespace medgrad::language
