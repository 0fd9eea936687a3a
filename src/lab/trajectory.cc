#include "lab/trajectory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "base/shuffle.h"
#include "lab/results.h"
#include "medgrad/attack.h"
#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "medgrad/stable.h"

namespace medgrad::lab {
namespace {

constexpr double kLeastTau = std::numeric_limits<double>::min();  // schedules may run off to 0
constexpr std::size_t kChunk = 128;  // steps whose noise is made at once: some 10 kB per gradient

// Streams of a run: for the noise of every gradient of a step, for its batch, for the target, for
// which steps are bad, for labels in another order, and for the first weights of a network.
constexpr std::uint64_t kStreams = 1 << 16;
constexpr std::uint64_t kTargetStream = kStreams - 1, kBatchStreams = kStreams / 2;
constexpr std::uint64_t kBadStream = kStreams - 2, kLabelStream = kStreams - 3,
                        kWeightStream = kStreams - 4;

// Of the objectives that have data: how many rows; 0 of others.
std::size_t rows_of(const Objective& objective) {
  if (const auto* regression = std::get_if<Regression>(&objective)) return regression->b.size();
  if (const auto* network = std::get_if<Network>(&objective)) return network->b.size();
  return 0;
}

// Over some rows of data, or, where none are named, over all.
void gradient_over(const Objective& objective, std::span<const double> w,
                   std::span<const std::uint32_t> rows, std::span<double> out) {
  if (rows.empty()) {
    gradient(objective, w, out);
  } else if (const auto* network = std::get_if<Network>(&objective)) {
    gradient(*network, w, rows, out);
  } else {
    gradient(std::get<Regression>(objective), w, rows, out);
  }
}

// The same data with labels in an order that belongs to the run.
Objective with_shuffled_labels(Objective objective, const Philox& random) {
  auto* network = std::get_if<Network>(&objective);
  std::vector<double>& b = network != nullptr ? network->b : std::get<Regression>(objective).b;
  shuffle(std::span(b), random);
  return objective;
}

std::vector<double> first_weights(const Problem& problem, const Objective& objective,
                                  const Philox& random) {
  std::vector<double> w(dimension(objective), problem.start);
  if (const auto* network = std::get_if<Network>(&objective)) {
    random.fill_normal(w);
    for (double& x : w) x *= problem.start / std::sqrt(static_cast<double>(network->inputs));
  }
  return w;
}

double squared_norm(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return sum;
}

// E|delta - X| - E|X| of a Cauchy or symmetric stable X: 2 times the integral of F(u) - 1/2 over
// (0, delta).
double excess(const NoiseModel& noise, double delta) {
  const double x = std::abs(delta);
  if (const auto* cauchy = std::get_if<Cauchy>(&noise)) {
    const double z = x / cauchy->scale;
    return cauchy->scale * 2 / std::numbers::pi * (z * std::atan(z) - std::log1p(z * z) / 2);
  }
  const Stable law(std::get<StableParameters>(noise));
  constexpr int kPanels =
      64;  // Simpson: the error is below 1e-8 of the result for delta up to 10 scales
  double sum = 0;
  for (int i = 0; i <= kPanels; ++i) {
    const double weight = i == 0 || i == kPanels ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * (0.5 - law.survival(x * i / kPanels));
  }
  return 2 * sum * x / (3 * kPanels);
}

// What is drawn for a chunk of steps, for all methods alike.
struct Draws {
  std::size_t samples, chunk, d;
  bool corrupts;
  std::vector<double> noise;           // samples x chunk x d; empty without noise
  std::vector<std::uint32_t> batches;  // samples x chunk x batch; empty without batches
  std::vector<double> chance;          // chunk: a step is bad where this is below its share

  [[nodiscard]] std::span<const std::uint32_t> batch(std::size_t i, std::size_t k,
                                                     std::size_t size) const {
    return std::span(batches).subspan((i * chunk + k) * size, size);
  }
  // Steps first … first + count - 1.
  void draw(const Problem& problem, std::uint64_t seed, std::uint64_t run, std::size_t first,
            std::size_t count) {
    const std::uint64_t streams = run * kStreams;
    if (corrupts)
      Philox(seed, streams + kBadStream).fill_uniform(std::span(chance).first(count), first);
    std::vector<double> u;
    for (std::size_t i = 0; i < samples; ++i) {
      if (problem.noise) {
        sample(*problem.noise, std::span(noise).subspan(i * chunk * d, count * d), d, seed,
               streams + i, first);
      }
      if (problem.batch > 0) {
        u.resize(count * problem.batch);
        Philox(seed, streams + kBatchStreams + i).fill_uniform(u, first * problem.batch);
        const auto rows = static_cast<double>(rows_of(problem.objective));
        std::ranges::transform(
            u, batches.begin() + static_cast<std::ptrdiff_t>(i * chunk * problem.batch),
            [&](double x) { return static_cast<std::uint32_t>(x * rows); });
      }
    }
  }
};

// One method on its way.
class Walk {
 public:
  Walk(const Problem& problem, const Objective& objective, const MethodCase& method,
       std::uint64_t seed, std::uint64_t run)
      : problem_(problem),
        objective_(objective),
        method_(method),
        optimizer_(method.method, dimension(objective)),
        flip_{.flips = problem.corruption.flips, .seed = seed + run},
        w_(first_weights(problem, objective, Philox(seed, run * kStreams + kWeightStream))),
        gradient_(w_.size()),
        gradients_(optimizer_.samples() * w_.size()),
        limit_(problem.divergence * (1 + std::abs(value(objective, w_)))),
        moves_(largest(method.eta) != 0),
        theta_(static_cast<double>(problem.steps) / (static_cast<double>(problem.steps) + 2)) {
    const auto wants = [&](Metric metric) {
      return std::ranges::find(problem.metrics, metric) != problem.metrics.end();
    };
    if (wants(Metric::averaged_objective)) average_w_.assign(w_.size(), 0);
    if (wants(Metric::l1_excess)) average_m_.assign(w_.size(), 0);
    wants_gradient_sum_ = wants(Metric::average_gradient_sq);
    if (problem.corruption.kind == Corruption::Kind::shuffled_labels)
      mislabelled_ = with_shuffled_labels(objective, Philox(seed, run * kStreams + kLabelStream));
    out_.reserve(problem.metrics.size() * problem.recorded.size());
  }

  // Steps first … first + count - 1. Where `ready`, the draws are whole gradients.
  void advance(std::size_t first, std::size_t count, const Draws& draws, bool ready) {
    const std::size_t d = w_.size();
    for (std::size_t k = 0; k < count && first + k < problem_.steps && !diverged_; ++k) {
      const std::size_t t = first + k;
      if (t == problem_.recorded[next_]) record(t);
      if (diverged_) return;
      if (const std::size_t span = still_span(first, k, count); ready && span > 1) {
        optimizer_.track(Rows<double>(draws.noise.data() + k * d, span, d));
        k += span - 1;
        continue;
      }
      if (method_.tau)
        optimizer_.set_tau(std::max(value_at(*method_.tau, t, problem_.steps), kLeastTau));
      before_step(t);
      const Rows<double> rows =
          ready ? Rows<double>(draws.noise.data() + k * d, optimizer_.samples(), d, draws.chunk * d)
                : gradients(draws, k, t);
      const double eta = moves_ ? value_at(method_.eta, t, problem_.steps) : 0;
      optimizer_.step(w_, eta / problem_.scale, rows);
      if (moves_ && !(squared_norm(w_) < std::numeric_limits<double>::max())) diverged_ = true;
      after_step();
    }
  }
  // What a method throws ends its own run and no other.
  void advance_or_fail(std::size_t first, std::size_t count, const Draws& draws, bool ready) {
    try {
      advance(first, count, draws, ready);
    } catch (const Error&) {
      diverged_ = true;
      ended_ = kFailed;
    }
  }
  void finish() {
    if (!diverged_) record(problem_.steps);
  }
  // metrics x recorded steps.
  void append_to(std::vector<double>& numbers) const {
    const std::size_t metrics = problem_.metrics.size(), steps = problem_.recorded.size();
    for (std::size_t m = 0; m < metrics; ++m)
      for (std::size_t s = 0; s < steps; ++s)
        numbers.push_back(s * metrics + m < out_.size() ? out_[s * metrics + m] : ended_);
  }

 private:
  // How many steps from k on only estimate: up to the next that is recorded, where w stands still
  // and nothing is averaged.
  [[nodiscard]] std::size_t still_span(std::size_t first, std::size_t k, std::size_t count) const {
    const bool still = !moves_ && !method_.tau && average_w_.empty() && average_m_.empty() &&
                       !wants_gradient_sum_ && optimizer_.samples() == 1;
    return still ? std::min(first + count, problem_.recorded[next_]) - (first + k) : 1;
  }

  // The gradients of step k of the chunk, which is step t.
  Rows<double> gradients(const Draws& draws, std::size_t k, std::size_t t) {
    using Kind = Corruption::Kind;
    const std::size_t d = w_.size(), n = optimizer_.samples();
    const double factor =
        problem_.state_dependent ? StateDependent::factor(std::span<const double>(w_)) : 1;
    const Corruption& corruption = problem_.corruption;
    const bool bad = draws.chance[k] < corruption.share;
    const bool mislabelled = bad && corruption.kind == Kind::shuffled_labels;
    const double scale =
        problem_.scale * (bad && corruption.kind == Kind::scaled ? corruption.factor : 1);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == 0 || problem_.batch > 0)
        gradient_over(mislabelled ? *mislabelled_ : objective_, w_,
                      draws.batch(i, k, problem_.batch), gradient_);
      const std::span<double> g = std::span(gradients_).subspan(i * d, d);
      std::ranges::copy(gradient_, g.begin());
      if (!draws.noise.empty()) {
        const double* xi = draws.noise.data() + (i * draws.chunk + k) * d;
        for (std::size_t j = 0; j < d; ++j) g[j] += factor * xi[j];
      }
      if (scale != 1) {
        for (double& x : g) x *= scale;
      }
      if (bad && corruption.kind == Kind::bit_flip) {
        flipped_.resize(d);
        attack(flip_, Rows<double>(g.data(), 1, d), 1, std::span(flipped_), {.round = t * n + i});
        std::ranges::copy(flipped_, g.begin());
      }
    }
    return {gradients_.data(), n, d};
  }

  // Averages over s < t see w_t before it moves.
  void before_step(std::size_t t) {
    if (!average_w_.empty()) {
      const double weight = std::pow(theta_, static_cast<double>(t));
      for (std::size_t j = 0; j < w_.size(); ++j) average_w_[j] += weight * w_[j];
      weights_ += weight;
    }
    if (wants_gradient_sum_) {
      gradient(objective_, w_, gradient_);
      gradient_sum_ += squared_norm(gradient_);
    }
  }
  void after_step() {
    if (average_m_.empty()) return;
    const std::span<const double> m = optimizer_.estimate();
    for (std::size_t j = 0; j < m.size(); ++j) average_m_[j] += m[j] / problem_.scale;
  }

  void record(std::size_t t) {
    ++next_;
    const double f = value(objective_, w_);
    if (moves_ && !(std::abs(f) <= limit_)) {
      diverged_ = true;
      return;
    }
    for (const Metric metric : problem_.metrics)
      out_.push_back(measure(metric, static_cast<double>(t), f));
  }

  double measure(Metric metric, double t, double f) {
    switch (metric) {
      case Metric::objective:
        return f;
      case Metric::averaged_objective: {
        if (t == 0) return f;
        std::vector<double> mean = average_w_;
        for (double& x : mean) x /= weights_;
        return value(objective_, mean);
      }
      case Metric::gradient_sq:
        gradient(objective_, w_, gradient_);
        return squared_norm(gradient_);
      case Metric::average_gradient_sq:
        if (t == 0) return measure(Metric::gradient_sq, 0, f);
        return gradient_sum_ / t;
      case Metric::relative_error: {
        gradient(objective_, w_, gradient_);
        const std::span<const double> m = optimizer_.estimate();
        double error = 0, size = 0;
        for (std::size_t j = 0; j < m.size(); ++j) {
          error = std::hypot(error, m[j] / problem_.scale - gradient_[j]);
          size = std::hypot(size, gradient_[j]);
        }
        return error == 0 ? 0 : error / size;
      }
      case Metric::l1_excess: {
        gradient(objective_, w_, gradient_);
        double sum = 0;
        for (std::size_t j = 0; j < w_.size(); ++j)
          sum += excess(*problem_.noise, average_m_[j] / std::max(t, 1.0) - gradient_[j]);
        return sum;
      }
    }
    return kDiverged;
  }

  const Problem& problem_;
  const Objective& objective_;
  const MethodCase& method_;
  Optimizer optimizer_;
  BitFlip flip_;
  std::optional<Objective> mislabelled_;
  std::vector<double> w_, gradient_, gradients_, flipped_, average_w_, average_m_, out_;
  double limit_;
  bool moves_, wants_gradient_sum_ = false, diverged_ = false;
  double ended_ = kDiverged;  // what stands for the rest of a run that has ended
  double theta_, weights_ = 0, gradient_sum_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

std::string_view name(Metric metric) {
  constexpr std::string_view kNames[] = {"objective",           "averaged_objective", "gradient_sq",
                                         "average_gradient_sq", "relative_error",     "l1_excess"};
  return kNames[static_cast<std::size_t>(metric)];
}

std::vector<std::size_t> recorded_steps(std::size_t steps) {
  std::set<std::size_t> chosen = {0, steps};
  for (std::size_t decade = 1; decade <= steps; decade *= 10)
    for (const std::size_t k : {1U, 2U, 5U})
      if (k * decade <= steps) chosen.insert(k * decade);
  for (std::size_t i = 1; i < 20; ++i) chosen.insert(steps * i / 20);
  return {chosen.begin(), chosen.end()};
}

bool share_draws(const Problem& a, const Problem& b) {
  return a.batch == 0 && b.batch == 0 && a.noise_name == b.noise_name &&
         dimension(a.objective) == dimension(b.objective);
}

std::vector<double> run_trajectories(std::span<const Problem* const> problems, std::uint64_t seed,
                                     std::uint64_t run) {
  const Problem& first_problem = *problems.front();
  const std::size_t d = dimension(first_problem.objective);
  FixedTarget target{std::vector<double>(d)};
  Philox(seed, run * kStreams + kTargetStream).fill_normal(target.target);
  const Objective drawn = target;

  std::vector<Walk> walks;
  std::size_t samples = 1, steps = 1;
  // Where the gradient never changes, it is added to the noise once for all methods.
  bool ready = first_problem.noise.has_value();
  for (const Problem* problem : problems) {
    const bool fixed = std::holds_alternative<FixedTarget>(problem->objective);
    ready = ready && fixed && !problem->state_dependent && problem->scale == 1 &&
            problem->corruption.share == 0;
    steps = std::max(steps, problem->steps);
    for (const MethodCase& method : problem->methods) {
      walks.emplace_back(*problem, fixed ? drawn : problem->objective, method, seed, run);
      samples = std::max(samples, samples_of(method.method));
    }
  }
  const std::size_t chunk = std::min(kChunk, steps);
  const bool corrupts = std::ranges::any_of(
      problems, [](const Problem* problem) { return problem->corruption.share > 0; });
  Draws draws{samples,
              chunk,
              d,
              corrupts,
              std::vector<double>(first_problem.noise ? samples * chunk * d : 0),
              std::vector<std::uint32_t>(samples * chunk * first_problem.batch),
              std::vector<double>(chunk, 1)};
  for (std::size_t first = 0; first < steps; first += chunk) {
    const std::size_t count = std::min(chunk, steps - first);
    draws.draw(first_problem, seed, run, first, count);
    for (std::size_t i = 0; ready && i < samples; ++i) {
      double* row = draws.noise.data() + i * chunk * d;
      for (std::size_t k = 0; k < count; ++k, row += d)
        for (std::size_t j = 0; j < d; ++j) row[j] += target.target[j];
    }
    for (Walk& walk : walks) walk.advance_or_fail(first, count, draws, ready);
  }
  std::vector<double> numbers;
  for (Walk& walk : walks) {
    walk.finish();
    walk.append_to(numbers);
  }
  return numbers;
}

}  // namespace medgrad::lab
