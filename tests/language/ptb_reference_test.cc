// Training of the Penn Treebank encoder, step by step, against an independent implementation in
// numpy: the same initial weights, batches of 16 in order, no dropout. Corpus, batches, model and
// optimisers are those that `medgrad train ptb` uses.
//
// Needs the corpus, $MEDGRAD_DATA/ptb, and the initial weights, ptb_init.f32 in $MEDGRAD_REFERENCE
// or in $MEDGRAD_DATA/../reference. Without them the tests are skipped.
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "language/method.h"
#include "language/task.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/runtime.h"
#include "text/corpus.h"
#include "text/data.h"
#include "torch/models/encoder.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::golden_json;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::real_data;

constexpr std::size_t kBatch = 16;

fs::path initial_weights() {
  const char* const folder = std::getenv("MEDGRAD_REFERENCE");
  return (folder != nullptr ? fs::path(folder) : real_data() / ".." / "reference") / "ptb_init.f32";
}

// What the reference says about gradients: norm and largest component.
struct GradientSize {
  double norm = 0, largest = 0;
};
GradientSize size_of_gradients(const libtorch::Model& model) {
  double squares = 0, largest = 0;
  for (const at::Tensor& p : model.parameters()) {
    const at::Tensor g = p.grad().to(at::kDouble);
    squares += g.square().sum().item<double>();
    largest = std::max(largest, g.abs().max().item<double>());
  }
  return {std::sqrt(squares), largest};
}

class PtbReference : public ::testing::Test {
 protected:
  void SetUp() override {
    if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
    if (!fs::exists(initial_weights()))
      GTEST_SKIP() << "The initial weights are not there: set MEDGRAD_REFERENCE to the folder of "
                      "ptb_init.f32.";
    libtorch::use_fast_blas();
  }

  static const Task& task() {
    static const std::unique_ptr<Task> one = open_task("ptb", {.batch = kBatch, .dropout = 0});
    return *one;
  }

  static std::shared_ptr<libtorch::Model> model(at::ScalarType type) {
    std::shared_ptr<libtorch::Model> model = task().make_model(0);
    std::ifstream file(initial_weights(), std::ios::binary);
    const at::NoGradGuard no_gradients;
    for (auto& p : model->parameters()) {
      at::Tensor read = at::empty(p.sizes(), at::kFloat);
      file.read(reinterpret_cast<char*>(read.data_ptr<float>()),
                static_cast<std::streamsize>(sizeof(float)) * read.numel());
      p.copy_(read);
    }
    EXPECT_TRUE(file.good() && file.peek() == EOF) << "ptb_init.f32 has another size";
    model->to(type);
    return model;
  }

  // The method that the product makes of `word`, at the reference's rate.
  static void follow(const char* name, const char* word, at::ScalarType type, double tolerance) {
    const nlohmann::json want = golden_json("language.json")["ptb_b16_float64"][name];
    ASSERT_EQ(want["steps"].size(), 15U);
    const std::shared_ptr<libtorch::Model> trained = model(type);
    const auto optimizer =
        libtorch::make_optimizer(parse_method(word).gradient, trained->parameters(), want["lr"]);
    for (std::size_t k = 0; k < want["steps"].size(); ++k) {
      SCOPED_TRACE(k);
      trained->zero_grad(true);
      const at::Tensor loss = trained->loss(task().batch({0, 0}, k));
      loss.backward();
      const GradientSize seen = size_of_gradients(*trained);
      const nlohmann::json& now = want["steps"][k];
      EXPECT_NEAR(loss.item<double>() / now["loss"].get<double>(), 1, tolerance);
      EXPECT_NEAR(seen.norm / now["gnorm"].get<double>(), 1, tolerance);
      EXPECT_NEAR(seen.largest / now["gmax"].get<double>(), 1, tolerance);
      optimizer->step();
    }
  }
};

TEST_F(PtbReference, ReadsTheCorpus) {
  const nlohmann::json want = golden_json("language.json")["ptb"];
  const text::Corpus corpus = text::read_ptb(real_data() / "ptb");
  EXPECT_EQ(corpus.train.size(), want["tokens"]["train"].get<std::size_t>());
  EXPECT_EQ(std::vector<text::TokenId>(corpus.train.begin(), corpus.train.begin() + 20),
            want["first20_train_ids"].get<std::vector<text::TokenId>>());
  EXPECT_EQ(task().batches(), 1660U);
}

TEST_F(PtbReference, ParametersAreLaidOutAsInTheFile) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> layout;
  for (const auto& item : task().make_model(0)->named_parameters())
    layout.emplace_back(item.key(), item.value().sizes().vec());
  EXPECT_EQ(nlohmann::json(layout), golden_json("language.json")["layout"]);
}

// The reference has the sines of positions as libtorch 1.13 rounds them to floats. 2.x rounds some
// of them to the next one, 2^-24 away, and after 15 steps a gradient differs by 1e-7.
constexpr double kInDouble = TORCH_VERSION_MAJOR < 2 ? 1e-9 : 1e-6;

TEST_F(PtbReference, MomentumInDouble) { follow("sgdm", "sgd-m", at::kDouble, kInDouble); }
TEST_F(PtbReference, MomentumInFloat) { follow("sgdm", "sgd-m", at::kFloat, 1e-4); }
TEST_F(PtbReference, VclipInDouble) { follow("vclip", "vclip:tau=0.1", at::kDouble, kInDouble); }
TEST_F(PtbReference, VclipInFloat) { follow("vclip", "vclip:tau=0.1", at::kFloat, 1e-4); }

}  // namespace
}  // namespace medgrad::language
