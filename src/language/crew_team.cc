#include "language/crew_team.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "language/group_team.h"
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

class CrewTeam final : public ProcessTeam {
 public:
  CrewTeam(const TeamOptions& options, const libtorch::World& world)
      : ProcessTeam(options, world.worker),
        crew_(world.store, world.worker, world.workers, crew_options(options, world)),
        late_(crew_.epoch() > 0),
        depends_on_worker_0_(world.store_is_in_worker_0) {}

  std::vector<int> members() const override {
    std::vector<int> all = crew_.members();
    if (worker_0_is_gone_) std::erase(all, 0);
    return all;
  }
  bool joined_late() const override { return late_; }
  bool was_let_in() const override { return crew_.was_let_in(); }

  void gather() override {
    group_.reset();
    try {
      group_ = crew_.form();
      if (!std::exchange(gathered_, true)) late_ = late_ || crew_.was_let_in();
      validate(options().rule, static_cast<std::size_t>(group_->size()));
    } catch (const libtorch::BelowQuorum& below) {
      throw TooFew(below.what());
    } catch (const libtorch::CannotMeet& alone) {
      worker_0_is_gone_ = depends_on_worker_0_ && worker_ != 0;
      throw TooFew(alone.what());
    } catch (const libtorch::RunEnded& ended) {
      throw std::runtime_error(ended.what());  // others have saved it
    } catch (const Error& error) {
      if (group_ == nullptr) throw;
      throw TooFew(fmt::format("The rule needs more workers than are left: {}", error.what()));
    }
  }

  void part() override {
    try {
      if (group_ != nullptr) group_->barrier();  // worker 0 may have the meeting point
    } catch (const dist::Lost&) {
      // Others have gone before.
    }
    try {
      if (leads()) crew_.finish();
    } catch (const libtorch::CannotMeet&) {
      // Nobody can come any more.
    }
    group_.reset();
  }

 private:
  // Without a meeting point nobody could ever come back: rank 0, which writes, saves and leaves,
  // and the others notice.
  bool waits() override {
    try {
      return group_->rank() == 0 && crew_.knocked() > crew_.known();
    } catch (const libtorch::CannotMeet& alone) {
      group_.reset();
      throw TooFew(alone.what());
    }
  }

  libtorch::Crew crew_;
  bool late_, gathered_ = false;
  bool depends_on_worker_0_;       // which has the meeting point
  bool worker_0_is_gone_ = false;  // and the meeting point with it
};

}  // namespace

std::unique_ptr<Team> make_crew_team(const TeamOptions& options, const libtorch::World& world) {
  return std::make_unique<CrewTeam>(options, world);
}

}  // namespace medgrad::language
