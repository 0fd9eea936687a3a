// Workers that are processes of their own: what those have in common who may come and go
// (crew_team.h), and those of a fixed group (MPI), which ends where one of them is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "language/team.h"
#include "medgrad/dist/communicator.h"

namespace medgrad::language {

// One worker, this process, and a group in which it talks to the others.
class ProcessTeam : public Team {
 public:
  ProcessTeam(const TeamOptions& options, int worker) : Team(options), worker_(worker) {}

  std::vector<int> here() const override { return {worker_}; }
  bool leads() const override { return !members().empty() && members().front() == worker_; }
  bool has_others() const override { return true; }
  bool begin(std::uint64_t step) override;
  void check_settings(std::span<const dist::Setting> mine) override;
  void catch_up(std::optional<std::uint64_t> steps, const std::function<std::string()>& save,
                const std::function<void(const std::string&)>& load) override;
  // Throws Error on a worker that is about something else than the others, and on those dist::Lost.
  Joint combine(std::uint64_t step, std::span<Contribution> mine, Wish wish,
                std::span<float> result) override;

 protected:
  // Does somebody wait to be let in?
  [[nodiscard]] virtual bool waits() { return false; }

  int worker_;
  std::unique_ptr<dist::Communicator> group_;  // null: lost

 private:
  // An exchange with the others, after which those who do not fit are gone.
  template <class Exchange>
  auto together(const Exchange& exchange);
  void lie(Contribution& own, std::uint64_t step);
  bool stalled_ = false;
};

// A worker for each rank of the group. gather() throws TooFew once somebody was lost: all that is
// left is to save and to end.
[[nodiscard]] std::unique_ptr<Team> make_group_team(const TeamOptions& options,
                                                    std::unique_ptr<dist::Communicator> group);

}  // namespace medgrad::language
