#include "language/encoder.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/file.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "medgrad/error.h"
#include "text/encoder_title.h"

namespace medgrad::language {
namespace {

// The tensors of a file that a model can use; what else there is are positions and the like.
std::map<std::string, at::Tensor> tensors_of(const std::filesystem::path& path) {
  const SafeTensors file(path);
  std::map<std::string, at::Tensor> tensors;
  for (const StoredTensor& one : file.tensors()) {
    if (one.type != "F64" && one.type != "F32" && one.type != "F16" && one.type != "BF16") continue;
    std::vector<std::int64_t> shape(one.shape.begin(), one.shape.end());
    const at::Tensor to = at::empty(shape, at::kFloat);
    const std::span<float> values(to.data_ptr<float>(), one.elements);
    file.read(one.name, values);
    const auto bad = std::ranges::count_if(values, [](float x) { return !std::isfinite(x); });
    if (bad > 0)
      throw Error(fmt::format("{}: {} of the {} of {} are not finite.", path.string(), bad,
                              counted(one.elements, "number"), one.name));
    tensors.emplace(one.name, to);
  }
  return tensors;
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text = counted(names.size(), "tensor") + " (";
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > kShown ? ", …)" : ")");
}

libtorch::BertOptions read_encoder_options(const EncoderFiles& files) {
  return parse_encoder_options(read_whole(files.config), files.config.string());
}

std::string title_of(const libtorch::BertOptions& options) {
  return text::encoder_title(options.kind == libtorch::BertKind::bert ? "bert" : "distilbert",
                             static_cast<std::size_t>(options.layers),
                             static_cast<std::size_t>(options.width));
}

text::WordPiece read_encoder_vocabulary(const EncoderFiles& files,
                                        const libtorch::BertOptions& options) {
  text::WordPiece vocabulary = text::WordPiece::read(files.vocabulary);
  if (vocabulary.size() != static_cast<std::size_t>(options.vocabulary))
    throw Error(fmt::format("{} has {} where config.json says {}.", files.vocabulary.string(),
                            counted(vocabulary.size(), "token"), options.vocabulary));
  return vocabulary;
}

libtorch::LoadReport load_encoder(const EncoderFiles& files, libtorch::QuestionAnswering& model) {
  const std::map<std::string, at::Tensor> tensors = tensors_of(files.weights);
  libtorch::LoadReport report;
  try {
    report = model.load(tensors);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", files.weights.string(), error.what()));
  }
  if (!report.missing.empty()) {
    const std::string unused = report.unexpected.empty() ? ""
                                                         : fmt::format(", with {} of them unused",
                                                                       listed(report.unexpected));
    throw Error(
        fmt::format("{} lacks {}{}.", files.weights.string(), listed(report.missing), unused));
  }
  return report;
}

}  // namespace medgrad::language
