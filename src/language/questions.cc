// Question answering: SQuAD with a published encoder, or made-up questions with a small one.
//
// After each epoch, in evaluation mode: training_loss is the mean over the batches of the training
// part (in the order of the file), valid_loss that of the development part, and exact match and F1
// are those of the answers found there.
#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <numeric>

#include "base/checksum.h"
#include "base/text.h"
#include "language/encoder.h"
#include "language/parts.h"
#include "medgrad/error.h"
#include "text/answers.h"
#include "text/data_sets.h"
#include "text/encoder_title.h"
#include "text/features.h"
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

libtorch::Batch make_batch(const text::FeatureBatch& from) {
  const auto size = static_cast<std::int64_t>(from.size),
             length = static_cast<std::int64_t>(from.length);
  libtorch::Batch batch;
  batch.tokens = tensor_of(from.ids, {size, length});
  batch.types = tensor_of(from.types, {size, length});
  batch.mask = tensor_of(from.mask, {size, length});
  batch.targets = at::stack({tensor_of(from.starts, {size}), tensor_of(from.ends, {size})}, 1);
  return batch;
}

class QuestionTask final : public Task {
 public:
  QuestionTask(const TaskInfo& info, const TaskOptions& options) : info_(info), options_(options) {
    if (options_.batch == 0) options_.batch = info.batch;
    if (parts_of(info.name).data_set.empty()) {
      make_up();
    } else {
      open_squad();
    }
    in_order_.resize(train_size());
    std::iota(in_order_.begin(), in_order_.end(), 0U);
  }

  const TaskInfo& info() const override { return info_; }
  const TaskOptions& options() const override { return options_; }

  std::string description() const override {
    std::string text =
        fmt::format("{}: {}, batch {}{}", info_.title, counted(train_->size(), "training window"),
                    options_.batch, encoder_note_);
    if (train_size() < train_->size() && options_.limit != 0)
      text += fmt::format(", the first {} only", counted(options_.limit, "batch", "batches"));
    return text + ".";
  }

  std::string data_checksum() const override {
    Checksum sum;
    for (const text::FeatureSet* const set : {&*train_, &*dev_}) set->add_to(sum);
    for (const text::Question& question : dev_set_.questions)
      for (const text::Answer& answer : question.answers) sum.add(answer.text);
    if (published_ != nullptr) {
      for (const at::Tensor& w : published_->parameters()) {
        const at::Tensor whole = w.detach().contiguous();
        sum.add({static_cast<const char*>(whole.data_ptr()), whole.nbytes()});
      }
    }
    return sum.text();
  }

  // The encoder of the checkpoint and a head drawn from `seed`; without one, all drawn.
  std::shared_ptr<libtorch::Model> make_model(std::uint64_t seed) const override {
    libtorch::BertOptions options = bert_;
    options.seed = seed;
    auto model = std::make_shared<libtorch::QuestionAnswering>(options);
    if (published_ != nullptr) {
      const ::torch::NoGradGuard no_grad;
      const auto from = published_->named_parameters();
      for (auto& item : model->named_parameters())
        if (head_published_ || item.key().rfind("encoder.", 0) == 0)
          item.value().copy_(from[item.key()]);
    }
    model->reseed(seed, 0);
    return model;
  }

  std::size_t batches() const override {
    return (train_size() + options_.batch - 1) / options_.batch;
  }

  libtorch::Batch batch(const Epoch& epoch, std::size_t i) const override {
    if (order_.empty() || order_of_.seed != epoch.seed || order_of_.number != epoch.number) {
      order_ = text::epoch_order(train_size(), epoch.seed, epoch.number);
      order_of_ = epoch;
    }
    return make_batch(train_->batch(rows_of(order_, i)));
  }
  libtorch::Batch batch_in_order(std::size_t i) const override {
    return make_batch(train_->batch(rows_of(in_order_, i)));
  }

  Scores evaluate(libtorch::Model& model, const Progress& done) const override {
    const ::torch::NoGradGuard no_grad;
    const bool was_training = model.is_training();
    model.eval();
    auto& answering = dynamic_cast<libtorch::QuestionAnswering&>(model);
    const std::size_t first = limited(batches(), options_.evaluation_limit),
                      second = limited((dev_->size() + options_.batch - 1) / options_.batch,
                                       options_.evaluation_limit);
    bool go_on = true;
    double train_loss = 0, dev_loss = 0;
    const auto tell = [&](std::size_t finished) {
      if (done) go_on = done(static_cast<double>(finished) / static_cast<double>(first + second));
    };
    for (std::size_t i = 0; i < first && go_on; ++i) {
      train_loss += model.loss(batch_in_order(i)).item<double>();
      tell(i + 1);
    }
    text::AnswerFinder finder(dev_set_, *dev_);
    for (std::size_t i = 0; i < second && go_on; ++i) {
      dev_loss += find_answers(answering, i, finder);
      tell(first + i + 1);
    }
    model.train(was_training);
    if (!go_on) return {};
    // With a limit only the questions that were asked count.
    const std::size_t seen = std::min(dev_->size(), second * options_.batch);
    const std::size_t asked =
        seen == dev_->size() ? dev_set_.questions.size() : (*dev_)[seen - 1].question + 1;
    const std::vector<std::string> answers = finder.answers();
    const text::AnswerScore found = text::score_answers(dev_set_, std::span(answers).first(asked));
    return {{"training_loss", train_loss / static_cast<double>(first)},
            {"valid_loss", dev_loss / static_cast<double>(second)},
            {"f1", found.f1},
            {"exact_match", found.exact_match}};
  }

 private:
  void open_squad() {
    const auto folders = text::DataFolders::from_environment();
    const auto squad = folders.require(parts_of(info_.name).data_set);
    const EncoderFiles encoder(folders.require(encoder_name(folders)));
    bert_ = read_encoder_options(encoder);
    text::WordPiece tokenizer = read_encoder_vocabulary(encoder, bert_);
    train_set_ = text::read_squad(squad / "train-v1.1.json");
    dev_set_ = text::read_squad(squad / "dev-v1.1.json");
    make_features(tokenizer);
    check_positions(encoder);
    set_dropout();
    if (options_.size == Size::small) {
      make_small();
      encoder_note_ = ", a small encoder from scratch where the paper has DistilBERT";
      return;
    }
    if (const std::string title = title_of(bert_); title != text::kDistilBert)
      encoder_note_ += fmt::format(", encoder {} where the paper has DistilBERT", title);
    load(encoder);
  }

  // Every window must fit the positions of the encoder.
  void check_positions(const EncoderFiles& encoder) const {
    std::size_t longest = 0;
    for (const text::FeatureSet* const set : {&*train_, &*dev_})
      for (std::size_t i = 0; i < set->size(); ++i) longest = std::max(longest, set->length(i));
    if (longest > static_cast<std::size_t>(bert_.positions))
      throw Error(fmt::format(
          "{}: max_position_embeddings is {}, and the longest window of questions and text has {}.",
          encoder.config.string(), bert_.positions, counted(longest, "token")));
  }

  void make_up() {
    text::SyntheticQuestions made = text::synthetic_questions({.seed = options_.data_seed});
    train_set_ = std::move(made.train);
    dev_set_ = std::move(made.dev);
    bert_.vocabulary = static_cast<std::int64_t>(made.pieces.size());
    text::WordPiece tokenizer(std::move(made.pieces));
    make_features(tokenizer);
    set_dropout();
    make_small();
  }

  void make_features(text::WordPiece& tokenizer) {
    train_.emplace(train_set_, tokenizer);
    dev_.emplace(dev_set_, tokenizer);
  }

  void set_dropout() {
    const double dropout = options_.dropout.value_or(info_.dropout);
    bert_.dropout = dropout;
    bert_.attention_dropout = dropout;
    bert_.head_dropout = bert_.head_dropout > 0 ? dropout : 0;
  }

  void make_small() {
    bert_.width = 64;
    bert_.heads = 4;
    bert_.hidden = 128;
    bert_.layers = 2;
  }

  // Reads the weights and notes what in them was of no use.
  void load(const EncoderFiles& encoder) {
    published_ = std::make_shared<libtorch::QuestionAnswering>(bert_);
    const libtorch::LoadReport report = load_encoder(encoder, *published_);
    head_published_ = report.head;
    encoder_note_ += report.head ? ", head and all from the checkpoint" : ", a new head";
    if (!report.unexpected.empty())
      encoder_note_ += fmt::format(", {} of them unused", listed(report.unexpected));
  }

  // Windows that take part in training.
  [[nodiscard]] std::size_t train_size() const {
    const std::size_t whole = train_->size() / options_.batch;
    const std::size_t most = options_.drop_last ? whole * options_.batch : train_->size();
    return options_.limit == 0
               ? most
               : std::min(most, std::min(options_.limit, whole + 1) * options_.batch);
  }

  [[nodiscard]] std::span<const std::uint32_t> rows_of(std::span<const std::uint32_t> order,
                                                       std::size_t i) const {
    const std::size_t from = i * options_.batch;
    return order.subspan(from, std::min(options_.batch, order.size() - from));
  }

  // The loss of a batch of the development part, whose answers go to the finder.
  double find_answers(libtorch::QuestionAnswering& model, std::size_t i,
                      text::AnswerFinder& finder) const {
    const std::size_t from = i * options_.batch;
    std::vector<std::uint32_t> rows(std::min(options_.batch, dev_->size() - from));
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(from));
    const libtorch::Batch batch = make_batch(dev_->batch(rows));
    const at::Tensor logits = model.logits(batch);
    const at::Tensor scores = logits.to(at::kFloat).transpose(1, 2).contiguous();
    const auto length = static_cast<std::size_t>(scores.size(2));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const float* const at = scores.data_ptr<float>() + 2 * r * length;
      finder.add(rows[r], {at, length}, {at + length, length});
    }
    return libtorch::QuestionAnswering::loss_of_logits(logits, batch.targets).item<double>();
  }

  const TaskInfo& info_;
  TaskOptions options_;
  text::QuestionSet train_set_, dev_set_;
  std::optional<text::FeatureSet> train_, dev_;
  libtorch::BertOptions bert_;
  std::shared_ptr<libtorch::QuestionAnswering>
      published_;  // its weights, where there is a checkpoint
  bool head_published_ = false;
  std::string encoder_note_;
  std::vector<std::uint32_t> in_order_;
  mutable std::vector<std::uint32_t> order_;  // of the epoch asked for last
  mutable Epoch order_of_;
};

}  // namespace

std::unique_ptr<Task> open_question_task(const TaskInfo& info, const TaskOptions& options) {
  return std::make_unique<QuestionTask>(info, options);
}

}  // namespace medgrad::language
