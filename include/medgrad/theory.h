// What the paper proves, as numbers: moments of sample medians, step sizes, bounds (section 5,
// appendices A and B.5).
//
// Sample median gradient descent (SMGD) is w <- w - eta (m + e), m the median of n noisy gradients
// and e an error in computing it. With M the median of n = 2r + 1 independent variables of density
// f and distribution function F,
//
//     E h(M) = n!/(r!)^2 int h(x) (F(x) (1 - F(x)))^r f(x) dx,
//
// and C_n = E M^2 of standard symmetric stable ones is all that the rates need to know of the
// noise. As P(|X| > x) ~ x^-alpha, E |M|^k is finite exactly where alpha (n + 1)/2 > k: one sample
// has no variance, three have one for every alpha > 1.
//
// Only odd n: the median of an even number of samples is a convention (here the midpoint of the two
// middle values) that the paper does not use.
//
// Constants are those of the paper's proofs. Where its statements and its proofs differ, the proof
// counts: sigma_1^2 = C_n rho_alpha^2 c_1 (the lemma leaves out rho_alpha^2), and the average of
// iterates is divided by sum theta^t (the proposition divides by T). Everything here throws Error,
// in one sentence, where an input is out of its range.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "medgrad/stable.h"

#pragma GCC visibility push(default)
namespace medgrad::theory {

// ---- Moments of the sample median ---------------------------------------------------------------

struct MedianMoments {
  std::uint64_t n = 1;
  double C_n = 0;       // E M^2
  double E_abs = 0;     // E|M|
  double mean = 0;      // E M: the bias of the median; NaN where E|M| is infinite
  double variance = 0;  // E (M - E M)^2 = C_n - mean^2
};

// The smallest odd n with alpha (n + 1)/2 > order, from which on E|M|^order is finite; 1 for alpha
// = 2, which has all moments. 0 < alpha <= 2, 0 < order.
[[nodiscard]] std::uint64_t smallest_n(double alpha, double order = 2);

// Moments of the median of n variables of a stable law, for every n of a list; all share the same
// evaluations of the law, so that a hundred cost little more than one. Infinity where a moment is
// infinite. Relative accuracy is 1e-12 or that of the law (stable.h), times sqrt(n) for n past 1e4.
// Odd n below 2^53, 0.1 <= alpha.
[[nodiscard]] std::vector<MedianMoments> median_moments(const StableParameters& law,
                                                        std::span<const std::uint64_t> n);

// E M^2 and E|M| of the standard symmetric law: n C_n -> 1/(4 f(0)^2), and E_abs(alpha, 1) =
// (2/pi) Gamma(1 - 1/alpha).
[[nodiscard]] double C_n(double alpha, std::uint64_t n);
[[nodiscard]] double E_abs(double alpha, std::uint64_t n);

// ---- Assumptions on the noise of the median -----------------------------------------------------

// |E m - grad|^2 <= delta_1^2 + delta_2 |grad|^2,   E|m - E m|^2 <= sigma_1^2 + sigma_2 |grad|^2.
struct MedianNoise {
  double delta_1 = 0, delta_2 = 0;  // bias
  double sigma_1 = 0, sigma_2 = 0;  // variance
};

// sup |x|_p / |x|_2 over R^d: d^{1/p - 1/2} for p <= 2, 1 for p >= 2 (infinity is a p). 0 < p.
[[nodiscard]] double norm_ratio(double p, std::uint64_t d);

// rho_alpha = d^{(2 - alpha)/(2 alpha)}, the same for p = alpha <= 2: how much larger than |.|_2
// the scale of a sum of stable variables can be.
[[nodiscard]] double rho_alpha(double alpha, std::uint64_t d);

// Gradients with noise Sigma(w) zeta, zeta standard symmetric stable, |Sigma(w)|_F^2 <= c_1 + c_2
// |grad|^2, of which the componentwise median of n is taken.
struct StableNoise {
  double alpha = 2;
  std::uint64_t n = 3;  // odd
  std::uint64_t d = 1;  // dimension
  double c_1 = 1, c_2 = 0;
  // Sigma(w) is diagonal: a component is then noise of one variable, and rho_alpha is 1.
  bool diagonal = false;
};

struct StableNoiseConstants {
  double C_n = 0, rho_alpha = 1;
  MedianNoise median;
};

// delta_1 = delta_2 = 0,   sigma_1^2 = C_n rho_alpha^2 c_1,   sigma_2 = C_n rho_alpha^2 c_2. The
// paper asks alpha > 1 and n >= 3; its proof needs C_n < infinity, and so does this function.
[[nodiscard]] StableNoiseConstants median_noise(const StableNoise& noise);

// ---- SMGD on smooth functions -------------------------------------------------------------------

// l is L-smooth, the noise is as above with delta_2 <= 1/8, E|e|^2 <= epsilon^2. Then for every
// eta <= eta_max = 1 / (8 L (1 + 2 sigma_2 + 2 delta_2)),
//
//   min_{t<T} E|grad l(w_t)|^2 <= 4 (l(w_0) - inf l) / (eta T)
//                                 + 8 L eta (epsilon^2 + delta_1^2 + sigma_1^2)
//                                 + 4 (delta_1^2 + epsilon^2),
//
// and the mean over t < T obeys the same bound.
struct Smooth {
  double L = 1;
  double gap = 1;  // l(w_0) - inf l
  MedianNoise noise = {};
  double epsilon = 0;
  std::uint64_t T = 1;
  std::optional<double> eta = {};  // without one, eta_max / sqrt(T): the corollary's
};

struct SmoothBound {
  double eta_max = 0;
  double eta = 0;
  double start = 0, spread = 0, bias = 0;  // the three terms
  double bound = 0;                        // and their sum
  double eta_best = 0, bound_best = 0;     // the eta <= eta_max with the least bound
};

[[nodiscard]] SmoothBound bound(const Smooth& problem);

// ---- Biased stochastic subgradients on convex Lipschitz functions -------------------------------

// l is convex and G-Lipschitz, D = |w_0 - w_*|, w <- w - eta g with |E g - u| <= delta for a
// subgradient u and E|g - E g|^2 <= sigma^2. With theta = T/(T+2) and wbar_T = sum_{t<T} theta^t
// w_t / sum_{t<T} theta^t, for every eta > 0,
//
//   E l(wbar_T) - inf l <= a/(eta T) + b eta + c eta T,
//   a = 2 D^2,   b = (sigma^2 + (delta + G)^2)/2,   c = delta^2/4.
//
// best:    eta = 2 sqrt(2) D / sqrt(2 (sigma^2 + (delta + G)^2) T + delta^2 T^2) has the bound
//          2 D sqrt((sigma^2 + (delta + G)^2)/T + delta^2/2);
// simple:  eta = 1/(delta T + sqrt(T)), which needs neither D nor G, has
//          (2 D^2 + sigma^2 + delta^2 + G^2)/sqrt(T) + (2 D^2 + 1) delta.
struct Lipschitz {
  double G = 1, D = 1;
  double delta = 0, sigma = 0;
  std::uint64_t T = 1;
  std::optional<double> eta = {};  // without one, eta_best
};

struct LipschitzBound {
  double theta = 0, weights = 0;  // weights = sum_{t<T} theta^t
  double a = 0, b = 0, c = 0;
  double eta = 0, bound = 0;
  double eta_best = 0, bound_best = 0;
  double eta_simple = 0, bound_simple = 0;
};

[[nodiscard]] LipschitzBound bound(const Lipschitz& problem);

// The delta and sigma of SMGD with an error of E|e|^2 <= epsilon^2. Gradients are at most G, so
// delta_2 and sigma_2 join delta_1 and sigma_1:
//   delta = sqrt(delta_1^2 + delta_2 G^2) + epsilon,
//   sigma^2 = 2 (sigma_1^2 + sigma_2 G^2) + 8 epsilon^2,
// as in the paper; without any error e, sigma^2 = sigma_1^2 + sigma_2 G^2 would do.
struct BiasAndSpread {
  double delta = 0, sigma = 0;
};
[[nodiscard]] BiasAndSpread smgd_noise(const MedianNoise& noise, double epsilon, double G);

// ---- The stochastic proximal point method -------------------------------------------------------

// phi(m) = E D(m - g) with a distance D that is convex and G-Lipschitz in |.|_2 (G = norm_ratio(p,
// d) for |.|_p, mu for Huber), m_t by steps tau from m_0, mbar_T = (m_1 + ... + m_T)/T. Then
//
//   E phi(mbar_T) - phi(m_*) <= |m_0 - m_*|^2 / (2 tau T) + (1 + 1/T) tau G^2/2.
//
// The paper has it up to constants. Proof of these: the prox is the minimum of a 1/tau-strongly
// convex function, so with D_t the distance D(. - g_t), s = m_{t+1} - m_t,
//   2 tau (D_t(m_{t+1}) - D_t(m_*)) <= |m_t - m_*|^2 - |m_{t+1} - m_*|^2 - |s|^2,
// and D_t(m_t) - D_t(m_{t+1}) <= G |s|, 2 tau G |s| - |s|^2 <= tau^2 G^2, together
//   2 tau E (phi(m_t) - phi(m_*)) <= E|m_t - m_*|^2 - E|m_{t+1} - m_*|^2 + tau^2 G^2.
// Sum over t = 1 ... T, and use the same with t = 0 for |m_1 - m_*|^2 <= |m_0 - m_*|^2 + tau^2 G^2.
// Only differences of phi enter, which are finite for noise of any tail.
struct ProximalPointRun {
  double G = 1;
  double distance = 1;  // |m_0 - m_*|_2
  std::uint64_t T = 1;
  std::optional<double> tau = {};  // without one, tau_best
  // For |.|_1 where g is one of n given vectors: phi has a sharp minimum then, and
  // E|mbar_T - argmin phi|_2 <= n (E phi(mbar_T) - phi(m_*)).
  std::optional<std::uint64_t> n = {};
};

struct ProximalPointBound {
  double tau = 0;
  double start = 0, spread = 0;  // the two terms
  double bound = 0;
  double tau_best = 0, bound_best = 0;   // |m_0 - m_*| / (G sqrt(T+1)), and its bound
  std::optional<double> distance_bound;  // n bound, where there is an n
};

[[nodiscard]] ProximalPointBound bound(const ProximalPointRun& run);

}  // namespace medgrad::theory
#pragma GCC visibility pop
