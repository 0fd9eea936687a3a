#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/row_source.h"
#include "medgrad/error.h"
#include "torch/models/bert.h"

namespace medgrad::libtorch {
namespace {

using nlohmann::json;

// Far above every published model, and far below what could not be counted.
constexpr std::int64_t kMostWords = 10'000'000, kMostPositions = 1'000'000, kWidest = 100'000,
                       kMostLayers = 1000;

// The fields of a config.json; what is not there keeps its default.
class Config {
 public:
  Config(std::string_view text, const std::string& file) : file_(file) {
    try {
      json_ = json::parse(text);
    } catch (const json::parse_error& error) {
      const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
      if (byte >= text.size())
        throw Error(std::string(file).append(" is not valid JSON: it ends too early."));
      const auto line = 1 + std::ranges::count(text.substr(0, byte), '\n');
      throw Error(internal::line_of(file, static_cast<std::size_t>(line))
                      .append(": this is not valid JSON, from byte ")
                      .append(std::to_string(byte))
                      .append(" of the file on."));
    } catch (const json::exception&) {
      throw Error(std::string(file).append(" is not valid JSON: a number is out of range."));
    }
    if (!json_.is_object()) throw Error(std::string(file).append(" is not a JSON object."));
  }

  void read(const char* field, std::int64_t& value, std::int64_t least, std::int64_t most) const {
    const json* const found = find(field);
    if (found == nullptr) return;
    // Compared as a number of either kind: a conversion of what does not fit is undefined.
    const double x = found->is_number() ? found->get<double>() : NAN;
    if (!(x >= static_cast<double>(least) && x <= static_cast<double>(most)) || x != std::floor(x))
      fail(field, *found,
           std::string("it must be a whole number from ")
               .append(std::to_string(least))
               .append(" to ")
               .append(std::to_string(most)));
    value = static_cast<std::int64_t>(x);
  }

  void read(const char* field, double& value, const char* range, bool (*fits)(double)) const {
    const json* const found = find(field);
    if (found == nullptr) return;
    if (!found->is_number() || !fits(found->get<double>()))
      fail(field, *found, std::string("it must be ").append(range));
    value = found->get<double>();
  }

  void read_dropout(const char* field, double& value) const {
    read(field, value, "at least 0 and below 1", [](double x) { return x >= 0 && x < 1; });
  }

  void expect(const char* field, const char* wanted) const {
    const json* const found = find(field);
    if (found != nullptr && *found != wanted)
      fail(field, *found, std::string("only '").append(wanted).append("' is known"));
  }

  [[nodiscard]] const json* find(const char* field) const {
    const auto found = json_.find(field);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  // "config.json: vocab_size is '-1'; it must be …."
  [[noreturn]] void fail(const char* field, const json& is, const std::string& should) const {
    const std::string text = is.is_string() ? is.get<std::string>() : is.dump();
    throw Error(std::string(file_)
                    .append(": ")
                    .append(field)
                    .append(" is ")
                    .append(internal::quoted(text))
                    .append("; ")
                    .append(should)
                    .append("."));
  }

 private:
  const std::string& file_;
  json json_;
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

BertOptions parse_bert_options(std::string_view text, const std::string& file) {
  const Config config(text, file);
  const json* const kind = config.find("model_type");
  if (kind == nullptr)
    throw Error(
        std::string(file).append(": model_type is missing; it must be 'bert' or "
                                 "'distilbert'."));
  const bool is_bert = *kind == "bert";
  if (!is_bert && *kind != "distilbert")
    config.fail("model_type", *kind, "it must be 'bert' or 'distilbert'");
  const BertOptions o = is_bert ? bert(config) : distilbert(config);
  if (o.width % o.heads != 0)
    throw Error(std::string(file)
                    .append(": the width ")
                    .append(std::to_string(o.width))
                    .append(" is not a multiple of the heads, ")
                    .append(std::to_string(o.heads))
                    .append("."));
  return o;
}

}  // namespace medgrad::libtorch
