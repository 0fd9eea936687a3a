// A published encoder of the BERT family: a folder with config.json, vocab.txt and
// model.safetensors. Whatever is wrong in one of them is an Error that names the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "text/wordpiece.h"
#include "torch/models/question_answering.h"

namespace medgrad::language {

struct EncoderFiles {
  std::filesystem::path config, vocabulary, weights;
  explicit EncoderFiles(const std::filesystem::path& folder)
      : config(folder / "config.json"),
        vocabulary(folder / "vocab.txt"),
        weights(folder / "model.safetensors") {}
};

// Reads the text of a config.json; `file` is what messages call it. Throws Error where it is no
// JSON (with the line), for a model that is not one of these, and for sizes that no model has.
[[nodiscard]] libtorch::BertOptions parse_encoder_options(std::string_view config,
                                                          const std::string& file = "config.json");
[[nodiscard]] libtorch::BertOptions read_encoder_options(const EncoderFiles& files);
// "DistilBERT", "MiniLM-L6", "a BERT-type encoder of 2 layers of 64".
[[nodiscard]] std::string title_of(const libtorch::BertOptions& options);
// The vocabulary, which must have as many pieces as the options say.
[[nodiscard]] text::WordPiece read_encoder_vocabulary(const EncoderFiles& files,
                                                      const libtorch::BertOptions& options);
// Puts the weights into a model of these options. All that it needs but the head must be there, in
// its shape and finite.
libtorch::LoadReport load_encoder(const EncoderFiles& files, libtorch::QuestionAnswering& model);

// "3 tensors (a, b, …)".
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

}  // namespace medgrad::language
