#include "language/crew_team.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

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
      if (options().byzantine > 0 && !needs_data(options().attack)) lie(own, step);
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
    const std::size_t d = own.gradient.size(), bytes = d * sizeof(float);
    const std::vector<int>& all = crew_.members();
    const auto liars =
        static_cast<std::size_t>(std::ranges::count_if(all, [&](int w) { return lies(w); }));
    const std::size_t honest = all.size() - liars;  // who come first
    if (liars == 0) return;
    const bool mine = lies(own.worker);
    std::vector<std::size_t> sent(all.size()), received(all.size());
    LargeVector<float> copies, rows(mine ? honest * d : 0);
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (mine && r < honest) received[r] = bytes;
      if (mine || r < honest) continue;
      sent[r] = bytes;
      copies.insert(copies.end(), own.gradient.begin(), own.gradient.end());
    }
    group_
        ->start_all_to_all(std::as_bytes(std::span<const float>(copies)), sent,
                           std::as_writable_bytes(std::span<float>(rows)), received)
        .wait();
    if (!mine) return;
    const LargeVector<float> said = lies_about(rows, liars, d, step);
    const std::size_t k = static_cast<std::size_t>(group_->rank()) - honest;
    own.gradient.assign(said.begin() + static_cast<std::ptrdiff_t>(k * d),
                        said.begin() + static_cast<std::ptrdiff_t>((k + 1) * d));
  }

  int worker_;
  libtorch::Crew crew_;
  bool late_;
  std::unique_ptr<dist::Communicator> group_;
};

}  // namespace

std::unique_ptr<Team> make_crew_team(const TeamOptions& options, const libtorch::World& world) {
  return std::make_unique<CrewTeam>(options, world);
}

}  // namespace medgrad::language
