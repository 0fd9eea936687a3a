// Objectives: what is minimised, with its gradient.
//
// An oracle (paper, eqn. noisy-oracle) adds noise to the gradient, g = grad f(w) + xi; noise.h has
// the noise. Objectives are plain values; where f has a kink, `gradient` gives a subgradient (0 at
// the kink of an absolute value).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)
namespace medgrad {

// f(w) = <target, w>, whose gradient is `target` everywhere: estimating a fixed vector (paper,
// section 6.1).
struct FixedTarget {
  std::vector<double> target;
};

// f(w) = 1/2 sum_j c_j w_j^2; with all c_j = 1 the paper's least-squares problem 1/2 |w|^2.
struct Quadratic {
  std::vector<double> curvature;
};

// f(w) = |w|_1: convex, and Lipschitz with constant sqrt(d).
struct L1Norm {
  std::size_t dimension = 1;
};

// f(w) = 1/n sum_i loss(<a_i, w>, b_i) + ridge/2 |w|^2 over n rows of data.
struct Regression {
  enum class Loss : std::uint8_t {
    squared,   // 1/2 (z - b)^2
    logistic,  // log(1 + exp(-b z)), b = +-1
    absolute,  // |z - b|
    huber,     // 1/2 r^2 up to |r| = mu, then mu |r| - mu^2/2, r = z - b
  };
  Loss loss = Loss::squared;
  std::size_t dimension = 1;
  std::vector<double> a = {};  // n x d, row by row
  std::vector<double> b = {};  // n
  double mu = 1.345;
  double ridge = 0;
};

// f(w) = 1/n sum_i 1/2 (N(x_i) - b_i)^2 + ridge/2 |w|^2 with a network of two layers,
//     N(x) = c + sum_h u_h tanh(<W_h, x> + t_h),
// over n rows x_i of data: smooth, and not convex. w holds W (hidden x inputs, row by row), t, u
// and c.
struct Network {
  static constexpr std::size_t kMostHidden = 256;

  std::size_t inputs = 1, hidden = 1;
  std::vector<double> a = {};  // n x inputs, row by row
  std::vector<double> b = {};  // n
  double ridge = 0;

  [[nodiscard]] std::size_t dimension() const { return hidden * (inputs + 2) + 1; }
  // N(x) for weights w.
  [[nodiscard]] double output(std::span<const double> w, std::span<const double> x) const;
};

using Objective = std::variant<FixedTarget, Quadratic, L1Norm, Regression, Network>;

// Throws Error unless sizes fit, numbers are finite, curvatures, ridge and mu in range, labels of a
// logistic regression +-1, and a network has from 1 to kMostHidden hidden units.
void check(const Objective& objective);

[[nodiscard]] std::size_t dimension(const Objective& objective);
[[nodiscard]] double value(const Objective& objective, std::span<const double> w);
void gradient(const Objective& objective, std::span<const double> w, std::span<double> out);
// Over some of the rows of data only, as stochastic gradients are: 1/k sum over the k rows named,
// each counted from 0.
void gradient(const Regression& objective, std::span<const double> w,
              std::span<const std::uint32_t> rows, std::span<double> out);
void gradient(const Network& objective, std::span<const double> w,
              std::span<const std::uint32_t> rows, std::span<double> out);

}  // namespace medgrad
#pragma GCC visibility pop
