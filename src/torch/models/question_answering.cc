#include "torch/models/question_answering.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "medgrad/error.h"
#include "torch/models/initialise.h"

namespace medgrad::libtorch {
namespace {

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// A checkpoint's name as BertEncoder::published() has it. Early checkpoints call the weight and
// bias of a norm gamma and beta.
std::string plain_name(std::string name) {
  for (const std::string_view prefix : {"bert.", "distilbert."}) {
    if (starts(name, prefix)) {
      name.erase(0, prefix.size());
      break;
    }
  }
  const auto replace_end = [&](std::string_view end, const char* by) {
    if (name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
      name.replace(name.size() - end.size(), end.size(), by);
  };
  replace_end("LayerNorm.gamma", "LayerNorm.weight");
  replace_end("LayerNorm.beta", "LayerNorm.bias");
  return name;
}

// Parts of published checkpoints that question answering has no use for.
bool of_no_use(const std::string& name) {
  for (const char* part : {"pooler.", "cls.", "classifier.", "vocab_transform.",
                           "vocab_layer_norm.", "vocab_projector.", "embeddings.position_ids"}) {
    if (starts(name, part)) return true;
  }
  return false;
}

std::string text_of(at::IntArrayRef sizes) {
  std::string text = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + ")";
}

}  // namespace

QuestionAnswering::QuestionAnswering(const BertOptions& options) : options_(options) {
  encoder_ = register_module("encoder", std::make_shared<BertEncoder>(options, stream()));
  drop_ = register_module("drop", dropout(options.head_dropout));
  head_ = register_module("qa_outputs", std::make_shared<Affine>(options.width, 2));
  Initialiser initialiser(options.seed);
  initialiser.modules(*this);
  for (const auto& item : named_parameters()) {
    if (item.key().find("in_proj_weight") != std::string::npos)
      initialiser.normal(item.value(), 0, 0.02);
  }
}

LoadReport QuestionAnswering::load(const std::map<std::string, at::Tensor>& tensors) {
  std::map<std::string, at::Tensor> places;
  for (const auto& [name, place] : encoder_->published()) places.emplace(name, place);
  places.emplace("qa_outputs.weight", head_->weight);
  places.emplace("qa_outputs.bias", head_->bias);

  LoadReport report;
  std::map<std::string, at::Tensor> found;
  for (const auto& [name, tensor] : tensors) {
    const std::string plain = plain_name(name);
    const auto place = places.find(plain);
    if (place == places.end()) {
      (of_no_use(plain) ? report.ignored : report.unexpected).push_back(name);
      continue;
    }
    if (tensor.sizes() != place->second.sizes()) {
      throw Error(fmt::format("Tensor {} of the checkpoint has shape {}; the model needs {}.", name,
                              text_of(tensor.sizes()), text_of(place->second.sizes())));
    }
    found[plain] = tensor;
  }
  report.head = found.count("qa_outputs.weight") + found.count("qa_outputs.bias") == 2;
  const at::NoGradGuard no_gradients;
  for (auto& [name, place] : places) {
    const auto tensor = found.find(name);
    if (tensor != found.end()) {
      place.copy_(tensor->second);
    } else if (!starts(name, "qa_outputs.")) {
      report.missing.push_back(name);
    }
  }
  return report;
}

at::Tensor QuestionAnswering::hidden(const Batch& batch) {
  const at::Tensor rows = encoder_->forward(batch.tokens, batch.types, batch.mask);
  return rows.view({batch.tokens.size(1), batch.tokens.size(0), options_.width}).transpose(0, 1);
}

at::Tensor QuestionAnswering::logits(const Batch& batch) {
  const at::Tensor rows = drop_->forward(encoder_->forward(batch.tokens, batch.types, batch.mask));
  return head_->forward(rows).view({batch.tokens.size(1), batch.tokens.size(0), 2}).transpose(0, 1);
}

at::Tensor QuestionAnswering::loss_of(const Batch& batch) {
  if (batch.targets.dim() != 2 || batch.targets.size(0) != batch.tokens.size(0) ||
      batch.targets.size(1) != 2) {
    throw Error("Targets of question answering must have the shape (batch, 2).");
  }
  return loss_of_logits(logits(batch), batch.targets);
}

at::Tensor QuestionAnswering::loss_of_logits(const at::Tensor& z, const at::Tensor& targets) {
  namespace f = ::torch::nn::functional;
  const std::int64_t length = z.size(1);
  const at::Tensor t = targets.clamp(0, length);
  const auto entropy = [&](std::int64_t which) {
    return f::cross_entropy(z.select(2, which), t.select(1, which),
                            f::CrossEntropyFuncOptions().ignore_index(length));
  };
  return (entropy(0) + entropy(1)) / 2;
}

}  // namespace medgrad::libtorch
