// Small models and gradients that the optimiser tests share.
#pragma once

#include <torch/torch.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "medgrad/registry.h"
#include "medgrad/torch/optim.h"

namespace medgrad::testing {

inline const OnlineMethod kVClip = ProximalPoint{L2{}, 0.5};

using ::torch::Tensor;

// Parameters of odd shapes, so that their ends fall anywhere in a vector register.
inline std::vector<Tensor> parameters(at::ScalarType type, unsigned seed = 1) {
  ::torch::manual_seed(seed);
  std::vector<Tensor> all;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{7, 13}, {13}, {1}, {3, 5, 11}, {0, 4}, {}, {301}})
    all.push_back(at::randn(shape, type).set_requires_grad(true));
  return all;
}

// The t-th gradients; the same for the same t.
inline void set_gradients(const std::vector<Tensor>& params, int t) {
  ::torch::manual_seed(1000 + static_cast<std::uint64_t>(t));
  for (const Tensor& w : params)
    w.mutable_grad() =
        at::randn(w.sizes(), w.options().requires_grad(false)) * (t % 3 == 2 ? 9 : 1);
}

inline std::vector<double> flat(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& x : tensors) {
    const Tensor y = x.detach().to(at::kDouble).contiguous();
    all.insert(all.end(), y.data_ptr<double>(), y.data_ptr<double>() + y.numel());
  }
  return all;
}

inline std::vector<Tensor> gradients(const std::vector<Tensor>& params) {
  std::vector<Tensor> all;
  for (const Tensor& w : params) all.push_back(w.grad());
  return all;
}

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Tensor x = a[i].detach().contiguous(), y = b[i].detach().contiguous();
    if (x.nbytes() != y.nbytes() || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) != 0)
      return false;
  }
  return a.size() == b.size();
}

inline double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].numel() > 0)
      largest = std::max(largest, (a[i].detach().to(at::kDouble) - b[i].detach().to(at::kDouble))
                                      .abs()
                                      .max()
                                      .item<double>());
  return largest;
}

// Every online method of the registry, with parameters that make it clip.
inline std::vector<OnlineMethod> online_methods() {
  std::vector<OnlineMethod> all;
  for (const auto& entry : medgrad::online_methods()) {
    ParameterValues values;
    for (const Parameter& p : entry.parameters) {
      if (p.name == "tau") values["tau"] = 0.3;
      if (p.name == "p") values["p"] = 3;
    }
    all.push_back(entry.make(values));
  }
  all.emplace_back(ProximalPoint{Lp(1), 0.2});
  all.emplace_back(ProximalPoint{Lp(2), 0.2});
  all.emplace_back(Subgradient{Squared{}, 0.2});
  all.emplace_back(Subgradient{Huber(1.3), 0.2});
  all.emplace_back(Subgradient{Lp(3), 0.2});
  for (const AnyDistance& distance : {AnyDistance(L1{}), AnyDistance(L2{}), AnyDistance(Huber{})})
    all.emplace_back(ProximalPoint{distance, kAutomaticNumber, {0.3, 0.4, 0.5}});
  return all;
}

}  // namespace medgrad::testing
