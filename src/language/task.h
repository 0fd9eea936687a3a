// The language tasks of the paper, and what is trained beside them: data, a model, a loss, and how
// well a model does.
//
//   ptb                 Penn Treebank, encoder transformer
//   wikitext2           WikiText-2, Transformer-XL
//   wikitext2-encoder   WikiText-2, the encoder of ptb
//   squad               SQuAD v1.1, question answering with a BERT-type encoder
//   synthetic, synthetic-questions   the same kinds on data made up on the spot
//   logistic            logistic regression on made-up data, which is not the paper's
//
// Batches of language models come in the same order in every epoch, those of question answering are
// shuffled by (seed, epoch). Nothing in a task changes while a model trains.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "language/task_table.h"
#include "torch/models/model.h"

namespace medgrad::language {

enum class Size : std::uint8_t {
  paper,  // the model of the paper
  small,  // of the same kind, for trying things out: seconds instead of hours
};

struct TaskOptions {
  Size size = Size::paper;
  std::size_t batch = 0;               // 0: the paper's
  std::optional<double> dropout = {};  // instead of the paper's
  bool drop_last = false;              // leave out a last batch that is shorter
  std::uint64_t data_seed = 0;         // of made-up data
  std::size_t limit = 0;               // use only so many batches of the training part; 0: all
  std::size_t evaluation_limit = 0;    // and so many for each part of an evaluation; 0: all
};

// One pass over the training part, in an order of its own where the task shuffles.
struct Epoch {
  std::uint64_t seed = 0, number = 0;
};

// How well a model does, by names that tables and files use: "training_loss", "train_ppl",
// "valid_ppl", or "valid_loss", "f1", "exact_match".
using Scores = std::vector<std::pair<std::string, double>>;
[[nodiscard]] double score(const Scores& scores, std::string_view name);  // NaN where there is none

class Task {
 public:
  virtual ~Task() = default;
  [[nodiscard]] virtual const TaskInfo& info() const = 0;
  [[nodiscard]] virtual const TaskOptions& options() const = 0;  // `batch` filled in
  // One sentence: data, model, and what differs from the paper.
  [[nodiscard]] virtual std::string description() const = 0;
  // Of the data that training and evaluation see, and of published weights: sixteen digits.
  [[nodiscard]] virtual std::string data_checksum() const = 0;

  // A new model whose weights are drawn from `seed`; for a task with a checkpoint, from there.
  [[nodiscard]] virtual std::shared_ptr<libtorch::Model> make_model(std::uint64_t seed) const = 0;

  [[nodiscard]] virtual std::size_t batches() const = 0;  // of an epoch
  [[nodiscard]] virtual libtorch::Batch batch(const Epoch& epoch, std::size_t i) const = 0;
  // The same data as it stands in the files.
  [[nodiscard]] virtual libtorch::Batch batch_in_order(std::size_t i) const = 0;

  // The same inputs with the labels of another class, k of n having become n - 1 - k; nothing where
  // there are no such labels.
  [[nodiscard]] virtual std::optional<libtorch::Batch> flipped(libtorch::Batch /*batch*/) const {
    return std::nullopt;
  }

  // The targets of a batch with one label in every row; they share memory. A label is a token, or
  // the first and the last token of an answer.
  [[nodiscard]] virtual at::Tensor labels(const libtorch::Batch& batch) const {
    return batch.targets;
  }

  // The model's scores, in evaluation mode (which it is put into, and back). `done` is called after
  // each batch with the share that is done; where it gives false, evaluation ends and the scores
  // are empty.
  using Progress = std::function<bool(double)>;
  [[nodiscard]] virtual Scores evaluate(libtorch::Model& model,
                                        const Progress& done = {}) const = 0;
};

// Throws Error where data that the task needs is missing, as open_task() does, and reads none.
void require_data(std::string_view name);

// Reads the data. Throws Error where it is missing (with where it was looked for and where it is
// published) or damaged, and for options that make no sense.
[[nodiscard]] std::unique_ptr<Task> open_task(std::string_view name, const TaskOptions& options);

}  // namespace medgrad::language
