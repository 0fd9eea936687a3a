// The study of rules against liars, and of what the rules cost where nobody lies.
#include <algorithm>
#include <cmath>

#include "lab/byzantine.h"
#include "lab/results.h"
#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "medgrad/sample.h"

namespace medgrad::lab {
namespace {

using Trial = ByzantineTrial;

std::vector<double> relative_errors(const TradeOff& of, const Rule& rule, std::uint64_t seed) {
  const std::size_t n = of.workers, d = of.d;
  std::vector<double> rows(n * d), m(d, 1), centre(d), errors;
  const Philox random(seed, ~std::uint64_t{0});
  for (std::size_t t = 0; t < of.trials; ++t) {
    random.fill_normal(rows, t * n * d);
    for (double& x : rows) x += 1;
    const bool centred = keeps_center(rule);
    if (centred) centre = m;
    aggregate<double>(
        rule, Rows<double>(rows, n, d), m,
        {.center = centred ? std::span<const double>(centre) : std::span<const double>(),
         .round = t});
    double square = 0;
    for (const double x : m) square += (x - 1) * (x - 1);
    errors.push_back(square * static_cast<double>(n) / static_cast<double>(d));
  }
  return errors;
}

// Tasks: for every point of the grid and every run, one that has no liars and one per rule; then
// one for every rule and f of the trade-off.
class Byzantine final : public TaskStudy {
 public:
  Byzantine(std::vector<Trial> trials, TradeOff trade_off, std::size_t runs, std::uint64_t seed)
      : trials_(std::move(trials)), trade_off_(std::move(trade_off)), runs_(runs), seed_(seed) {
    for (std::size_t i = 0; i < trials_.size(); ++i)
      for (std::size_t run = 0; run < runs_; ++run)
        for (std::size_t rule = 0; rule <= trials_[i].rules.size(); ++rule)
          tasks_.push_back({i, run, rule});
    for (std::size_t rule = 0; rule < trade_off_.rules.size(); ++rule)
      for (std::size_t k = 0; k < trade_off_.f.size(); ++k)
        if (trade_off_.rules[rule].rules[k]) tasks_.push_back({trials_.size(), k, rule});
  }

  std::size_t tasks() const override { return tasks_.size(); }

  std::vector<double> run_task(std::size_t task) const override {
    const auto [at, run, rule] = tasks_[task];
    if (at == trials_.size())
      return relative_errors(trade_off_, *trade_off_.rules[rule].rules[run], seed_);
    const Trial& trial = trials_[at];
    const ByzantineData data(trial.problem, seed_, run);
    return rule == 0 ? without_liars(trial, data, run)
                     : with_liars(trial, trial.rules[rule - 1], data, run);
  }

  std::vector<Group> collect(const std::vector<std::vector<double>>& numbers) const override {
    std::vector<Group> groups;
    std::size_t task = 0;
    for (const Trial& trial : trials_) {
      collect_trial(trial, std::span(numbers).subspan(task), groups);
      task += runs_ * (trial.rules.size() + 1);
    }
    for (; task < tasks_.size(); ++task) {
      const auto [at, k, rule] = tasks_[task];
      const RuleCase& of = trade_off_.rules[rule];
      Group group{.method = of.label,
                  .key = of.key,
                  .axes = {{"f", static_cast<double>(trade_off_.f[k])}},
                  .metric = "relative_variance",
                  .runs = kTradeOffBatches};
      const std::size_t batch = trade_off_.trials / kTradeOffBatches;
      for (std::size_t b = 0; b < kTradeOffBatches; ++b) {
        double sum = 0;
        for (std::size_t i = 0; i < batch; ++i) sum += numbers[task][b * batch + i];
        group.values.push_back(sum / static_cast<double>(batch));
      }
      summarise(group);
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  struct Task {
    std::size_t trial, run, rule;
  };

  // For every f: the loss at the start, and after the last step of the mean of the honest.
  [[nodiscard]] std::vector<double> without_liars(const Trial& trial, const ByzantineData& data,
                                                  std::size_t run) const {
    std::vector<double> numbers;
    for (const std::size_t f : trial.problem.f) {
      numbers.push_back(data.loss(0, trial.problem.workers - f, false, data.start()));
      numbers.push_back(run_byzantine(trial.problem, data, Mean{}, nullptr, f, run).loss);
    }
    return numbers;
  }

  [[nodiscard]] std::vector<double> with_liars(const Trial& trial, const RuleCase& rule,
                                               const ByzantineData& data, std::size_t run) const {
    std::vector<double> numbers;
    trial.for_each_cell(rule, [&](std::size_t k, const AttackCase* attack) {
      const Attack* const lie = attack != nullptr ? &attack->attack : nullptr;
      try {
        const ByzantineOutcome end =
            run_byzantine(trial.problem, data, rule.against(lie, k), lie, trial.problem.f[k], run);
        numbers.push_back(trial.is_half(k) ? end.worse : end.loss);
      } catch (const Error&) {
        numbers.push_back(kFailed);
      }
    });
    return numbers;
  }

  // `numbers` are those of its tasks.
  void collect_trial(const Trial& trial, std::span<const std::vector<double>> numbers,
                     std::vector<Group>& groups) const {
    const std::size_t per_run = trial.rules.size() + 1;
    const auto at_f = [&](std::size_t k, std::string_view attack) {
      Axes axes = trial.problem.axes;
      axes.emplace_back("attack", std::string(attack));
      axes.emplace_back("f", static_cast<double>(trial.problem.f[k]));
      return axes;
    };
    const auto add = [&](Group group, const auto& value) {
      group.runs = runs_;
      for (std::size_t run = 0; run < runs_; ++run) group.values.push_back(value(run));
      summarise(group);
      groups.push_back(std::move(group));
    };
    const auto base = [&](std::size_t run, std::size_t k) {
      return numbers[run * per_run][2 * k + 1];
    };
    for (std::size_t k = 0; k < trial.problem.f.size(); ++k) {
      add({.method = "without liars", .key = "exact", .axes = at_f(k, "none"), .metric = "loss"},
          [&](std::size_t run) { return base(run, k); });
      add({.method = "start", .key = "theory", .axes = at_f(k, "none"), .metric = "relative_loss"},
          [&](std::size_t run) { return numbers[run * per_run][2 * k] / base(run, k); });
    }
    for (std::size_t r = 0; r < trial.rules.size(); ++r) {
      const RuleCase& rule = trial.rules[r];
      std::size_t cell = 0;
      trial.for_each_cell(rule, [&](std::size_t k, const AttackCase* attack) {
        add({.method = rule.label,
             .key = rule.key,
             .axes = at_f(k, attack != nullptr ? attack->label : "none"),
             .metric = trial.is_half(k) ? "worse_camp" : "relative_loss"},
            [&](std::size_t run) {
              const double loss = numbers[run * per_run + 1 + r][cell];
              return is_failed(loss) ? loss : loss / base(run, k);
            });
        ++cell;
      });
    }
  }

  std::vector<Trial> trials_;
  TradeOff trade_off_;
  std::size_t runs_;
  std::uint64_t seed_;
  std::vector<Task> tasks_;
};

}  // namespace

std::unique_ptr<Study> make_byzantine(std::vector<ByzantineTrial> trials, TradeOff trade_off,
                                      std::size_t runs, std::uint64_t seed) {
  return std::make_unique<Byzantine>(std::move(trials), std::move(trade_off), runs, seed);
}

}  // namespace medgrad::lab
