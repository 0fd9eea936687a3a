// What an encoder of the BERT family is called, by its config.json.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"

namespace medgrad::text {

inline constexpr std::string_view kDistilBert = "DistilBERT", kMiniLm = "MiniLM-L6";

// "DistilBERT" for a `distilbert` of 6 layers of 768, "MiniLM-L6" for a `bert` of 6 layers of 384,
// else "a BERT-type encoder of 2 layers of 64".
[[nodiscard]] inline std::string encoder_title(std::string_view model_type, std::size_t layers,
                                               std::size_t width) {
  if (model_type == "distilbert" && layers == 6 && width == 768) return std::string(kDistilBert);
  if (model_type == "bert" && layers == 6 && width == 384) return std::string(kMiniLm);
  return fmt::format("a BERT-type encoder of {} of {}", counted(layers, "layer"), width);
}

}  // namespace medgrad::text
