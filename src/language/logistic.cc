// Logistic regression on made-up data: convex, and cheap enough for many workers.
//
//     min_w,c  1/n sum_i log(1 + exp(-y_i (<a_i, w> + c))),  y_i = +-1
//
// Rows a_i are normal; y_i is 1 with probability 1 / (1 + exp(-<a_i, t>)) for a normal truth t with
// a norm of about 3. Training starts from w = 0, where the loss is log 2. After each epoch
// training_loss and valid_loss are means over batches, and accuracy is the share of the validation
// rows whose side is right, in percent.
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <fmt/core.h>
#include <torch/torch.h>

#include <cmath>

#include "base/checksum.h"
#include "base/text.h"
#include "language/parts.h"
#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "torch/models/affine.h"

namespace medgrad::language {
namespace {

class LogisticModel final : public libtorch::Model {
 public:
  explicit LogisticModel(std::int64_t d)
      : weight_(register_parameter("weight", ::torch::zeros({1, d}))),
        bias_(register_parameter("bias", ::torch::zeros({1}))) {}

  [[nodiscard]] at::Tensor logits(const libtorch::Batch& batch) const {
    return libtorch::affine(batch.inputs, weight_, bias_).squeeze(1);
  }

 private:
  at::Tensor loss_of(const libtorch::Batch& batch) override {
    return at::binary_cross_entropy_with_logits(logits(batch), batch.targets.to(at::kFloat));
  }

  at::Tensor weight_, bias_;
};

// Inputs (n, d), and labels 0 and 1.
struct Sample {
  at::Tensor inputs, labels;
};

Sample draw(std::uint64_t seed, std::uint64_t part, std::size_t n, std::size_t d) {
  enum : std::uint64_t { truths, rows, sides, streams };
  const auto span = [](const at::Tensor& x) {
    return std::span<float>(x.data_ptr<float>(), static_cast<std::size_t>(x.numel()));
  };
  const auto length = static_cast<std::int64_t>(n), width = static_cast<std::int64_t>(d);
  std::vector<float> truth(d);
  Philox(seed, truths).fill_normal(truth);
  const double norm = 3 / std::sqrt(static_cast<double>(d));
  Sample sample{at::empty({length, width}, at::kFloat), at::empty({length}, at::kLong)};
  std::vector<double> u(n);
  Philox(seed, part * streams + rows).fill_normal(span(sample.inputs));
  Philox(seed, part * streams + sides).fill_uniform(u);
  const std::span<const float> a = span(sample.inputs);
  auto* const labels = sample.labels.data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < n; ++i) {
    double z = 0;
    for (std::size_t j = 0; j < d; ++j)
      z += norm * static_cast<double>(truth[j]) * static_cast<double>(a[i * d + j]);
    labels[i] = u[i] < 1 / (1 + std::exp(-z)) ? 1 : 0;
  }
  return sample;
}

class LogisticTask final : public Task {
 public:
  LogisticTask(const TaskInfo& info, const TaskOptions& options) : info_(info), options_(options) {
    if (options_.batch == 0) options_.batch = info.batch;
    const bool small = options.size == Size::small;
    const std::size_t n = small ? 2048 : 8192, d = small ? 10 : 50;
    if (options_.batch > n / 4)
      throw Error(fmt::format("{} has {} for validation, fewer than a batch.", info.name,
                              counted(n / 4, "row")));
    train_ = draw(options.data_seed, 1, n, d);
    valid_ = draw(options.data_seed, 2, n / 4, d);
  }

  const TaskInfo& info() const override { return info_; }
  const TaskOptions& options() const override { return options_; }
  std::string description() const override {
    return fmt::format("{}: {} of {} numbers, batch {}.", info_.title,
                       counted(static_cast<std::size_t>(train_.labels.numel()), "row"),
                       train_.inputs.size(1), options_.batch);
  }
  std::string data_checksum() const override {
    Checksum sum;
    for (const Sample* part : {&train_, &valid_}) {
      sum.add_all(std::span<const float>(part->inputs.data_ptr<float>(),
                                         static_cast<std::size_t>(part->inputs.numel())));
      sum.add_all(std::span<const std::int64_t>(part->labels.data_ptr<std::int64_t>(),
                                                static_cast<std::size_t>(part->labels.numel())));
    }
    return sum.text();
  }

  std::shared_ptr<libtorch::Model> make_model(std::uint64_t seed) const override {
    auto model = std::make_shared<LogisticModel>(train_.inputs.size(1));
    model->reseed(seed, 0);
    return model;
  }

  std::size_t batches() const override { return limited(count(train_), options_.limit); }
  libtorch::Batch batch(const Epoch&, std::size_t i) const override { return batch_in_order(i); }
  libtorch::Batch batch_in_order(std::size_t i) const override { return batch_of(train_, i); }
  std::optional<libtorch::Batch> flipped(libtorch::Batch batch) const override {
    batch.targets = 1 - batch.targets;
    return batch;
  }

  Scores evaluate(libtorch::Model& model, const Progress& done) const override {
    const ::torch::NoGradGuard no_grad;
    const bool was_training = model.is_training();
    model.eval();
    const std::size_t first = limited(batches(), options_.evaluation_limit),
                      second = limited(count(valid_), options_.evaluation_limit);
    bool go_on = true;
    double loss[2] = {}, right = 0;
    for (std::size_t k = 0; k < first + second && go_on; ++k) {
      const bool validates = k >= first;
      const libtorch::Batch batch =
          batch_of(validates ? valid_ : train_, validates ? k - first : k);
      loss[validates ? 1 : 0] += model.loss(batch).item<double>();
      if (validates) {
        const at::Tensor sides =
            (dynamic_cast<const LogisticModel&>(model).logits(batch) > 0).to(at::kLong);
        right += sides.eq(batch.targets).sum().item<double>();
      }
      if (done) go_on = done(static_cast<double>(k + 1) / static_cast<double>(first + second));
    }
    model.train(was_training);
    if (!go_on) return {};
    const auto validated = static_cast<double>(second);
    return {{"training_loss", loss[0] / static_cast<double>(first)},
            {"valid_loss", loss[1] / validated},
            {"accuracy", 100 * right / (validated * static_cast<double>(options_.batch))}};
  }

 private:
  // Whole batches; the rest is left out.
  [[nodiscard]] std::size_t count(const Sample& part) const {
    return static_cast<std::size_t>(part.labels.numel()) / options_.batch;
  }
  [[nodiscard]] libtorch::Batch batch_of(const Sample& part, std::size_t i) const {
    const auto size = static_cast<std::int64_t>(options_.batch);
    const std::int64_t from = static_cast<std::int64_t>(i) * size;
    libtorch::Batch batch;
    batch.inputs = part.inputs.narrow(0, from, size);
    batch.targets = part.labels.narrow(0, from, size);
    batch.tokens = ::torch::arange(from, from + size, at::kLong);
    return batch;
  }

  const TaskInfo& info_;
  TaskOptions options_;
  Sample train_, valid_;
};

}  // namespace

std::unique_ptr<Task> open_logistic_task(const TaskInfo& info, const TaskOptions& options) {
  return std::make_unique<LogisticTask>(info, options);
}

}  // namespace medgrad::language
