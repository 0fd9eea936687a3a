// Published encoders: loading them, what is refused, and answering questions with one.
#include "language/encoder.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "io/temporary_folder.h"
#include "language/made_up.h"
#include "language/task.h"
#include "testing.h"
#include "text/data.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::golden_json;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::message_of;
using medgrad::testing::real_data;
using medgrad::testing::TemporaryFolder;
using medgrad::testing::Variable;
using nlohmann::json;

// ---- config.json --------------------------------------------------------------------------------

TEST(Encoder, ReadsItsConfig) {
  const libtorch::BertOptions bert = parse_encoder_options(
      R"({"model_type": "bert", "hidden_size": 384, "num_attention_heads": 12, "hidden_act": "gelu",
          "num_hidden_layers": 6, "intermediate_size": 1536, "layer_norm_eps": 1e-7,
          "classifier_dropout": null})");
  EXPECT_EQ(bert.kind, libtorch::BertKind::bert);
  EXPECT_EQ(bert.width, 384);
  EXPECT_EQ(bert.layers, 6);
  EXPECT_EQ(bert.types, 2);
  EXPECT_EQ(bert.epsilon, 1e-7);
  const libtorch::BertOptions distil = parse_encoder_options(
      R"({"model_type": "distilbert", "dim": 96, "n_heads": 3, "hidden_dim": 100, "n_layers": 2,
          "activation": "gelu", "dropout": 0.2, "qa_dropout": 0.3})");
  EXPECT_EQ(distil.kind, libtorch::BertKind::distilbert);
  EXPECT_EQ(distil.width, 96);
  EXPECT_EQ(distil.types, 0);
  EXPECT_EQ(distil.head_dropout, 0.3);
}

// A config.json comes with a checkpoint, from anywhere: whatever it holds is read or told.
TEST(Encoder, SaysWhatIsWrongWithItsConfig) {
  const auto told = [](const std::string& text, const std::string& sentence) {
    EXPECT_EQ(message_of([&] { return parse_encoder_options(text, "m/config.json"); }), sentence);
  };
  told("[1]", "m/config.json is not a JSON object.");
  told("{\"model_type\":", "m/config.json:1: this is not JSON: it ends too early.");
  told("", "m/config.json:1: this is not JSON: it ends too early.");
  told("{\"model_type\": \"bert\",\n\n oops}",
       "m/config.json:3: this is not JSON: invalid literal; expected string literal.");
  told("{\"vocab_size\": 1e400}",
       "m/config.json:1: this is not JSON: the number '1e400' is out of range.");
  told("{}", "m/config.json: model_type is missing; it must be 'bert' or 'distilbert'.");
  told(R"({"model_type": "gpt2"})",
       "m/config.json: model_type is 'gpt2'; it must be 'bert' or 'distilbert'.");
  told(R"({"model_type": "bert", "hidden_act": "relu"})",
       "m/config.json: hidden_act is 'relu'; only 'gelu' is known.");
  const auto sizes = "it must be a whole number from 1 to 10000000.";
  for (const std::string size : {"1000000000000", "1e300", "-1", "0", "30522.5", "[7]", "true",
                                 "18446744073709551615", "-9223372036854775808"}) {
    for (const std::string kind : {"bert", "distilbert"}) {
      const std::string text = R"({"model_type": ")" + kind + R"(", "vocab_size": )" + size + "}";
      const std::string message =
          message_of([&] { return parse_encoder_options(text, "m/config.json"); });
      EXPECT_TRUE(message.starts_with("m/config.json: vocab_size is '")) << message;
      EXPECT_TRUE(message.ends_with(sizes)) << message;
    }
  }
  EXPECT_EQ(parse_encoder_options(R"({"model_type": "bert", "vocab_size": 5e3})").vocabulary, 5000);
  told(R"({"model_type": "bert", "hidden_size": "big"})",
       "m/config.json: hidden_size is 'big'; it must be a whole number from 1 to 100000.");
  told(R"({"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3})",
       "m/config.json: the width 10 is not a multiple of the heads, 3.");
  told(R"({"model_type": "bert", "layer_norm_eps": 0})",
       "m/config.json: layer_norm_eps is '0'; it must be above 0 and below 1.");
  told(R"({"model_type": "distilbert", "qa_dropout": 1})",
       "m/config.json: qa_dropout is '1'; it must be at least 0 and below 1.");
}

// ---- MiniLM-L6, where its weights are ----------------------------------------------------------

TEST(Encoder, MiniLmGivesTheReferencesHiddenStates) {
  if (lacks("minilm-l6")) GTEST_SKIP() << kNeedsData;
  const EncoderFiles files(real_data() / "minilm-l6");
  const libtorch::BertOptions options = read_encoder_options(files);
  EXPECT_EQ(title_of(options), "MiniLM-L6");
  EXPECT_EQ(read_encoder_vocabulary(files, options).size(), 30522U);
  libtorch::QuestionAnswering model(options);
  const libtorch::LoadReport report = load_encoder(files, model);
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_FALSE(report.head);
  model.eval();
  const at::NoGradGuard no_gradients;
  const auto cases = golden_json("language.json")["minilm"];
  // All in one batch, so that most of them are padded.
  std::size_t longest = 0;
  for (const auto& want : cases) longest = std::max(longest, want["ids"].size());
  const auto rows = static_cast<std::int64_t>(cases.size());
  libtorch::Batch batch;
  batch.tokens = at::zeros({rows, static_cast<std::int64_t>(longest)}, at::kLong);
  batch.types = at::zeros_like(batch.tokens);
  batch.mask = at::zeros_like(batch.tokens);
  for (std::int64_t b = 0; b < rows; ++b) {
    const auto& want = cases[static_cast<std::size_t>(b)];
    for (std::size_t i = 0; i < want["ids"].size(); ++i) {
      const auto t = static_cast<std::int64_t>(i);
      batch.tokens[b][t] = want["ids"][i].get<std::int64_t>();
      batch.types[b][t] = want["types"][i].get<std::int64_t>();
      batch.mask[b][t] = want["mask"][i].get<std::int64_t>();
    }
  }
  const at::Tensor hidden = model.hidden(batch);
  for (std::int64_t b = 0; b < rows; ++b) {
    const auto& want = cases[static_cast<std::size_t>(b)];
    const auto length = static_cast<std::int64_t>(want["ids"].size());
    for (std::int64_t t = 0; t < length; ++t) {
      for (std::int64_t k = 0; k < 8; ++k) {
        EXPECT_NEAR(hidden[b][t][k].item<double>(),
                    want["hidden_first8"][static_cast<std::size_t>(t)][static_cast<std::size_t>(k)]
                        .get<double>(),
                    1e-4);
      }
    }
    const at::Tensor mean = hidden[b].narrow(0, 0, length).mean(0);
    const auto pooled = want["mean_pooled"].get<std::vector<double>>();
    for (std::size_t k = 0; k < pooled.size(); ++k)
      EXPECT_NEAR(mean[static_cast<std::int64_t>(k)].item<double>(), pooled[k], 1e-4);
  }
}

// ---- A tiny one, written here ------------------------------------------------------------------

constexpr std::size_t kWidth = 8, kHidden = 12, kLayers = 2, kPositions = 40;
const std::vector<std::string> kPieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "who",   "is",
                                          "in",    "the",   "red",   "green", "house", "ann",
                                          "bob",   "carl",  "and",   "."};

struct Weights {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

// A safetensors file by its definition: the length of the header, the header, the data.
std::string safetensors(const std::map<std::string, Weights>& tensors) {
  json header;
  std::string data;
  for (const auto& [name, one] : tensors) {
    const std::size_t begin = data.size(), bytes = one.values.size() * sizeof(float);
    data.append(reinterpret_cast<const char*>(one.values.data()), bytes);
    header[name] = {
        {"dtype", "F32"}, {"shape", one.shape}, {"data_offsets", {begin, begin + bytes}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file.append(text).append(data);
}

// SQuAD and a BERT under the names of real ones, in a folder that MEDGRAD_DATA points to.
class TinySquad : public ::testing::Test {
 protected:
  TinySquad() {
    fs::create_directories(folder_ / "squad");
    write_questions();
    make_weights();
    write_encoder("minilm-l6");
  }

  void write_questions() const {
    json paragraphs = json::array();
    const std::vector<std::string> names = {"ann", "bob", "carl"};
    int id = 0;
    for (const std::string& a : names) {
      for (const std::string& b : names) {
        if (a == b) continue;
        const std::string context = std::string(a)
                                        .append(" is in the red house and ")
                                        .append(b)
                                        .append(" is in the green house .");
        json asked = json::array();
        for (const bool red : {true, false}) {
          const std::string question =
              std::string("who is in the ").append(red ? "red" : "green").append(" house");
          const std::string& who = red ? a : b;
          asked.push_back({{"id", std::to_string(id++)},
                           {"question", question},
                           {"answers", {{{"text", who}, {"answer_start", context.find(who)}}}}});
        }
        paragraphs.push_back({{"context", context}, {"qas", asked}});
      }
    }
    const json squad = {{"version", "1.1"},
                        {"data", {{{"title", "t"}, {"paragraphs", paragraphs}}}}};
    for (const char* const file : {"squad/train-v1.1.json", "squad/dev-v1.1.json"})
      (void)folder_.file(file, squad.dump());
  }

  void make_weights() {
    std::mt19937 rng(3);
    std::normal_distribution<float> normal(0, 0.3F);
    const auto put = [&](const std::string& name, std::vector<std::size_t> shape, float centre) {
      std::size_t count = 1;
      for (const std::size_t n : shape) count *= n;
      Weights one{std::move(shape), std::vector<float>(count)};
      for (float& x : one.values) x = centre + normal(rng);
      weights_["bert." + name] = std::move(one);
    };
    const auto linear = [&](const std::string& name, std::size_t in, std::size_t out) {
      put(name + ".weight", {out, in}, 0);
      put(name + ".bias", {out}, 0);
    };
    const auto norm = [&](const std::string& name) {
      put(name + ".weight", {kWidth}, 1);
      put(name + ".bias", {kWidth}, 0);
    };
    put("embeddings.word_embeddings.weight", {kPieces.size(), kWidth}, 0);
    put("embeddings.position_embeddings.weight", {kPositions, kWidth}, 0);
    put("embeddings.token_type_embeddings.weight", {2, kWidth}, 0);
    norm("embeddings.LayerNorm");
    for (std::size_t i = 0; i < kLayers; ++i) {
      const std::string layer = "encoder.layer." + std::to_string(i) + ".";
      for (const char* const part : {"query", "key", "value"})
        linear(layer + "attention.self." + part, kWidth, kWidth);
      linear(layer + "attention.output.dense", kWidth, kWidth);
      norm(layer + "attention.output.LayerNorm");
      linear(layer + "intermediate.dense", kWidth, kHidden);
      linear(layer + "output.dense", kHidden, kWidth);
      norm(layer + "output.LayerNorm");
    }
    linear("pooler.dense", kWidth, kWidth);
  }

  void write_encoder(const std::string& name, std::size_t pieces = kPieces.size(),
                     std::size_t positions = kPositions) const {
    fs::create_directories(folder_ / name);
    const json config = {{"model_type", "bert"},
                         {"vocab_size", pieces},
                         {"max_position_embeddings", positions},
                         {"hidden_size", kWidth},
                         {"num_attention_heads", 2},
                         {"intermediate_size", kHidden},
                         {"num_hidden_layers", kLayers}};
    (void)folder_.file(name + "/config.json", config.dump());
    std::string vocabulary;
    for (const std::string& piece : kPieces) vocabulary.append(piece).append("\n");
    (void)folder_.file(name + "/vocab.txt", vocabulary);
    (void)folder_.file(name + "/model.safetensors", safetensors(weights_));
  }

  [[nodiscard]] std::string refusal() const {
    return message_of([] { return open_task("squad", {.batch = 4, .dropout = 0}); });
  }

  TemporaryFolder folder_;
  std::map<std::string, Weights> weights_;

 private:
  const Variable data_{"MEDGRAD_DATA", (folder_ / "").c_str()};
  const Variable home_{"XDG_DATA_HOME", (folder_ / "").c_str()};
};

// From files to scores: load, a step, and training until the answers are found.
TEST_F(TinySquad, IsLearnt) {
  const std::unique_ptr<Task> task = open_task("squad", {.batch = 4, .dropout = 0});
  EXPECT_EQ(task->batches(), 3U);  // of 12 questions
  EXPECT_NE(
      task->description().find(
          "encoder a BERT-type encoder of 2 layers of 8 where the paper has DistilBERT, a new "
          "head"),
      std::string::npos)
      << task->description();
  const std::shared_ptr<libtorch::Model> model = task->make_model(1);
  bool found = false;
  for (const auto& item : model->named_parameters()) {
    const Weights& words = weights_.at("bert.embeddings.word_embeddings.weight");
    if (item.value().sizes() != at::IntArrayRef{static_cast<std::int64_t>(kPieces.size()),
                                                static_cast<std::int64_t>(kWidth)})
      continue;
    found = std::equal(words.values.begin(), words.values.end(), item.value().data_ptr<float>());
  }
  EXPECT_TRUE(found) << "the words of the file";

  TrainingOptions options = testing::options_for("adam", {});
  options.folder = folder_ / "one";
  options.lr = 0.01;
  options.lr_schedule = {};
  options.steps = 1;
  const TrainingResult one = train(*task, options);
  ASSERT_EQ(one.evaluations.size(), 2U);
  EXPECT_LT(score(one.evaluations[1].scores, "training_loss"),
            score(one.evaluations[0].scores, "training_loss"));
  const json config = json::parse(testing::bytes_of(fs::path(folder_ / "one/config.json")));
  EXPECT_EQ(config.at("data"), task->description()) << "and so the note on the encoder";
  EXPECT_EQ(config.at("data_checksum"), task->data_checksum());

  options.folder = folder_ / "all";
  options.steps = 600;
  const TrainingResult all = train(*task, options);
  // A new head answers at random; with every answer learnt both scores are 100.
  EXPECT_LT(score(all.evaluations.front().scores, "exact_match"), 60);
  EXPECT_EQ(score(all.evaluations.back().scores, "exact_match"), 100);
  EXPECT_EQ(score(all.evaluations.back().scores, "f1"), 100);
}

// What an encoder is called does not depend on its folder, and other weights are other data.
TEST_F(TinySquad, IsCalledWhatItIs) {
  const std::string before = open_task("squad", {.batch = 4})->data_checksum();
  weights_["bert.embeddings.LayerNorm.bias"].values[0] += 1;
  write_encoder("distilbert");
  const std::unique_ptr<Task> task = open_task("squad", {.batch = 4});
  EXPECT_NE(task->description().find("where the paper has DistilBERT"), std::string::npos)
      << task->description();
  EXPECT_NE(task->data_checksum(), before);
}

TEST_F(TinySquad, DamageIsToldWithItsFile) {
  const std::string folder = folder_ / "minilm-l6";
  write_encoder("minilm-l6", kPieces.size() + 1);
  EXPECT_EQ(refusal(), folder + "/vocab.txt has 16 tokens where config.json says 17.");
  write_encoder("minilm-l6", kPieces.size() - 1);
  EXPECT_EQ(refusal(), folder + "/vocab.txt has 16 tokens where config.json says 15.");
  write_encoder("minilm-l6", kPieces.size(), 20);
  EXPECT_EQ(refusal(), folder +
                           "/config.json: max_position_embeddings is 20, and the longest "
                           "window of questions and text has 23 tokens.");
  write_encoder("minilm-l6", kPieces.size(), kPositions + 1);
  EXPECT_EQ(refusal(), folder +
                           "/model.safetensors: Tensor bert.embeddings.position_embeddings."
                           "weight of the checkpoint has shape (40, 8); the model needs (41, 8).");
  const std::map<std::string, Weights> good = weights_;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    weights_ = good;
    weights_["bert.pooler.dense.bias"].values[3] = bad;
    write_encoder("minilm-l6");
    EXPECT_EQ(refusal(), folder +
                             "/model.safetensors: 1 of the 8 numbers of bert.pooler.dense.bias "
                             "are not finite.");
  }
  weights_ = good;
  weights_.erase("bert.encoder.layer.1.output.dense.bias");
  write_encoder("minilm-l6");
  EXPECT_EQ(refusal(), folder +
                           "/model.safetensors lacks 1 tensor (encoder.layer.1.output.dense."
                           "bias).");
}

}  // namespace
}  // namespace medgrad::language
