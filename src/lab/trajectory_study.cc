// The study of methods on problems: every run of every point of the grid is a task.
#include <algorithm>

#include "lab/trajectory.h"

namespace medgrad::lab {
namespace {

class Trajectories final : public TaskStudy {
 public:
  Trajectories(std::vector<Problem> problems, std::uint64_t seed, std::size_t runs)
      : problems_(std::move(problems)), seed_(seed), runs_(runs) {
    for (const Problem& problem : problems_) {
      const auto like = std::ranges::find_if(
          together_, [&](const auto& group) { return share_draws(*group.front(), problem); });
      (like != together_.end() ? *like : together_.emplace_back()).push_back(&problem);
    }
  }

  std::size_t tasks() const override { return together_.size() * runs_; }
  bool has_heavy_tails() const override {
    return std::ranges::any_of(problems_, [](const Problem& problem) {
      return problem.noise && !has_variance(*problem.noise);
    });
  }
  std::vector<double> run_task(std::size_t task) const override {
    return run_trajectories(together_[task / runs_], seed_, task % runs_);
  }

  std::vector<Group> collect(const std::vector<std::vector<double>>& numbers) const override {
    std::vector<Group> groups;
    for (const Problem& problem : problems_) {
      // Where its numbers are: in which tasks, and from where on.
      std::size_t first_task = 0, at = 0;
      for (const auto& group : together_) {
        const auto found = std::ranges::find(group, &problem);
        if (found == group.end()) {
          first_task += runs_;
          continue;
        }
        for (auto before = group.begin(); before != found; ++before) at += numbers_of(**before);
        break;
      }
      for (const MethodCase& method : problem.methods) {
        for (const Metric metric : problem.metrics) {
          Group group = group_of(problem, method);
          group.metric = name(metric);
          group.steps = problem.recorded;
          group.values.resize(group.steps.size() * runs_);
          for (std::size_t s = 0; s < group.steps.size(); ++s)
            for (std::size_t run = 0; run < runs_; ++run)
              group.values[s * runs_ + run] = numbers[first_task + run][at + s];
          at += group.steps.size();
          summarise(group);
          groups.push_back(std::move(group));
          groups.push_back(final_of(groups.back()));
        }
      }
    }
    return groups;
  }

 private:
  [[nodiscard]] Group group_of(const Problem& problem, const MethodCase& method) const {
    Group group{.method = method.label, .key = method.key, .axes = problem.axes, .runs = runs_};
    for (const auto& [axis, at] : method.axes) {
      const bool taken =
          std::ranges::find(problem.axes, axis, &Axes::value_type::first) != problem.axes.end();
      group.axes.emplace_back(taken ? "method." + axis : axis, at);
    }
    return group;
  }
  // The same metric after the last step, under a name of its own; the values are not repeated.
  static Group final_of(const Group& from) {
    return {.method = from.method,
            .key = from.key,
            .axes = from.axes,
            .metric = "final_" + from.metric,
            .stats = {from.stats.back()}};
  }

  static std::size_t numbers_of(const Problem& problem) {
    return problem.methods.size() * problem.metrics.size() * problem.recorded.size();
  }

  std::vector<Problem> problems_;
  std::vector<std::vector<const Problem*>> together_;  // with the same draws: one task per run
  std::uint64_t seed_;
  std::size_t runs_;
};

}  // namespace

std::unique_ptr<Study> make_trajectories(std::vector<Problem> problems, std::uint64_t seed,
                                         std::size_t runs) {
  return std::make_unique<Trajectories>(std::move(problems), seed, runs);
}

}  // namespace medgrad::lab
