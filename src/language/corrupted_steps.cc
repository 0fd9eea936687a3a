#include "language/corrupted_steps.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <numeric>
#include <span>

#include "base/remedy.h"
#include "base/shuffle.h"
#include "language/flat_gradient.h"
#include "medgrad/attack.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

// Of the numbers that tell which steps are bad, and of the orders of labels, one stream per batch.
constexpr std::uint64_t kBadStream = 0xc0, kLabelStreams = std::uint64_t{1} << 43;

}  // namespace

CorruptedSteps::CorruptedSteps(const lab::Corruption& how, std::uint64_t seed, const Task& task)
    : how_(how), seed_(seed), task_(task) {
  if (how_.share > 0 && shuffles_labels() && task.labels(task.batch_in_order(0)).size(0) < 2)
    throw WithRemedy<Error>([](const auto& name) {
      return fmt::format("a batch with one label has none to shuffle; choose a larger {}.",
                         name("batch"));
    });
}

bool CorruptedSteps::contains(std::uint64_t step) const {
  if (how_.share == 0) return false;
  double chance = 0;
  Philox(seed_, kBadStream).fill_uniform(std::span(&chance, 1), step);
  return chance < how_.share;
}

libtorch::Batch CorruptedSteps::shuffled(libtorch::Batch batch, std::uint64_t number) const {
  const at::Tensor labels = task_.labels(batch);
  std::vector<std::int64_t> order(static_cast<std::size_t>(labels.size(0)));
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), Philox(seed_, kLabelStreams + number));
  batch.targets = labels.index_select(0, at::tensor(order, at::kLong)).view(batch.targets.sizes());
  return batch;
}

void CorruptedSteps::corrupt(const std::vector<at::Tensor>& parameters, std::uint64_t number) {
  using Kind = lab::Corruption::Kind;
  if (how_.kind == Kind::scaled) {
    const ::torch::NoGradGuard off;
    for (const at::Tensor& w : parameters)
      if (w.grad().defined()) w.mutable_grad().mul_(how_.factor);
  } else if (how_.kind == Kind::bit_flip) {
    gradient_.resize(dimension_of(parameters));
    flipped_.resize(gradient_.size());
    copy_gradient(parameters, gradient_);
    (void)attack<float>(BitFlip{.flips = how_.flips, .seed = seed_},
                        Rows<float>(gradient_.data(), 1, gradient_.size()), 1, flipped_,
                        {.round = number});
    put_gradient(flipped_, parameters);
  }
}

}  // namespace medgrad::language
