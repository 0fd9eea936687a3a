#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/byzantine.h"
#include "lab/results.h"
#include "medgrad/rng.h"
#include "medgrad/sample.h"

namespace medgrad::lab {
namespace {

// Streams of a run, one per purpose and worker.
constexpr std::uint64_t kStreams = 1 << 20, kPerPurpose = 1 << 16;
enum class Purpose : std::uint64_t { inputs, errors, shifts, batches, truth, start };

Philox random(std::uint64_t seed, std::uint64_t run, Purpose purpose, std::size_t worker = 0) {
  return Philox(seed, run * kStreams + static_cast<std::uint64_t>(purpose) * kPerPurpose + worker);
}

std::vector<double> normal(const Philox& from, std::size_t n, double scale = 1) {
  std::vector<double> x(n);
  from.fill_normal(x);
  for (double& v : x) v *= scale;
  return x;
}

}  // namespace

ByzantineData::ByzantineData(const ByzantineProblem& problem, std::uint64_t seed, std::uint64_t run)
    : problem_(problem) {
  const std::size_t d = problem.d, rows = problem.rows;
  const Network shape{d, problem.hidden};
  const std::size_t size = problem.network ? shape.dimension() : d;
  const std::vector<double> truth = normal(random(seed, run, Purpose::truth), size);
  start_ = problem.network ? normal(random(seed, run, Purpose::start), size, 0.5)
                           : std::vector<double>(size);
  batches_.resize(problem.steps * problem.workers * problem.batch);
  for (std::size_t i = 0; i < problem.workers; ++i) {
    std::vector<double> a = normal(random(seed, run, Purpose::inputs, i), rows * d), b(rows);
    const std::vector<double> errors = normal(random(seed, run, Purpose::errors, i), rows),
                              shift = normal(random(seed, run, Purpose::shifts, i), d + size);
    std::vector<double> own = truth;
    if (problem.network) {
      own.back() += problem.skew * shift[d];
    } else {
      for (std::size_t j = 0; j < d; ++j) own[j] += problem.skew * shift[d + j];
    }
    for (std::size_t k = 0; k < rows; ++k) {
      const std::span<double> x = std::span(a).subspan(k * d, d);
      double z = 0;
      for (std::size_t j = 0; j < d; ++j) {
        x[j] += problem.skew / 2 * shift[j];
        z += x[j] * own[j];
      }
      b[k] = (problem.network ? shape.output(own, x) : z) + problem.error * errors[k];
    }
    for (const bool flipped : {false, true}) {
      if (flipped)
        for (double& y : b) y = -y;
      std::vector<Objective>& to = flipped ? flipped_ : shares_;
      if (problem.network) {
        to.emplace_back(Network{d, problem.hidden, a, b});
      } else {
        to.emplace_back(Regression{.dimension = d, .a = a, .b = b});
      }
    }
    std::vector<double> u(problem.steps * problem.batch);
    random(seed, run, Purpose::batches, i).fill_uniform(u);
    for (std::size_t k = 0; k < u.size(); ++k) {
      const std::size_t t = k / problem.batch;
      batches_[(t * problem.workers + i) * problem.batch + k % problem.batch] =
          static_cast<std::uint32_t>(u[k] * static_cast<double>(rows));
    }
  }
}

void ByzantineData::gradient(std::size_t i, std::size_t t, bool flipped, std::span<const double> w,
                             std::span<double> out) const {
  const std::size_t batch = problem_.batch;
  const auto rows = std::span(batches_).subspan((t * problem_.workers + i) * batch, batch);
  const Objective& share = (flipped ? flipped_ : shares_)[i];
  if (const auto* network = std::get_if<Network>(&share)) {
    medgrad::gradient(*network, w, rows, out);
  } else {
    medgrad::gradient(std::get<Regression>(share), w, rows, out);
  }
}

double ByzantineData::loss(std::size_t first, std::size_t last, bool flipped,
                           std::span<const double> w) const {
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += value((flipped ? flipped_ : shares_)[i], w);
  return sum / static_cast<double>(last - first);
}

ByzantineOutcome run_byzantine(const ByzantineProblem& problem, const ByzantineData& data,
                               const Rule& rule, const Attack* attack, std::size_t f,
                               std::uint64_t run) {
  const std::size_t n = problem.workers, honest = n - f, d = data.start().size();
  const bool flips = attack != nullptr && needs_data(*attack);
  const std::size_t follow = flips ? n : honest;  // who follows gradients
  const std::size_t lies = attack != nullptr ? rows_sent(*attack, f) : 0;
  std::vector<double> w = data.start(), m(d), centre(d), gradients(follow * d), sent(n * d);
  Workers<double> workers(problem.worker, follow, d, NonFinite::robust);
  const bool centred = keeps_center(rule);
  for (std::size_t t = 0; t < problem.steps; ++t) {
    for (std::size_t i = 0; i < follow; ++i)
      data.gradient(i, t, i >= honest, w, std::span(gradients).subspan(i * d, d));
    workers.update(Rows<double>(gradients, follow, d));
    std::copy_n(workers.vectors().row(0), follow * d, sent.begin());
    const std::uint64_t round = run * kStreams + t;
    if (centred) centre = m;
    const auto around = centred ? std::span<const double>(centre) : std::span<const double>();
    if (follow < honest + lies)
      (void)medgrad::attack<double>(*attack, Rows<double>(sent.data(), honest, d), f,
                                    std::span(sent).subspan(honest * d, lies * d),
                                    {.against = &rule, .center = around, .round = round});
    aggregate<double>(rule, Rows<double>(sent.data(), honest + lies, d), m,
                      {.center = around, .non_finite = NonFinite::robust, .round = round});
    const double eta = value_at(problem.eta, t, problem.steps);
    double size = 0;
    for (std::size_t j = 0; j < d; ++j) {
      w[j] -= eta * m[j];
      size += w[j] * w[j];
    }
    // Where losses would overflow, nothing is left to be measured.
    if (!(size < 1e100)) return {kDiverged, kDiverged};
  }
  ByzantineOutcome outcome{data.loss(0, honest, false, w), 0};
  outcome.worse = f == 0 ? outcome.loss : std::max(outcome.loss, data.loss(honest, n, true, w));
  return outcome;
}

}  // namespace medgrad::lab
