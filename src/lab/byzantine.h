// Learning with n workers of which f lie: one problem, and one run of one rule on it.
//
// Worker i has a share of the data. In every step it takes a gradient on a batch of its share,
// follows it by its own method (worker.h), and sends the result v_i; the liars, who come last, see
// what the others send and choose what they send themselves. A rule makes m of all, and
// w <- w - eta m.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/grid.h"
#include "lab/study.h"
#include "medgrad/attack.h"
#include "medgrad/objective.h"
#include "medgrad/pre_aggregators.h"
#include "medgrad/schedule.h"
#include "medgrad/worker.h"

namespace medgrad::lab {

struct ByzantineProblem {
  Axes axes = {};
  bool network = false;      // a network of two layers, or else linear regression
  std::size_t d = 10;        // inputs
  std::size_t hidden = 5;    // of a network
  std::size_t workers = 20;  // n
  std::size_t rows = 32;     // of each share
  double error = 0.5;        // standard deviation of what the targets have beside the truth
  double skew = 0;           // how different the shares are
  std::size_t batch = 8;
  std::size_t steps = 50;
  Schedule eta = {};
  WorkerMethod worker = {};
  std::vector<std::size_t> f = {};
};

// The data of a run, the same for every rule, attack and f, and what is drawn from them.
//
// Inputs are normal, and targets are those of a random truth, with normal errors. With a skew s,
// every share has its own: its inputs are shifted by s/2 times a normal vector, and its truth by s
// times one (of a network: its output by s times a normal number).
class ByzantineData {
 public:
  ByzantineData(const ByzantineProblem& problem, std::uint64_t seed, std::uint64_t run);

  // The batch of worker i in step t, from its share or, flipped, with targets of the other sign.
  void gradient(std::size_t i, std::size_t t, bool flipped, std::span<const double> w,
                std::span<double> out) const;
  // The mean loss over all of the shares first … last - 1.
  [[nodiscard]] double loss(std::size_t first, std::size_t last, bool flipped,
                            std::span<const double> w) const;
  [[nodiscard]] const std::vector<double>& start() const { return start_; }

 private:
  const ByzantineProblem& problem_;
  std::vector<Objective> shares_, flipped_;
  std::vector<std::uint32_t> batches_;  // steps x workers x batch
  std::vector<double> start_;
};

struct ByzantineOutcome {
  double loss = 0;   // over the shares of the honest after the last step; NaN where it diverged
  double worse = 0;  // the larger of that and of the loss over the liars' flipped shares
};

// Without an attack, as with Silent, the f liars send nothing, and the rule gets the rows of the
// others alone. Optimal strengths are found against the rule, in every step.
[[nodiscard]] ByzantineOutcome run_byzantine(const ByzantineProblem& problem,
                                             const ByzantineData& data, const Rule& rule,
                                             const Attack* attack, std::size_t f,
                                             std::uint64_t run);

// ---- What a study tries -------------------------------------------------------------------------

struct RuleCase {
  std::string label, key;
  // What it is for each number of liars; none where it does not bear so many, or is not asked to.
  std::vector<std::optional<Rule>> rules;
  // What it is for none: where liars are silent, it is known how many rows are missing.
  std::optional<Rule> trusting;

  [[nodiscard]] const Rule& against(const Attack* attack, std::size_t k) const {
    const bool silent = attack != nullptr && std::holds_alternative<Silent>(*attack);
    return silent && trusting ? *trusting : *rules[k];
  }
};

struct AttackCase {
  std::string label;
  Attack attack;
};

// A point of the grid, with what is tried on it.
struct ByzantineTrial {
  ByzantineProblem problem;
  std::vector<RuleCase> rules;
  std::vector<AttackCase> attacks;

  // use(k, attack) for every cell of a rule, k being the place of f in the list; without liars
  // there is no attack, and where half of the workers lie only one that has data of its own.
  template <class Use>
  void for_each_cell(const RuleCase& rule, const Use& use) const {
    for (std::size_t k = 0; k < problem.f.size(); ++k) {
      if (!rule.rules[k]) continue;
      if (problem.f[k] == 0) {
        use(k, nullptr);
        continue;
      }
      for (const AttackCase& attack : attacks)
        if (!is_half(k) || needs_data(attack.attack)) use(k, &attack);
    }
  }
  [[nodiscard]] bool is_half(std::size_t k) const { return 2 * problem.f[k] >= problem.workers; }
};

// n normal rows around a centre: |result - centre|^2 / (d/n), the mean's being 1 on average. A rule
// that keeps a centre keeps it from trial to trial, as it would from step to step.
struct TradeOff {
  std::size_t workers = 20, d = 10, trials = 400;
  std::vector<std::size_t> f = {};
  std::vector<RuleCase> rules = {};
};
inline constexpr std::size_t kTradeOffBatches = 20;  // of trials, for a standard error

[[nodiscard]] std::unique_ptr<Study> make_byzantine(std::vector<ByzantineTrial> trials,
                                                    TradeOff trade_off, std::size_t runs,
                                                    std::uint64_t seed);

}  // namespace medgrad::lab
