#include "language/crew_team.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>

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
        late_(crew_.epoch() > 0) {}

  std::vector<int> members() const override { return crew_.members(); }
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
  bool waits() override { return group_->rank() == 0 && crew_.knocked() > crew_.known(); }

  libtorch::Crew crew_;
  bool late_;
};

}  // namespace

std::unique_ptr<Team> make_crew_team(const TeamOptions& options, const libtorch::World& world) {
  return std::make_unique<CrewTeam>(options, world);
}

}  // namespace medgrad::language
