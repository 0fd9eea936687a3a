#include <nlohmann/json.hpp>

#include "medgrad/error.h"
#include "torch/models/bert.h"

namespace medgrad::torch {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& sentence) { throw Error(sentence); }

// Fields are numbers or text; what is not there keeps its default.
template <class T>
void read(const json& config, const char* field, T& value) {
  const auto found = config.find(field);
  if (found == config.end() || found->is_null()) return;
  if (!found->is_number()) {
    fail(std::string("config.json: ")
             .append(field)
             .append(" is ")
             .append(found->dump())
             .append("; it is a number."));
  }
  value = found->get<T>();
}

void expect(const json& config, const char* field, const std::string& wanted) {
  const auto found = config.find(field);
  if (found == config.end() || (found->is_string() && found->get<std::string>() == wanted)) return;
  fail(std::string("config.json: ")
           .append(field)
           .append(" is ")
           .append(found->dump())
           .append("; only \"")
           .append(wanted)
           .append("\" is known."));
}

BertOptions bert(const json& config) {
  BertOptions o;
  o.kind = BertKind::bert;
  o.types = 2;
  o.layers = 12;
  o.head_dropout = 0;
  read(config, "vocab_size", o.vocabulary);
  read(config, "max_position_embeddings", o.positions);
  read(config, "type_vocab_size", o.types);
  read(config, "hidden_size", o.width);
  read(config, "num_attention_heads", o.heads);
  read(config, "intermediate_size", o.hidden);
  read(config, "num_hidden_layers", o.layers);
  read(config, "layer_norm_eps", o.epsilon);
  read(config, "hidden_dropout_prob", o.dropout);
  read(config, "attention_probs_dropout_prob", o.attention_dropout);
  expect(config, "hidden_act", "gelu");
  expect(config, "position_embedding_type", "absolute");
  return o;
}

BertOptions distilbert(const json& config) {
  BertOptions o;
  read(config, "vocab_size", o.vocabulary);
  read(config, "max_position_embeddings", o.positions);
  read(config, "dim", o.width);
  read(config, "n_heads", o.heads);
  read(config, "hidden_dim", o.hidden);
  read(config, "n_layers", o.layers);
  read(config, "dropout", o.dropout);
  read(config, "attention_dropout", o.attention_dropout);
  read(config, "qa_dropout", o.head_dropout);
  expect(config, "activation", "gelu");
  return o;
}

}  // namespace

BertOptions parse_bert_options(std::string_view text) {
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) fail("config.json is not a JSON object.");
  const std::string kind = config.contains("model_type") && config["model_type"].is_string()
                               ? config["model_type"].get<std::string>()
                               : "";
  if (kind == "bert") return bert(config);
  if (kind == "distilbert") return distilbert(config);
  fail(std::string("config.json: model_type is \"")
           .append(kind)
           .append("\"; \"bert\" and \"distilbert\" are known."));
}

}  // namespace medgrad::torch
