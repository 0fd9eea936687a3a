// Online estimators against the reference traces.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "medgrad/estimator.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::view;

TEST(Estimator, AgreesWithTheReferenceTraces) {
  std::ifstream file(testing::golden("traces.json"));
  const auto toy = nlohmann::json::parse(file)["toy"];
  const std::vector<double> target = toy["ghat"];
  const std::vector<std::vector<double>> noise = toy["xi"];
  int checked = 0;
  for (const auto& [name, trace] : toy["traces"].items()) {
    const std::string method = name.substr(0, name.find('_'));
    const double tau = std::stod(name.substr(name.find("tau") + 3));
    const std::map<std::string, OnlineMethod> methods = {
        {"momentum", ProximalPoint{Squared{}, tau}}, {"VClip", ProximalPoint{L2{}, tau}},
        {"CClip", ProximalPoint{L1{}, tau}},         {"Huber", ProximalPoint{Huber(1.345), tau}},
        {"signSGD", Subgradient{L1{}, tau}},         {"l2sub", Subgradient{L2{}, tau}},
        {"sqsub", Subgradient{Squared{}, tau}}};
    const auto found = methods.find(method);
    if (found == methods.end()) continue;  // Beck's scaling of Huber is not ours
    ++checked;
    OnlineEstimator<double> estimator(found->second, target.size());
    for (std::size_t t = 0; t < noise.size(); ++t) {
      std::vector<double> g(target);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] += noise[t][i];
      estimator.update(g);
      for (std::size_t i = 0; i < g.size(); ++i) {
        EXPECT_NEAR(estimator.estimate()[i], trace["m"][t][i].get<double>(), 1e-12) << name;
      }
    }
  }
  EXPECT_GE(checked, 14);
}

// The clipped mean and the fused w-step, on the least-squares problem of the paper.
TEST(Estimator, AgreesWithTheLeastSquaresTraces) {
  std::ifstream file(testing::golden("traces.json"));
  const auto reference = nlohmann::json::parse(file)["least_squares"];
  for (const std::string setting : {"S1", "S2"}) {
    const auto& problem = reference[setting];
    const double tau = problem["tau"], eta = problem["eta"], mu = problem["mu"];
    const std::map<std::string, OnlineMethod> methods = {
        {"VClip", ProximalPoint{L2{}, tau}},
        {"CClip", ProximalPoint{L1{}, tau}},
        {"Huber", ProximalPoint{Huber(mu), tau}},
        {"momentum", ProximalPoint{Squared{}, tau}},
        {"clipSGD", ClippedMean{problem["beta"], problem["c"]}}};
    for (const auto& [name, method] : methods) {
      std::vector<double> w = problem["w0"];
      OnlineEstimator<double> estimator(method, w.size());
      for (std::size_t t = 0; t < problem["xi"].size(); ++t) {
        std::vector<double> g = problem["xi"][t][0];
        const double size = norm(2, view(w)),
                     scale = setting == "S2" ? std::sqrt(1 + size * size) : 1;
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = w[i] + scale * g[i];
        estimator.update_and_step(w, eta, g);
        for (std::size_t i = 0; i < w.size(); ++i) {
          EXPECT_NEAR(w[i], problem["traces"][name]["w"][t][i].get<double>(), 1e-11)
              << setting << " " << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace medgrad
