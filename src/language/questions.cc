// Question answering: SQuAD with a published encoder, or made-up questions with a small one.
//
// After each epoch, in evaluation mode: training_loss is the mean over the batches of the training
// part (in the order of the file), valid_loss that of the development part, and exact match and F1
// are those of the answers found there.
#include <torch/torch.h>

#include <algorithm>
#include <numeric>

#include "language/parts.h"
#include "medgrad/error.h"
#include "text/answers.h"
#include "text/data_sets.h"
#include "text/features.h"
#include "text/file.h"
#include "text/safetensors.h"
#include "text/squad.h"
#include "text/synthetic.h"
#include "text/wordpiece.h"
#include "torch/models/question_answering.h"

namespace medgrad::language {
namespace {

at::Tensor tensor_of(const std::vector<std::int64_t>& values,
                     std::initializer_list<std::int64_t> shape) {
  return at::tensor(values, at::kLong).view(at::IntArrayRef(shape));
}

class QuestionTask final : public Task {
 public:
  QuestionTask(const TaskInfo& info, const TaskOptions& options) : info_(info), options_(options) {
    if (options_.batch == 0) options_.batch = info.batch;
    if (info.name == "squad") {
      const auto folders = text::DataFolders::from_environment();
      const auto squad = folders.require("squad");
      // The paper's encoder where it is there, else the small one.
      encoder_ = folders.look(text::data_set("distilbert")).complete() ? "distilbert" : "minilm-l6";
      checkpoint_ = folders.require(encoder_);
      train_set_ = text::read_squad(squad / "train-v1.1.json");
      dev_set_ = text::read_squad(squad / "dev-v1.1.json");
      text::WordPiece tokenizer = text::WordPiece::read(checkpoint_ / "vocab.txt");
      make_features(tokenizer);
    } else {
      text::SyntheticQuestions made = text::synthetic_questions({.seed = options.seed});
      train_set_ = std::move(made.train);
      dev_set_ = std::move(made.dev);
      vocabulary_ = made.pieces.size();
      text::WordPiece tokenizer(std::move(made.pieces));
      make_features(tokenizer);
    }
  }

  const TaskInfo& info() const override { return info_; }
  const TaskOptions& options() const override { return options_; }

  std::string description() const override {
    std::string text(info_.title);
    text.append(": ").append(std::to_string(train_->size())).append(" training windows, batch ");
    text.append(std::to_string(options_.batch));
    if (info_.name == "squad") {
      if (options_.size == Size::small) {
        text.append(", a small encoder from scratch where the paper has DistilBERT");
      } else if (encoder_ == "minilm-l6") {
        text.append(", encoder MiniLM-L6 where the paper has DistilBERT");
      }
    }
    return text.append(".");
  }

  std::shared_ptr<torch::Model> make_model(std::uint64_t seed) const override {
    torch::BertOptions o;
    const bool published = info_.name == "squad" && options_.size == Size::paper;
    if (info_.name == "squad")
      o = torch::parse_bert_options(text::read_whole(checkpoint_ / "config.json"),
                                    (checkpoint_ / "config.json").string());
    if (!published) {
      o.width = 64;
      o.heads = 4;
      o.hidden = 128;
      o.layers = 2;
      if (vocabulary_ > 0) o.vocabulary = static_cast<std::int64_t>(vocabulary_);
    }
    o.seed = seed;
    const double dropout = options_.dropout.value_or(info_.dropout);
    o.dropout = dropout;
    o.attention_dropout = dropout;
    o.head_dropout = o.head_dropout > 0 ? dropout : 0;
    auto model = std::make_shared<torch::QuestionAnswering>(o);
    if (published) {
      const torch::LoadReport report = model->load(checkpoint_tensors());
      if (!report.missing.empty())
        throw Error(std::string("the checkpoint in ")
                        .append(checkpoint_.string())
                        .append(" lacks ")
                        .append(report.missing.front())
                        .append("."));
    }
    model->reseed(seed, 0);
    return model;
  }

  std::size_t batches() const override {
    const std::size_t all = train_->size() / options_.batch +
                            (!options_.drop_last && train_->size() % options_.batch != 0 ? 1 : 0);
    return limited(all, options_.limit);
  }

  torch::Batch batch(std::uint64_t epoch, std::size_t i) const override {
    if (!order_ || order_epoch_ != epoch) {
      order_ = text::epoch_order(train_->size(), options_.seed, epoch);
      order_epoch_ = epoch;
    }
    const std::size_t from = i * options_.batch,
                      to = std::min(from + options_.batch, order_->size());
    return make_batch(train_->batch(std::span(*order_).subspan(from, to - from)));
  }

  Scores evaluate(torch::Model& model, const Progress& done) const override {
    const ::torch::NoGradGuard no_grad;
    const bool was_training = model.is_training();
    model.eval();
    auto& answering = dynamic_cast<torch::QuestionAnswering&>(model);
    text::AnswerFinder finder(dev_set_, *dev_);
    double loss[2] = {0, 0};
    std::size_t finished = 0;
    bool go_on = true;
    const text::FeatureSet* const parts[2] = {&*train_, &*dev_};
    const auto count_of = [&](std::size_t k) {
      return limited((parts[k]->size() + options_.batch - 1) / options_.batch,
                     options_.evaluation_limit);
    };
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t i = 0; i < count_of(k) && go_on; ++i) {
        std::vector<std::uint32_t> rows(
            std::min(options_.batch, parts[k]->size() - i * options_.batch));
        std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(i * options_.batch));
        const torch::Batch batch = make_batch(parts[k]->batch(rows));
        if (k == 0) {
          loss[k] += model.loss(batch).item<double>();
        } else {
          const at::Tensor logits =
              answering.logits(batch).to(at::kFloat).transpose(1, 2).contiguous();
          loss[k] += question_loss(logits, batch);
          const auto length = static_cast<std::size_t>(logits.size(2));
          for (std::size_t r = 0; r < rows.size(); ++r) {
            const float* const at = logits.data_ptr<float>() + 2 * r * length;
            finder.add(rows[r], {at, length}, {at + length, length});
          }
        }
        if (done)
          go_on = done(static_cast<double>(++finished) /
                       static_cast<double>(count_of(0) + count_of(1)));
      }
    }
    model.train(was_training);
    if (!go_on) return {};
    const std::vector<std::string> answers = finder.answers();
    // With a limit only the questions that were asked count.
    const std::size_t seen = std::min(dev_->size(), count_of(1) * options_.batch);
    const std::size_t asked =
        seen == dev_->size() ? dev_set_.questions.size() : (*dev_)[seen - 1].question + 1;
    text::QuestionSet part = dev_set_;
    part.questions.resize(asked);
    const text::AnswerScore found = text::score_answers(part, std::span(answers).first(asked));
    return {{"training_loss", loss[0] / static_cast<double>(count_of(0))},
            {"valid_loss", loss[1] / static_cast<double>(count_of(1))},
            {"f1", found.f1},
            {"exact_match", found.exact_match}};
  }

 private:
  [[nodiscard]] static std::size_t limited(std::size_t count, std::size_t limit) {
    return limit == 0 ? count : std::min(count, limit);
  }
  void make_features(text::WordPiece& tokenizer) {
    train_.emplace(train_set_, tokenizer);
    dev_.emplace(dev_set_, tokenizer);
  }

  static torch::Batch make_batch(const text::FeatureBatch& from) {
    const auto size = static_cast<std::int64_t>(from.size),
               length = static_cast<std::int64_t>(from.length);
    torch::Batch batch;
    batch.tokens = tensor_of(from.ids, {size, length});
    batch.types = tensor_of(from.types, {size, length});
    batch.mask = tensor_of(from.mask, {size, length});
    batch.targets = at::stack({tensor_of(from.starts, {size}), tensor_of(from.ends, {size})}, 1);
    return batch;
  }

  // As the model's, from logits (batch, 2, length).
  static double question_loss(const at::Tensor& logits, const torch::Batch& batch) {
    const std::int64_t length = logits.size(2);
    const at::Tensor targets = batch.targets.clamp(0, length);
    double sum = 0;
    for (const std::int64_t k : {0, 1})
      sum += at::nll_loss(at::log_softmax(logits.select(1, k), 1), targets.select(1, k), {},
                          at::Reduction::Mean, length)
                 .item<double>();
    return sum / 2;
  }

  [[nodiscard]] std::map<std::string, at::Tensor> checkpoint_tensors() const {
    const text::SafeTensors file(checkpoint_ / "model.safetensors");
    std::map<std::string, at::Tensor> tensors;
    for (const text::Tensor& one : file.tensors()) {
      if (one.type[0] != 'F' && one.type[0] != 'B') continue;  // positions and the like
      std::vector<std::int64_t> shape(one.shape.begin(), one.shape.end());
      const at::Tensor to = at::empty(shape, at::kFloat);
      file.read(one.name, {to.data_ptr<float>(), one.elements});
      tensors.emplace(one.name, to);
    }
    return tensors;
  }

  const TaskInfo& info_;
  TaskOptions options_;
  std::string encoder_;
  std::filesystem::path checkpoint_;
  std::size_t vocabulary_ = 0;
  text::QuestionSet train_set_, dev_set_;
  std::optional<text::FeatureSet> train_, dev_;
  mutable std::optional<std::vector<std::uint32_t>> order_;  // of the epoch asked for last
  mutable std::uint64_t order_epoch_ = 0;
};

}  // namespace

std::unique_ptr<Task> open_question_task(const TaskInfo& info, const TaskOptions& options) {
  return std::make_unique<QuestionTask>(info, options);
}

}  // namespace medgrad::language
