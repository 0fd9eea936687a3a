// medgrad_torch_bench N TENSORS ROUNDS: our libtorch optimisers beside torch's, in turns.
//
// A model of N floats in so many tensors, one thread, gradients that stay; every contender has a
// model of its own. Prints JSON lines with the best and the median milliseconds of a step; run.py
// makes the table. Large buffers are kept by malloc for all (keep_memory): without it, the
// operations that make new tensors would be several times slower still.
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/runtime.h"

namespace {

using ::torch::Tensor;

struct Contender {
  std::string name;
  std::function<void()> step;
  std::vector<double> milliseconds = {};
};

std::vector<Tensor> model(std::int64_t n, std::int64_t tensors) {
  std::vector<Tensor> parameters;
  for (std::int64_t i = 0; i < tensors; ++i) {
    const std::int64_t size = n * (i + 1) / tensors - n * i / tensors;
    Tensor w = at::randn({size}).set_requires_grad(true);
    w.mutable_grad() = at::randn({size});
    parameters.push_back(w);
  }
  return parameters;
}

// VClip as one writes it with torch's operations.
class PlainVClip {
 public:
  PlainVClip(std::vector<Tensor> parameters, double lr, double tau)
      : parameters_(std::move(parameters)), lr_(lr), tau_(tau) {
    for (const Tensor& w : parameters_) m_.push_back(at::zeros_like(w));
  }
  void step() {
    const ::torch::NoGradGuard no_grad;
    std::vector<Tensor> increments;
    Tensor sum = at::zeros({}, at::kDouble);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      increments.push_back(parameters_[i].grad() - m_[i]);
      sum += increments[i].square().sum();
    }
    const double factor = std::min(1.0, tau_ / std::sqrt(sum.item<double>()));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      m_[i].add_(increments[i], factor);
      parameters_[i].add_(m_[i], -lr_);
    }
  }

 private:
  std::vector<Tensor> parameters_, m_;
  double lr_, tau_;
};

double median(std::vector<double> v) {
  std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
  return v[v.size() / 2];
}

void run(std::int64_t n, std::int64_t tensors, int rounds) {
  using medgrad::libtorch::MedianSGD;
  using medgrad::libtorch::MedianSGDOptions;
  const double lr = 1e-3, tau = 1e-3;  // small beside the increments: both clip in every round
  auto models = std::vector<std::vector<Tensor>>();
  for (int i = 0; i < 10; ++i) models.push_back(model(n, tensors));

  MedianSGD cclip(models[0], MedianSGDOptions(lr, medgrad::ProximalPoint{medgrad::L1{}, tau}));
  MedianSGD vclip(models[1], MedianSGDOptions(lr, medgrad::ProximalPoint{medgrad::L2{}, tau}));
  ::torch::optim::SGD sgd(models[2], ::torch::optim::SGDOptions(lr).momentum(0.9));
  ::torch::optim::SGD clipped(models[3], ::torch::optim::SGDOptions(lr).momentum(0.9));
  PlainVClip plain(models[4], lr, tau);
  medgrad::libtorch::MedianAdam median_adam(models[5], lr);
  ::torch::optim::Adam adam(models[6], lr);
  using medgrad::libtorch::State;
  MedianSGD narrow_cclip(
      models[7],
      MedianSGDOptions(lr, medgrad::ProximalPoint{medgrad::L1{}, tau}).state(State::bfloat16));
  MedianSGD narrow_vclip(
      models[8],
      MedianSGDOptions(lr, medgrad::ProximalPoint{medgrad::L2{}, tau}).state(State::bfloat16));
  using medgrad::libtorch::Scope;
  MedianSGD vclip_of_tensors(
      models[9],
      MedianSGDOptions(lr, medgrad::ProximalPoint{medgrad::L2{}, tau}).scope(Scope::tensor));
  std::vector<Contender> contenders = {
      {"cclip", [&] { cclip.step(); }},
      {"vclip", [&] { vclip.step(); }},
      {"vclip, each tensor by itself", [&] { vclip_of_tensors.step(); }},
      {"cclip in bfloat16", [&] { narrow_cclip.step(); }},
      {"vclip in bfloat16", [&] { narrow_vclip.step(); }},
      {"sgd momentum", [&] { sgd.step(); }},
      {"clip_grad_norm_, sgd momentum",
       [&] {
         ::torch::nn::utils::clip_grad_norm_(models[3], 1.0);
         clipped.step();
       }},
      {"vclip in torch operations", [&] { plain.step(); }},
      {"median-adam", [&] { median_adam.step(); }},
      {"adam", [&] { adam.step(); }},
  };
  for (Contender& c : contenders) c.step();  // touches every page once
  for (int round = 0; round < rounds; ++round)
    for (Contender& c : contenders) {
      const double start = medgrad::bench::processor_seconds();  // one thread does it all
      c.step();
      c.milliseconds.push_back(1e3 * (medgrad::bench::processor_seconds() - start));
    }
  for (const Contender& c : contenders)
    std::printf(R"({"what": "%s", "tensors": %lld, "best_ms": %.4f, "median_ms": %.4f})"
                "\n",
                c.name.c_str(), static_cast<long long>(tensors),
                *std::ranges::min_element(c.milliseconds), median(c.milliseconds));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fputs("medgrad_torch_bench is run by bench/run.py: N TENSORS ROUNDS.\n", stderr);
    return 2;
  }
  medgrad::libtorch::keep_memory();
  medgrad::libtorch::use_threads(1);
  run(std::stoll(argv[1]), std::stoll(argv[2]), std::stoi(argv[3]));
} catch (const std::exception& e) {
  std::fprintf(stderr, "medgrad_torch_bench: %s\n", e.what());
  return 1;
}
