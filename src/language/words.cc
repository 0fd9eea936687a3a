// Word-level language models: Penn Treebank, WikiText-2, made-up text.
//
// After each epoch, in evaluation mode: training_loss is the plain mean over the batches of the
// training part; a perplexity is exp(sum len loss / sum len) over the batches. "valid" is the test
// part, as in the published experiments, batched like the training part.
#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "base/checksum.h"
#include "base/text.h"
#include "language/parts.h"
#include "medgrad/error.h"
#include "text/batches.h"
#include "text/corpus.h"
#include "text/data_sets.h"
#include "text/synthetic.h"
#include "torch/models/encoder.h"
#include "torch/models/transformer_xl.h"

namespace medgrad::language {
namespace {

// A corpus, and the files of its parts where it has some: train, valid, test.
struct Words {
  text::Corpus corpus;
  std::vector<std::string> files = {"the training part", "the validation part", "the test part"};
};

Words read_words(const TaskParts& parts, const TaskOptions& options) {
  if (parts.data_set.empty()) return {text::synthetic_corpus({.seed = options.data_seed})};
  const auto folder = text::DataFolders::from_environment().require(parts.data_set);
  Words words{parts.read(folder), {}};
  for (const std::string_view file : text::data_set(parts.data_set).files)
    words.files.push_back((folder / file).string());
  return words;
}

// The batches of a part; where it is too short for one, an Error that names the part.
text::BatchPlan plan_of(const std::vector<text::TokenId>& tokens, const std::string& part,
                        const text::BatchPlan::Options& options) {
  try {
    return {tokens.size(), options};
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", part, error.what()));
  }
}

class WordTask final : public Task {
 public:
  WordTask(const TaskInfo& info, const TaskOptions& options)
      : info_(info), parts_(parts_of(info.name)), options_(options) {
    Words words = read_words(parts_, options);
    corpus_ = std::move(words.corpus);
    if (options_.batch == 0) options_.batch = info.batch;
    train_ =
        plan_of(corpus_.train, words.files[0], {options_.batch, parts_.length, options_.drop_last});
    test_ = plan_of(corpus_.test, words.files[2], {options_.batch, parts_.length, false});
  }

  const TaskInfo& info() const override { return info_; }
  const TaskOptions& options() const override { return options_; }

  std::string description() const override {
    std::string text = fmt::format("{}: {}, vocabulary {}, batch {}", info_.title,
                                   counted(corpus_.train.size(), "training token"),
                                   corpus_.vocabulary.size(), options_.batch);
    if (options_.size == Size::small) text += ", a small model instead of the paper's";
    if (options_.limit != 0 && options_.limit < train_->count())
      text += fmt::format(", the first {} only", counted(options_.limit, "batch", "batches"));
    return text + ".";
  }

  std::string data_checksum() const override {
    Checksum sum;
    sum.add_all(std::span<const text::TokenId>(corpus_.train));
    sum.add_all(std::span<const text::TokenId>(corpus_.test));
    return sum.text();
  }

  std::shared_ptr<libtorch::Model> make_model(std::uint64_t seed) const override {
    std::shared_ptr<libtorch::Model> model =
        parts_.make_model({.vocabulary = static_cast<std::int64_t>(corpus_.vocabulary.size()),
                           .dropout = options_.dropout.value_or(info_.dropout),
                           .seed = seed,
                           .small = options_.size == Size::small});
    model->reseed(seed, 0);
    return model;
  }

  std::size_t batches() const override { return limited(train_->count(), options_.limit); }

  libtorch::Batch batch(const Epoch&, std::size_t i) const override { return batch_in_order(i); }
  libtorch::Batch batch_in_order(std::size_t i) const override {
    return make_batch(corpus_.train, *train_, i);
  }

  std::optional<libtorch::Batch> flipped(libtorch::Batch batch) const override {
    batch.targets = static_cast<std::int64_t>(corpus_.vocabulary.size()) - 1 - batch.targets;
    return batch;
  }

  at::Tensor labels(const libtorch::Batch& batch) const override { return batch.targets.view(-1); }

  Scores evaluate(libtorch::Model& model, const Progress& done) const override {
    const ::torch::NoGradGuard no_grad;
    const bool was_training = model.is_training();
    model.eval();
    const std::size_t first = limited(batches(), options_.evaluation_limit),
                      second = limited(test_->count(), options_.evaluation_limit);
    std::size_t finished = 0;
    bool go_on = true;
    const auto pass = [&](const std::vector<text::TokenId>& tokens, const text::BatchPlan& plan,
                          std::size_t count) {
      Sums sums;
      for (std::size_t i = 0; i < count && go_on; ++i) {
        const double loss = model.loss(make_batch(tokens, plan, i)).item<double>();
        const auto length = static_cast<double>(plan.chunk(i).length);
        sums.loss += loss;
        sums.weighted += length * loss;
        sums.length += length;
        sums.count += 1;
        if (done)
          go_on = done(static_cast<double>(++finished) / static_cast<double>(first + second));
      }
      return sums;
    };
    const Sums train = pass(corpus_.train, *train_, first),
               test = pass(corpus_.test, *test_, second);
    model.train(was_training);
    if (!go_on) return {};
    return {{"training_loss", train.loss / train.count},
            {"train_ppl", std::exp(train.weighted / train.length)},
            {"valid_ppl", std::exp(test.weighted / test.length)}};
  }

 private:
  struct Sums {
    double loss = 0, weighted = 0, length = 0, count = 0;
  };

  static libtorch::Batch make_batch(const std::vector<text::TokenId>& tokens,
                                    const text::BatchPlan& plan, std::size_t i) {
    const auto length = static_cast<std::int64_t>(plan.chunk(i).length),
               width = static_cast<std::int64_t>(plan.batch());
    libtorch::Batch batch;
    batch.tokens = at::empty({length, width}, at::kLong);
    batch.targets = at::empty({length, width}, at::kLong);
    const auto span = [](const at::Tensor& x) {
      return std::span<std::int64_t>(x.data_ptr<std::int64_t>(),
                                     static_cast<std::size_t>(x.numel()));
    };
    plan.fill(tokens, i, span(batch.tokens), span(batch.targets));
    return batch;
  }

  const TaskInfo& info_;
  const TaskParts& parts_;
  TaskOptions options_;
  text::Corpus corpus_;
  std::optional<text::BatchPlan> train_, test_;
};

}  // namespace

std::shared_ptr<libtorch::Model> make_encoder(const WordModelOptions& options) {
  libtorch::EncoderOptions o{
      .vocabulary = options.vocabulary, .dropout = options.dropout, .seed = options.seed};
  if (options.small) {
    o.width = 32;
    o.hidden = 32;
  }
  return std::make_shared<libtorch::EncoderModel>(o);
}

std::shared_ptr<libtorch::Model> make_transformer_xl(const WordModelOptions& options) {
  libtorch::TransformerXLOptions o{
      .vocabulary = options.vocabulary, .dropout = options.dropout, .seed = options.seed};
  if (options.small) {
    o.width = 64;
    o.heads = 4;
    o.hidden = 128;
    o.layers = 2;
  }
  return std::make_shared<libtorch::TransformerXL>(o);
}

std::unique_ptr<Task> open_word_task(const TaskInfo& info, const TaskOptions& options) {
  return std::make_unique<WordTask>(info, options);
}

}  // namespace medgrad::language
