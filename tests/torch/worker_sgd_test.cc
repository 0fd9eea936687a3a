// SampleMedianSGD with workers: the same as the core's optimisers of n workers.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "medgrad/error.h"
#include "medgrad/optimize.h"
#include "medgrad/torch/optim.h"
#include "torch/models.h"

namespace medgrad::libtorch {
namespace {

using medgrad::testing::flat;
using medgrad::testing::gradients;
using medgrad::testing::parameters;
using medgrad::testing::set_gradients;

GradientMethod make(std::string_view text) {
  const MethodText given = parse_method_text(text);
  const auto& entry = find_optimizer(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

TEST(WorkerSGD, EqualsTheCore) {
  for (const char* text :
       {"workers-ema:tau=0.3+median:n=5", "workers-clip21:tau=0.5+mean:n=3",
        "workers-ef21-top-k:k=4+trimmed-mean:f=1:n=5", "workers-ef21-random-k:k=4+nnm+median:n=5",
        "workers-ef21-sign+geometric-median:n=4", "workers-gradient+krum:n=6",
        "workers-ema:tau=0.3+bucketing+median:n=6",
        "workers-vclip:tau=0.2+centered-clipping:clip=0.3:n=5"}) {
    std::vector<Tensor> params = parameters(at::kDouble);
    const GradientMethod method = make(text);
    const auto optimizer = make_optimizer(method, params, 0.1);
    std::vector<double> w = flat(params);
    Optimizer core(method, w.size());
    for (int step = 0; step < 4; ++step) {
      std::vector<double> rows;
      int t = 10 * step;
      optimizer->step([&] {
        set_gradients(params, t++);
        if (step == 2) params[0].grad().flatten()[1] = std::nan("");
        const std::vector<double> g = flat(gradients(params));
        rows.insert(rows.end(), g.begin(), g.end());
        return at::zeros({});
      });
      core.step(w, 0.1, Rows<double>(rows.data(), core.samples(), w.size()));
      const std::vector<double> got = flat(params);
      for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(got[i], w[i], 1e-14) << text;
    }
  }
}

// A parameter that has no gradient in a step leaves its part of the workers' vectors alone.
TEST(WorkerSGD, WaitsForParametersWithoutGradients) {
  std::vector<Tensor> params = parameters(at::kDouble), others = parameters(at::kDouble);
  const auto options = SampleMedianSGDOptions(0.1, Mean{})
                           .n(2)
                           .worker(make_worker_method("ema:tau=0.5"))
                           .scope(Scope::tensor);
  SampleMedianSGD waits(params, options), goes_on(others, options);
  const auto step = [](SampleMedianSGD& optimizer, std::vector<Tensor>& of, int t, bool all) {
    optimizer.step([&] {
      set_gradients(of, t);
      if (!all) of[2].mutable_grad() = Tensor();
      return at::zeros({});
    });
  };
  step(waits, params, 1, true);
  const Tensor before = params[2].detach().clone();
  step(waits, params, 2, false);
  step(waits, params, 3, false);
  EXPECT_TRUE(at::equal(params[2], before));
  step(waits, params, 4, true);
  step(goes_on, others, 1, true);
  step(goes_on, others, 4, true);
  EXPECT_TRUE(at::equal(params[2], others[2]));
}

TEST(WorkerSGD, RefusesStatesOfOthers) {
  std::vector<Tensor> params = parameters(at::kFloat);
  const auto bytes_of = [&](const SampleMedianSGDOptions& options) {
    SampleMedianSGD optimizer(params, options);
    optimizer.step([&] {
      set_gradients(params, 1);
      return at::zeros({});
    });
    std::ostringstream out;
    ::torch::serialize::OutputArchive archive;
    optimizer.save(archive);
    archive.save_to(out);
    return out.str();
  };
  const auto with = [](const char* worker) {
    return SampleMedianSGDOptions(0.1).n(3).worker(make_worker_method(worker));
  };
  std::istringstream in(bytes_of(with("ef21-sign")));
  ::torch::serialize::InputArchive archive;
  archive.load_from(in);
  SampleMedianSGD other(params, with("ema:tau=0.5"));
  EXPECT_THROW(other.load(archive), Error);
  EXPECT_THROW(SampleMedianSGD(params, with("ema").worker(Ef21{NormClip{-1}})), Error);
}

}  // namespace
}  // namespace medgrad::libtorch
