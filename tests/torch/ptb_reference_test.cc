// Training of the Penn Treebank encoder, step by step, against an independent implementation in
// numpy: the same initial weights, batches of 16 in order, no dropout.
//
// Needs the corpus, $MEDGRAD_DATA/ptb, and the initial weights, ptb_init.f32 in $MEDGRAD_REFERENCE
// or in $MEDGRAD_DATA/../reference. Without them the tests are skipped.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "medgrad/torch/runtime.h"
#include "testing.h"
#include "torch/models/encoder.h"

namespace medgrad::torch {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBatch = 16, kTime = 35;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path initial_weights() {
  const std::string folder = environment("MEDGRAD_REFERENCE");
  if (!folder.empty()) return fs::path(folder) / "ptb_init.f32";
  return fs::path(environment("MEDGRAD_DATA")) / ".." / "reference" / "ptb_init.f32";
}

nlohmann::json reference() {
  std::ifstream file(medgrad::testing::golden("language.json"));
  return nlohmann::json::parse(file);
}

// The words of a file, lower case, with <eos> at the end of every line.
std::vector<std::string> words_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    std::transform(line.begin(), line.end(), line.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::istringstream in(line);
    for (std::string word; in >> word;) words.push_back(word);
    words.emplace_back("<eos>");
  }
  return words;
}

// Ids of the training words: <eos> is 0, then by falling count over all three files, and by first
// appearance where counts are equal.
std::vector<std::int64_t> training_ids(const fs::path& folder) {
  struct Count {
    std::int64_t count = 0, first = 0;
  };
  std::map<std::string, Count> counts;
  std::vector<std::string> train;
  for (const char* part : {"train", "valid", "test"}) {
    const auto words = words_of(folder / std::string("ptb.").append(part).append(".txt"));
    if (train.empty()) train = words;
    for (const std::string& word : words) {
      if (word == "<eos>") continue;
      const auto order = static_cast<std::int64_t>(counts.size());
      const auto [at, fresh] = counts.try_emplace(word);
      if (fresh) at->second.first = order;
      ++at->second.count;
    }
  }
  std::vector<std::pair<std::string, Count>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.count != b.second.count ? a.second.count > b.second.count
                                            : a.second.first < b.second.first;
  });
  std::map<std::string, std::int64_t> ids = {{"<eos>", 0}};
  for (const auto& [word, count] : order) ids.emplace(word, static_cast<std::int64_t>(ids.size()));
  std::vector<std::int64_t> result;
  for (const std::string& word : train) result.push_back(ids.at(word));
  return result;
}

double length(const at::Tensor& x) { return std::sqrt(at::dot(x, x).item<double>()); }

class PtbReference : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path corpus = fs::path(environment("MEDGRAD_DATA")) / "ptb";
    if (!fs::exists(corpus / "ptb.train.txt"))
      GTEST_SKIP() << "The Penn Treebank is not there: set MEDGRAD_DATA to the folder of ptb/.";
    if (!fs::exists(initial_weights()))
      GTEST_SKIP() << "The initial weights are not there: set MEDGRAD_REFERENCE to the folder of "
                      "ptb_init.f32.";
    static const std::vector<std::int64_t> ids = training_ids(corpus);
    ids_ = ids;
    use_fast_blas();
  }

  // Batch k: kTime rows from k kTime on of kBatch streams.
  [[nodiscard]] Batch batch(std::int64_t k) const {
    const auto rows = static_cast<std::int64_t>(ids_.size()) / kBatch;
    const at::Tensor streams =
        at::tensor(std::vector<std::int64_t>(ids_.begin(), ids_.begin() + rows * kBatch))
            .view({kBatch, rows});
    const auto part = [&](std::int64_t first) {
      return streams.narrow(1, first, kTime).t().contiguous();
    };
    return {part(k * kTime), part(k * kTime + 1), {}, {}};
  }

  static EncoderModel model(at::ScalarType type) {
    EncoderOptions options;
    options.dropout = 0;
    EncoderModel model(options);
    std::ifstream file(initial_weights(), std::ios::binary);
    const at::NoGradGuard no_gradients;
    for (auto& p : model.parameters()) {
      at::Tensor read = at::empty(p.sizes(), at::kFloat);
      file.read(reinterpret_cast<char*>(read.data_ptr<float>()),
                static_cast<std::streamsize>(sizeof(float)) * read.numel());
      p.copy_(read);
    }
    EXPECT_TRUE(file.good() && file.peek() == EOF) << "ptb_init.f32 has another size";
    model.to(type);
    return model;
  }

  // f(parameter, its part of x) for all parameters.
  template <class F>
  static void with_parts(const EncoderModel& model, const at::Tensor& x, const F& f) {
    std::int64_t first = 0;
    for (auto& p : model.parameters()) {
      f(p, x.narrow(0, first, p.numel()).view(p.sizes()));
      first += p.numel();
    }
  }

  // step(m, g), w <- w - rate m: in double whatever the model is made of, as norms have to be.
  template <class Step>
  void follow(const char* name, at::ScalarType type, double tolerance, const Step& step) const {
    const nlohmann::json want = reference()["ptb_b16_float64"][name];
    const double rate = want["lr"];
    EncoderModel trained = model(type);
    at::Tensor g = at::zeros({4494000}, at::kDouble), m = at::zeros_like(g);
    for (std::size_t k = 0; k < want["steps"].size(); ++k) {
      SCOPED_TRACE(k);
      for (auto& p : trained.parameters()) p.mutable_grad() = at::Tensor();
      const at::Tensor loss = trained.loss(batch(static_cast<std::int64_t>(k)));
      loss.backward();
      const at::NoGradGuard no_gradients;
      with_parts(trained, g, [](const at::Tensor& p, at::Tensor part) { part.copy_(p.grad()); });
      const nlohmann::json& now = want["steps"][k];
      EXPECT_NEAR(loss.item<double>() / now["loss"].get<double>(), 1, tolerance);
      EXPECT_NEAR(length(g) / now["gnorm"].get<double>(), 1, tolerance);
      EXPECT_NEAR(at::max(g.max(), -g.min()).item<double>() / now["gmax"].get<double>(), 1,
                  tolerance);
      step(m, g);
      with_parts(trained, m, [&](at::Tensor p, const at::Tensor& part) { p.sub_(part, rate); });
    }
  }

  std::vector<std::int64_t> ids_;
};

void momentum(at::Tensor& m, at::Tensor& g) { m.mul_(0.9).add_(g, 0.1); }

void vclip(at::Tensor& m, at::Tensor& g) {
  constexpr double kTau = 0.1;
  g.sub_(m);
  m.add_(g, kTau / std::max(kTau, length(g)));
}

TEST_F(PtbReference, ReadsTheCorpus) {
  const nlohmann::json want = reference()["ptb"];
  EXPECT_EQ(ids_.size(), want["tokens"]["train"].get<std::size_t>());
  EXPECT_EQ(std::vector<std::int64_t>(ids_.begin(), ids_.begin() + 20),
            want["first20_train_ids"].get<std::vector<std::int64_t>>());
}

TEST_F(PtbReference, ParametersAreLaidOutAsInTheFile) {
  EncoderOptions options;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> layout;
  for (const auto& item : EncoderModel(options).named_parameters())
    layout.emplace_back(item.key(), item.value().sizes().vec());
  EXPECT_EQ(nlohmann::json(layout), reference()["layout"]);
}

TEST_F(PtbReference, MomentumInDouble) { follow("sgdm", at::kDouble, 1e-9, momentum); }
TEST_F(PtbReference, MomentumInFloat) { follow("sgdm", at::kFloat, 1e-4, momentum); }
TEST_F(PtbReference, VclipInDouble) { follow("vclip", at::kDouble, 1e-9, vclip); }
TEST_F(PtbReference, VclipInFloat) { follow("vclip", at::kFloat, 1e-4, vclip); }

}  // namespace
}  // namespace medgrad::torch
