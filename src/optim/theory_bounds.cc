// Step sizes and bounds; the formulas are in theory.h.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/theory.h"

namespace medgrad::theory {
namespace {

void check_count(const char* name, std::uint64_t count) {
  if (count == 0) throw Error(name, "0", "it must be 1 or more");
}

void check(const MedianNoise& noise) {
  medgrad::check("delta_1", noise.delta_1, range::non_negative);
  medgrad::check("delta_2", noise.delta_2, range::non_negative);
  medgrad::check("sigma_1", noise.sigma_1, range::non_negative);
  medgrad::check("sigma_2", noise.sigma_2, range::non_negative);
}

double square(double x) { return x * x; }

}  // namespace

double norm_ratio(double p, std::uint64_t d) {
  medgrad::check("p", p, {.min = 0, .min_open = true});
  check_count("d", d);
  return p >= 2 ? 1 : std::pow(static_cast<double>(d), 1 / p - 0.5);
}

double rho_alpha(double alpha, std::uint64_t d) {
  medgrad::check("alpha", alpha, kTailIndex);
  return norm_ratio(alpha, d);
}

StableNoiseConstants median_noise(const StableNoise& noise) {
  medgrad::check("c_1", noise.c_1, range::non_negative);
  medgrad::check("c_2", noise.c_2, range::non_negative);
  StableNoiseConstants result;
  result.rho_alpha = rho_alpha(noise.alpha, noise.d);
  if (noise.diagonal) result.rho_alpha = 1;
  result.C_n = C_n(noise.alpha, noise.n);
  if (!std::isfinite(result.C_n)) {
    throw Error("n", std::to_string(noise.n),
                fmt::format("C_n is infinite for that and alpha = {}; it must be at least {}",
                            number(noise.alpha), smallest_n(noise.alpha)));
  }
  const double factor = result.C_n * square(result.rho_alpha);
  result.median.sigma_1 = std::sqrt(factor * noise.c_1);
  result.median.sigma_2 = factor * noise.c_2;
  return result;
}

SmoothBound bound(const Smooth& problem) {
  const MedianNoise& noise = problem.noise;
  medgrad::check("L", problem.L, range::positive);
  medgrad::check("gap", problem.gap, range::non_negative);
  check(noise);
  medgrad::check("epsilon", problem.epsilon, range::non_negative);
  check_count("T", problem.T);
  if (noise.delta_2 > 0.125)
    throw Error("delta_2", number(noise.delta_2), "the bound needs at most 1/8");

  const double T = static_cast<double>(problem.T);
  SmoothBound result;
  result.eta_max = 1 / (8 * problem.L * (1 + 2 * noise.sigma_2 + 2 * noise.delta_2));
  result.eta = problem.eta.value_or(result.eta_max / std::sqrt(T));
  medgrad::check("eta", result.eta, range::positive);
  if (result.eta > result.eta_max) {
    throw Error("eta", number(result.eta),
                fmt::format("the bound needs at most 1/(8 L (1 + 2 sigma_2 + 2 delta_2)) = {}",
                            number(result.eta_max)));
  }

  const double bias = square(noise.delta_1) + square(problem.epsilon);
  const double noisy = bias + square(noise.sigma_1);
  const auto start = [&](double eta) { return 4 * problem.gap / (eta * T); };
  const auto spread = [&](double eta) { return 8 * problem.L * eta * noisy; };
  result.start = start(result.eta);
  result.spread = spread(result.eta);
  result.bias = 4 * bias;
  result.bound = result.start + result.spread + result.bias;
  // Where both terms are equal. With nothing to lose at the start, the smaller eta is the better.
  const double equal = std::sqrt(problem.gap / (2 * problem.L * noisy * T));
  result.eta_best = noisy > 0 ? std::min(result.eta_max, equal) : result.eta_max;
  result.bound_best =
      result.bias + (result.eta_best > 0 ? start(result.eta_best) + spread(result.eta_best) : 0);
  return result;
}

LipschitzBound bound(const Lipschitz& problem) {
  const auto [G, D, delta, sigma, steps, eta] = problem;
  medgrad::check("G", G, range::positive);
  medgrad::check("D", D, range::positive);
  medgrad::check("delta", delta, range::non_negative);
  medgrad::check("sigma", sigma, range::non_negative);
  check_count("T", steps);
  if (eta) medgrad::check("eta", *eta, range::positive);

  const double T = static_cast<double>(steps);
  LipschitzBound result;
  result.theta = T / (T + 2);
  // (1 - theta^T) / (1 - theta), in logarithms: theta^T would lose what T gains.
  result.weights = -std::expm1(-T * std::log1p(2 / T)) * (T + 2) / 2;
  result.a = 2 * square(D);
  result.b = (square(sigma) + square(delta + G)) / 2;
  result.c = square(delta) / 4;
  result.eta_best = 2 * std::numbers::sqrt2 * D / std::sqrt(4 * result.b * T + square(delta * T));
  result.bound_best = 2 * D * std::sqrt(2 * result.b / T + square(delta) / 2);
  result.eta_simple = 1 / (delta * T + std::sqrt(T));
  result.bound_simple = (2 * square(D) + square(sigma) + square(delta) + square(G)) / std::sqrt(T) +
                        (2 * square(D) + 1) * delta;
  result.eta = eta.value_or(result.eta_best);
  result.bound = result.a / (result.eta * T) + result.b * result.eta + result.c * result.eta * T;
  return result;
}

BiasAndSpread smgd_noise(const MedianNoise& noise, double epsilon, double G) {
  check(noise);
  medgrad::check("epsilon", epsilon, range::non_negative);
  medgrad::check("G", G, range::positive);
  const double delta = std::sqrt(square(noise.delta_1) + noise.delta_2 * square(G));
  const double variance = square(noise.sigma_1) + noise.sigma_2 * square(G);
  return {delta + epsilon, std::sqrt(2 * variance + 8 * square(epsilon))};
}

ProximalPointBound bound(const ProximalPointRun& run) {
  medgrad::check("G", run.G, range::positive);
  medgrad::check("the distance |m_0 - m_*|", run.distance, range::positive);
  check_count("T", run.T);
  if (run.tau) medgrad::check("tau", *run.tau, range::positive);
  if (run.n) check_count("n", *run.n);

  const double T = static_cast<double>(run.T);
  ProximalPointBound result;
  result.tau_best = run.distance / (run.G * std::sqrt(T + 1));
  result.bound_best = run.distance * run.G * std::sqrt(T + 1) / T;
  result.tau = run.tau.value_or(result.tau_best);
  result.start = square(run.distance) / (2 * result.tau * T);
  result.spread = (1 + 1 / T) * result.tau * square(run.G) / 2;
  result.bound = result.start + result.spread;
  if (run.n) result.distance_bound = static_cast<double>(*run.n) * result.bound;
  return result;
}

}  // namespace medgrad::theory
