// The sizes of a published encoder, from its config.json.
#include <fmt/core.h>

#include <cmath>

#include "base/document.h"
#include "base/text.h"
#include "language/encoder.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

using libtorch::BertKind;
using libtorch::BertOptions;

// Far above every published model, and far below what could not be counted.
constexpr std::int64_t kMostWords = 10'000'000, kMostPositions = 1'000'000, kWidest = 100'000,
                       kMostLayers = 1000;

// The fields of a config.json; what is not there keeps its default.
class Config {
 public:
  Config(std::string_view text, const std::string& file)
      : file_(file), document_(parse_document(text, file)) {
    if (document_.object() == nullptr) throw Error(file + " is not a JSON object.");
  }

  void read(const char* field, std::int64_t& value, std::int64_t least, std::int64_t most) const {
    const Node* const found = find(field);
    if (found == nullptr) return;
    // Compared as a double: a conversion of what does not fit is undefined.
    const double x = found->number() == nullptr ? NAN : *found->number();
    if (!(x >= static_cast<double>(least) && x <= static_cast<double>(most)) || x != std::floor(x))
      fail(field, *found, fmt::format("it must be a whole number from {} to {}", least, most));
    value = static_cast<std::int64_t>(x);
  }

  void read(const char* field, double& value, const char* range, bool (*fits)(double)) const {
    const Node* const found = find(field);
    if (found == nullptr) return;
    if (found->number() == nullptr || !fits(*found->number()))
      fail(field, *found, fmt::format("it must be {}", range));
    value = *found->number();
  }

  void read_dropout(const char* field, double& value) const {
    read(field, value, "at least 0 and below 1", [](double x) { return x >= 0 && x < 1; });
  }

  void expect(const char* field, std::string_view wanted) const {
    const Node* const found = find(field);
    if (found != nullptr && !is(*found, wanted))
      fail(field, *found, fmt::format("only '{}' is known", wanted));
  }

  [[nodiscard]] const Node* find(const char* field) const {
    const Node* const found = document_.find(field);
    return found == nullptr || found->value.index() == 0 ? nullptr : found;
  }

  [[nodiscard]] static bool is(const Node& node, std::string_view text) {
    return node.text() != nullptr && *node.text() == text;
  }

  // "config.json: vocab_size is '-1'; it must be …."
  [[noreturn]] void fail(const char* field, const Node& found, const std::string& should) const {
    throw Error(
        fmt::format("{}: {} is {}; {}.", file_, field, internal::quoted(plain(found)), should));
  }

 private:
  const std::string& file_;
  Node document_;
};

BertOptions bert(const Config& config) {
  BertOptions o;
  o.kind = BertKind::bert;
  o.types = 2;
  o.layers = 12;
  o.head_dropout = 0;
  config.read("vocab_size", o.vocabulary, 1, kMostWords);
  config.read("max_position_embeddings", o.positions, 1, kMostPositions);
  config.read("type_vocab_size", o.types, 0, kMostLayers);
  config.read("hidden_size", o.width, 1, kWidest);
  config.read("num_attention_heads", o.heads, 1, kWidest);
  config.read("intermediate_size", o.hidden, 1, kWidest);
  config.read("num_hidden_layers", o.layers, 0, kMostLayers);
  config.read("layer_norm_eps", o.epsilon, "above 0 and below 1",
              [](double x) { return x > 0 && x < 1; });
  config.read_dropout("hidden_dropout_prob", o.dropout);
  config.read_dropout("attention_probs_dropout_prob", o.attention_dropout);
  config.expect("hidden_act", "gelu");
  config.expect("position_embedding_type", "absolute");
  return o;
}

BertOptions distilbert(const Config& config) {
  BertOptions o;
  config.read("vocab_size", o.vocabulary, 1, kMostWords);
  config.read("max_position_embeddings", o.positions, 1, kMostPositions);
  config.read("dim", o.width, 1, kWidest);
  config.read("n_heads", o.heads, 1, kWidest);
  config.read("hidden_dim", o.hidden, 1, kWidest);
  config.read("n_layers", o.layers, 0, kMostLayers);
  config.read_dropout("dropout", o.dropout);
  config.read_dropout("attention_dropout", o.attention_dropout);
  config.read_dropout("qa_dropout", o.head_dropout);
  config.expect("activation", "gelu");
  return o;
}

}  // namespace

BertOptions parse_encoder_options(std::string_view text, const std::string& file) {
  const Config config(text, file);
  const Node* const kind = config.find("model_type");
  if (kind == nullptr)
    throw Error(file + ": model_type is missing; it must be 'bert' or 'distilbert'.");
  const bool is_bert = Config::is(*kind, "bert");
  if (!is_bert && !Config::is(*kind, "distilbert"))
    config.fail("model_type", *kind, "it must be 'bert' or 'distilbert'");
  const BertOptions o = is_bert ? bert(config) : distilbert(config);
  if (o.width % o.heads != 0)
    throw Error(fmt::format("{}: the width {} is not a multiple of the heads, {}.", file, o.width,
                            o.heads));
  return o;
}

}  // namespace medgrad::language
