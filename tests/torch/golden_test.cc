// Steps whose bits the Python package must have too: tests/python/test_torch_optim.py runs the same
// cases.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "medgrad/registry.h"
#include "medgrad/torch/optim.h"

namespace medgrad::libtorch {
namespace {

using Json = nlohmann::json;

OnlineMethod online(const std::string& text) {
  const MethodText method = parse_method_text(text);
  const auto& entry = find_online_method(method.name);
  return entry.make(read_parameters(entry.name, entry.parameters, method.parameters));
}

// A whole Adam of the registry, or one with an online estimator as first moment.
MedianAdamOptions adam_options(double lr, const std::string& text) {
  const MethodText method = parse_method_text(text);
  if (!method.name.ends_with("adam")) return {lr, online(text)};
  const auto& entry = find_optimizer(method.name);
  return {lr, std::get<AdaptiveGradient>(
                  entry.make(read_parameters(entry.name, entry.parameters, method.parameters)))};
}

// Numbers that any language makes alike: small fractions of powers of two.
double weight(std::int64_t k, std::int64_t i) {
  return static_cast<double>((i * 11 + k * 7) % 13 - 6) / 4;
}
double gradient(std::int64_t t, std::int64_t k, std::int64_t i) {
  if (t == 4 && k == 0 && i == 1) return std::numeric_limits<double>::quiet_NaN();
  if (t == 6 && k == 2 && i == 3) return -std::numeric_limits<double>::infinity();
  return static_cast<double>((i * 37 + k * 101 + t * 53) % 29 - 14) / 8 * (t % 3 == 2 ? 32 : 1);
}

template <class F>
Tensor filled(std::int64_t size, at::ScalarType type, const F& f) {
  Tensor x = at::empty({size}, at::kDouble);
  for (std::int64_t i = 0; i < size; ++i) x[i] = f(i);
  return x.to(type);
}

// FNV-1a of the bytes.
std::uint64_t checksum(const std::vector<Tensor>& tensors) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Tensor& x : tensors) {
    const Tensor bytes = x.detach().contiguous();
    const auto* const at = static_cast<const unsigned char*>(bytes.data_ptr());
    for (std::size_t i = 0; i < bytes.nbytes(); ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  }
  return hash;
}

template <class Options>
Options with_settings(Options options, const Json& c) {
  return options.weight_decay(c.at("weight_decay"))
      .decoupled(c.at("decoupled"))
      .maximize(c.at("maximize"))
      .scope(c.at("scope") == "global"  ? Scope::global
             : c.at("scope") == "group" ? Scope::group
                                        : Scope::tensor);
}

std::unique_ptr<TrackingOptimizer> make(const Json& c, const std::vector<Tensor>& w) {
  const double lr = c.at("lr");
  const auto with = [&](auto first, auto made) -> std::unique_ptr<TrackingOptimizer> {
    auto second = first;
    second.lr(lr / 2);
    std::vector<::torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<Tensor>(w.begin(), w.begin() + 2),
                        std::make_unique<decltype(first)>(first));
    groups.emplace_back(std::vector<Tensor>(w.begin() + 2, w.end()),
                        std::make_unique<decltype(first)>(second));
    return made(std::move(groups), first);
  };
  if (c.at("optimizer") == "MedianSGD")
    return with(with_settings(MedianSGDOptions(lr, online(c.at("method"))), c),
                [](auto groups, const auto& options) {
                  return std::make_unique<MedianSGD>(std::move(groups), options);
                });
  if (c.at("optimizer") == "ClippedSGD")
    return with(with_settings(ClippedSGDOptions(lr), c), [](auto groups, const auto& options) {
      return std::make_unique<ClippedSGD>(std::move(groups), options);
    });
  return with(with_settings(adam_options(lr, c.at("method")), c),
              [](auto groups, const auto& options) {
                return std::make_unique<MedianAdam>(std::move(groups), options);
              });
}

TEST(Golden, OptimisersHaveTheBitsOfThePythonPackage) {
  std::ifstream file(MEDGRAD_GOLDEN "/optimizers.json");
  const Json golden = Json::parse(file);
  for (const Json& c : golden.at("cases")) {
    const auto type = c.at("type") == "float32" ? at::kFloat : at::kDouble;
    std::vector<Tensor> w, m;
    for (std::size_t k = 0; k < golden.at("sizes").size(); ++k) {
      const auto number = static_cast<std::int64_t>(k);
      w.push_back(filled(golden.at("sizes")[k], type, [&](auto i) {
                    return weight(number, i);
                  }).set_requires_grad(true));
    }
    const auto optimizer = make(c, w);
    for (std::int64_t t = 0; t < golden.at("steps"); ++t) {
      for (std::size_t k = 0; k < w.size(); ++k)
        w[k].mutable_grad() = filled(w[k].numel(), type, [&](auto i) {
          return gradient(t, static_cast<std::int64_t>(k), i);
        });
      optimizer->step();
    }
    for (const Tensor& x : w) m.push_back(optimizer->estimate(x));
    EXPECT_EQ(std::to_string(checksum(w)), c.at("w")) << c.dump();
    EXPECT_EQ(std::to_string(checksum(m)), c.at("m")) << c.dump();
  }
}

}  // namespace
}  // namespace medgrad::libtorch
