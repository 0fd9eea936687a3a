// Gradients at fixed weights: against plain sums, finite differences and recursions by hand.
#include "language/gradients.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "medgrad/error.h"
#include "medgrad/rng.h"

namespace medgrad::language {
namespace {

// Made-up text, a small model, a few batches.
struct Setting {
  explicit Setting(double dropout = 0, std::size_t limit = 6)
      : task(open_task("synthetic", {.size = Size::small,
                                     .batch = 8,
                                     .dropout = dropout,
                                     .drop_last = true,
                                     .limit = limit})),
        model(task->make_model(3)) {}
  std::unique_ptr<Task> task;
  std::shared_ptr<libtorch::Model> model;
};

std::vector<double> gradient_by_hand(Setting& s, std::size_t k) {
  s.model->train();
  s.model->zero_grad(true);
  s.model->loss(s.task->batch_in_order(k)).backward();
  std::vector<double> g;
  for (const at::Tensor& w : s.model->parameters()) {
    const at::Tensor part =
        w.grad().defined() ? w.grad().to_dense().flatten().contiguous() : at::zeros({w.numel()});
    g.insert(g.end(), part.data_ptr<float>(), part.data_ptr<float>() + part.numel());
  }
  s.model->zero_grad(true);
  return g;
}

Measurement measured(BatchGradients& gradients, MeasurementPlan plan = {}) {
  Measurement m(gradients, std::move(plan));
  while (!m.finished()) m.advance();
  return m;
}

double norm(std::span<const double> x) {
  double square = 0;
  for (const double v : x) square += v * v;
  return std::sqrt(square);
}

double distance(std::span<const double> x, std::span<const double> y) {
  std::vector<double> off(x.begin(), x.end());
  for (std::size_t i = 0; i < off.size(); ++i) off[i] -= y[i];
  return norm(off);
}

TEST(FullGradient, IsTheMeanOfTheBatches) {
  Setting s;
  BatchGradients gradients(*s.task, *s.model, true);
  ASSERT_EQ(gradients.batches(), 6U);
  const FullGradient full = measured(gradients).full();
  EXPECT_EQ(gradients.runs(), 6U);
  std::vector<double> mean(gradients.dimension());
  for (std::size_t k = 0; k < 6; ++k) {
    const std::vector<double> g = gradient_by_hand(s, k);
    ASSERT_EQ(g.size(), mean.size());
    for (std::size_t i = 0; i < g.size(); ++i) mean[i] += g[i] / 6;
  }
  EXPECT_LT(distance(full.mean, mean), 1e-12 * norm(mean));
  EXPECT_NEAR(full.norm, norm(mean), 1e-12);
  double largest = 0;
  for (const double x : mean) largest = std::max(largest, std::abs(x));
  EXPECT_NEAR(full.largest, largest, 1e-12);
}

// Along the gradient itself: (f(w + h u) - f(w - h u)) / 2h = <∇, u> + O(h^2), with u = ∇/|∇|. In
// double precision, h = 1e-4 leaves 1e-8 of curvature and 1e-12 of rounding; the gradient is in
// single precision, 1e-6 relative.
TEST(FullGradient, IsTheSlopeOfTheLoss) {
  Setting s;
  BatchGradients gradients(*s.task, *s.model, true);
  const FullGradient full = measured(gradients).full();
  s.model->to(at::kDouble);
  s.model->eval();
  const ::torch::NoGradGuard no_grad;
  const auto move = [&](double by) {
    std::size_t at = 0;
    for (const at::Tensor& w : s.model->parameters()) {
      const at::Tensor u =
          at::from_blob(const_cast<double*>(full.mean.data()) + at, w.sizes(), at::kDouble);
      w.data().add_(u, by / full.norm);
      at += static_cast<std::size_t>(w.numel());
    }
  };
  const auto loss = [&] {
    double sum = 0;
    for (std::size_t k = 0; k < s.task->batches(); ++k)
      sum += s.model->loss(s.task->batch_in_order(k)).item<double>();
    return sum / static_cast<double>(s.task->batches());
  };
  constexpr double kStep = 1e-4;
  move(kStep);
  const double above = loss();
  move(-2 * kStep);
  const double below = loss();
  EXPECT_NEAR((above - below) / (2 * kStep), full.norm, 1e-5 * full.norm);
}

TEST(Tracking, KeptAndRecomputedGradientsAreTheSame) {
  Setting s;
  BatchGradients kept(*s.task, *s.model, true), recomputed(*s.task, *s.model, true, 0);
  EXPECT_TRUE(kept.kept());
  EXPECT_FALSE(recomputed.kept());
  EXPECT_EQ(kept.runs_for(16), 6U);
  EXPECT_EQ(kept.runs_for(4), 4U);
  EXPECT_EQ(recomputed.runs_for(16), 16U);
  const FullGradient full = measured(kept).full();
  EXPECT_EQ(full.mean, measured(recomputed).full().mean);
  for (const bool random : {false, true}) {
    const TrackingOptions options{
        .methods = {tracking_method("ema", 0.1), tracking_method("cclip", 0.1)},
        .steps = 15,
        .random_order = random,
        .seed = 5};
    const Tracking a = measured(kept, {.tracking = options}).tracking(),
                   b = measured(recomputed, {.tracking = options}).tracking();
    EXPECT_EQ(a.errors, b.errors);
    EXPECT_EQ(a.distances, b.distances);
    EXPECT_EQ(a.distances.size(), 6U);
  }
}

// m <- (1 - tau) m + tau g;  m += clamp(g - m, -tau, tau);  m += min(1, tau/|g - m|) (g - m). The
// estimators are in single precision, whose roundings stay below 1e-5 of the error here.
TEST(Tracking, EqualsTheRecursionsByHand) {
  Setting s;
  BatchGradients gradients(*s.task, *s.model, true);
  constexpr double kTau = 0.05;
  constexpr std::size_t kSteps = 14;
  const Measurement measurement = measured(
      gradients,
      {.tracking = {.methods = {tracking_method("ema", kTau), tracking_method("cclip", kTau),
                                tracking_method("vclip", kTau)},
                    .steps = kSteps}});
  const FullGradient& full = measurement.full();
  const Tracking& tracking = measurement.tracking();
  std::vector<std::vector<double>> m(3, std::vector<double>(gradients.dimension()));
  for (std::size_t t = 0; t < kSteps; ++t) {
    const std::vector<double> g = gradient_by_hand(s, t % gradients.batches());
    const double scale = std::min(1.0, kTau / distance(g, m[2]));
    for (std::size_t i = 0; i < g.size(); ++i) {
      m[0][i] = (1 - kTau) * m[0][i] + kTau * g[i];
      m[1][i] += std::clamp(g[i] - m[1][i], -kTau, kTau);
      m[2][i] += scale * (g[i] - m[2][i]);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      const double expected = distance(m[k], full.mean) / full.norm;
      EXPECT_NEAR(tracking.errors[k][t], expected, 1e-5) << k << " at step " << t + 1;
    }
    if (t < 6) {
      EXPECT_NEAR(tracking.distances[t], distance(g, full.mean), 1e-9);
    }
  }
}

TEST(Tracking, MethodsAreTheRegistrysButForMomentum) {
  EXPECT_TRUE(std::holds_alternative<Subgradient>(tracking_method("ema", 0.1)));
  EXPECT_TRUE(std::holds_alternative<ProximalPoint>(tracking_method("momentum", 0.1)));
  EXPECT_TRUE(std::holds_alternative<ProximalPoint>(tracking_method("l2", 0.1)));
  EXPECT_THROW((void)tracking_method("ema", 1.5), Error);
  EXPECT_THROW((void)tracking_method("momentun", 0.1), Error);
  EXPECT_THROW((void)tracking_method("vclip", -1), Error);
}

TEST(GradientNoise, ErrorsAreThoseByHand) {
  Setting s;
  BatchGradients gradients(*s.task, *s.model, true);
  const Measurement m = measured(gradients, {.noise = true});
  const FullGradient& full = m.full();
  const libtorch::GradientNoise noise = m.noise();
  ASSERT_EQ(noise.errors.size(), 6U);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_NEAR(noise.errors[k], distance(gradient_by_hand(s, k), full.mean), 1e-9);
  // And those of the probe, which runs the model itself.
  const libtorch::GradientNoise probed =
      libtorch::probe_gradient_noise(s.model->parameters(), 6, [&](std::size_t k) {
        s.model->train();
        return s.model->loss(s.task->batch_in_order(k));
      });
  EXPECT_NEAR(probed.gradient_norm, noise.gradient_norm, 1e-9);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(probed.errors[k], noise.errors[k], 1e-9);
}

std::string saved(const Measurement& m) {
  std::ostringstream out;
  m.save(out);
  return out.str();
}

void load(Measurement& m, const std::string& bytes) {
  std::istringstream in(bytes);
  m.load(in);
}

// Noise, and methods for more than two passes in a random order.
MeasurementPlan everything() {
  return {.noise = true,
          .tracking = {.methods = {tracking_method("ema", 0.1), tracking_method("cclip", 0.1)},
                       .steps = 7,
                       .random_order = true,
                       .seed = 5}};
}

// Written down and read by another one after every single gradient: not a bit differs, neither of
// what was measured nor of what is still needed.
TEST(Measurement, GoesOnFromAnyPosition) {
  Setting s(0, 3);
  BatchGradients gradients(*s.task, *s.model, true);
  Measurement whole(gradients, everything());
  EXPECT_EQ(whole.total(), 3U + 3U + 7U);
  std::string bytes;
  while (!whole.finished()) {
    Measurement next(gradients, everything());
    if (!bytes.empty()) load(next, bytes);
    EXPECT_EQ(next.position(), whole.position());
    next.advance();
    whole.advance();
    EXPECT_EQ(next.between_stages(),
              whole.position() == 3 || whole.position() == 6 || whole.position() == 13);
    bytes = saved(next);
    ASSERT_EQ(bytes, saved(whole)) << "at " << whole.position();
  }
  Measurement last(gradients, everything());
  load(last, bytes);
  EXPECT_TRUE(last.finished());
  EXPECT_EQ(last.full().mean, whole.full().mean);
  EXPECT_EQ(last.full().norm, whole.full().norm);
  EXPECT_EQ(last.full().largest, whole.full().largest);
  EXPECT_EQ(last.noise().errors, whole.noise().errors);
  EXPECT_EQ(last.noise().gradient_norm, whole.noise().gradient_norm);
  EXPECT_EQ(last.tracking().errors, whole.tracking().errors);
  EXPECT_EQ(last.tracking().distances, whole.tracking().distances);
}

TEST(Measurement, LoadsNothingElse) {
  Setting s(0, 3);
  BatchGradients gradients(*s.task, *s.model, true);
  for (const std::size_t position : {2U, 5U, 9U, 13U}) {
    Measurement m(gradients, everything()), other(gradients, everything());
    while (m.position() < position) m.advance();
    const std::string bytes = saved(m);
    other.advance();
    const std::string before = saved(other);
    for (const std::size_t size :
         {bytes.size() - 1, bytes.size() / 2, std::size_t{3}, std::size_t{0}})
      EXPECT_THROW(load(other, bytes.substr(0, size)), Error) << position << ", " << size;
    EXPECT_THROW(load(other, bytes + "x"), Error);
    std::string far = bytes;
    far[1] = 1;  // a position beyond the end
    EXPECT_THROW(load(other, far), Error);
    EXPECT_EQ(saved(other), before);
    // Of another plan: without noise, or with other methods.
    if (position < 5) continue;
    MeasurementPlan plan = everything();
    plan.noise = false;
    Measurement noiseless(gradients, plan);
    EXPECT_THROW(load(noiseless, bytes), Error) << position;
    if (position != 9) continue;
    plan = everything();
    plan.tracking.methods[1] = tracking_method("vclip", 0.1);
    Measurement with_others(gradients, plan);
    EXPECT_THROW(load(with_others, bytes), Error);
    EXPECT_EQ(with_others.position(), 0U);
  }
}

TEST(NoiseMeter, GoesOnFromWhatAnotherHas) {
  constexpr std::size_t kBatches = 30, kDimension = 17;
  const std::vector<double> mean(kDimension, 0.25);
  libtorch::NoiseMeter whole(mean, kBatches), first(mean, kBatches), second(mean, kBatches);
  std::vector<double> g(kDimension);
  for (std::size_t k = 0; k < kBatches; ++k) {
    Philox(6, k).fill_normal(g);
    if (k == 11) second.restore(first.errors(), first.rows());
    for (libtorch::NoiseMeter* meter : {&whole, k < 11 ? &first : &second})
      meter->add(std::span<const double>(g));
  }
  EXPECT_EQ(first.rows().size(), 11 * first.columns());
  EXPECT_EQ(second.finish().errors, whole.finish().errors);
  EXPECT_EQ(second.finish().verdict(), whole.finish().verdict());
  EXPECT_TRUE(std::ranges::equal(second.rows(), whole.rows()));
  EXPECT_THROW(second.restore(first.errors(), whole.rows()), Error);
  EXPECT_THROW(second.restore(std::vector<double>(31), std::vector<double>(31 * kDimension)),
               Error);
  EXPECT_TRUE(std::ranges::equal(second.rows(), whole.rows()));
}

// With dropout a batch has another gradient every time, and nothing is kept.
TEST(BatchGradients, DropoutIsDrawnAnew) {
  Setting s(0.2, 2);
  BatchGradients gradients(*s.task, *s.model, false);
  EXPECT_FALSE(gradients.kept());
  const std::span<const float> first = gradients(0);
  const std::vector<float> before(first.begin(), first.end());
  const std::span<const float> second = gradients(0);
  EXPECT_FALSE(std::ranges::equal(before, second));
  s.model->reseed(3, 0);
  EXPECT_TRUE(std::ranges::equal(before, gradients(0)));
}

}  // namespace
}  // namespace medgrad::language
