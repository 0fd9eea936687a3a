#include "torch/experiment_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "lab/experiments.h"
#include "language/experiments.h"
#include "language/gradient_settings.h"
#include "language/method.h"
#include "medgrad/error.h"

namespace medgrad::app {
namespace {

// How the text of an option becomes a value of the document.
using Read = Node (*)(const std::string& option, const std::string& text);

template <std::uint64_t min>
Node whole(const std::string& option, const std::string& text) {
  return {static_cast<double>(to_whole_number(option, text, min)), 1};
}
Node positive(const std::string& option, const std::string& text) {
  const double x = to_number(option, text);
  if (!(x > 0) || std::isinf(x))
    throw Error(fmt::format("{} is '{}'; it must be a number above 0.", option, text));
  return {x, 1};
}
Node positive_or_auto(const std::string& option, const std::string& text) {
  if (text == "auto") return {text, 1};
  const double x = to_number(option, text);
  if (!(x > 0) || std::isinf(x))
    throw Error(fmt::format("{} is '{}'; it must be a number above 0, or auto.", option, text));
  return {x, 1};
}
Node share(const std::string& option, const std::string& text) {
  const double x = to_number(option, text);
  if (!(x >= 0 && x < 1))
    throw Error(fmt::format("{} is '{}'; it must be at least 0 and below 1.", option, text));
  return {x, 1};
}
Node word(const std::string&, const std::string& text) { return {text, 1}; }
Node size(const std::string& option, const std::string& text) {
  check_word(option, text, {"paper", "small"});
  return {text, 1};
}
template <Read read>
Node list(const std::string& option, const std::string& text) {
  Node::List nodes;
  for (const std::string& part : comma_list(option, text)) nodes.push_back(read(option, part));
  return {std::move(nodes), 1};
}
Node names_or_none(const std::string& option, const std::string& text) {
  return text == "none" ? Node{Node::List{}, 1} : list<word>(option, text);
}
Node yes(const std::string&, const std::string&) { return {true, 1}; }
Node random_order(const std::string&, const std::string&) { return {std::string("random"), 1}; }

struct Form {
  const char* help;
  Read read;
};
struct Setting {
  const char *option, *operand, *key;  // a flag has no operand
  std::optional<Form> gradients = {}, training = {};
};
constexpr Setting kSettings[] = {
    {"--batch", "B", "batch", Form{"batch sizes, separated by commas", list<whole<1>>},
     Form{"sequences per batch", whole<1>}},
    {"--limit", "N", "limit", Form{"use only the first N batches; 0: all", whole<0>},
     Form{"use only the first N batches of an epoch; 0: all", whole<0>}},
    {"--methods", "LIST", "methods",
     Form{
         "online methods (medgrad list methods), separated by commas, such as vclip,huber:mu=2, or "
         "none",
         names_or_none},
     Form{"optimisers, separated by commas, at the paper's learning rates unless --lr is given",
          list<word>}},
    {"--lr", "LIST", "lr", {}, Form{"learning rates, one per method", list<positive>}},
    {"--tau", "LIST", "tau",
     Form{"step sizes of the methods that do not say theirs: numbers, or auto",
          list<positive_or_auto>}},
    {"--epochs", "N", "epochs", {}, Form{"passes over the data", whole<1>}},
    {"--steps", "N", "steps", Form{"number of steps", whole<1>},
     Form{"stop after N steps, instead of after --epochs", whole<1>}},
    {"--seeds", "N", "seeds", {}, Form{"runs per method", whole<1>}},
    {"--evaluation-limit",
     "N",
     "evaluation_limit",
     {},
     Form{"evaluate on the first N batches of each part; 0: all", whole<0>}},
    {"--dropout", "P", "dropout",
     Form{"dropout of the model; above 0, it is drawn again for every gradient", share},
     Form{"dropout of the model", share}},
    {"--size", "S", "size", Form{"paper, or small: a small model of the same kind", size},
     Form{"paper, or small: a small model of the same kind", size}},
    {"--random-order", "", "order", Form{"shuffle the batches in every pass", random_order}},
    {"--noise", "", "noise",
     Form{"also measure the noise: histogram, Q-Q plot and tail index", yes}},
};

bool is_seeds(const Setting& setting) { return std::string_view(setting.key) == "seeds"; }

// How a file with such keys has it, if at all.
std::optional<Form> form_for(const Setting& setting, lab::Adjustable keys) {
  if (keys == lab::Adjustable::gradients) return setting.gradients;
  if (keys == lab::Adjustable::training) return setting.training;
  return keys == lab::Adjustable::seeds && is_seeds(setting) ? setting.training : std::nullopt;
}

bool is_offered(const Setting& setting, ExperimentOptions::Offered offered) {
  if (offered == ExperimentOptions::Offered::seeds) return is_seeds(setting);
  return offered == ExperimentOptions::Offered::all || setting.gradients;
}

std::string help_of(const Setting& s, ExperimentOptions::Offered offered) {
  if (offered == ExperimentOptions::Offered::of_gradients) return s.gradients->help;
  if (!s.training) return fmt::format("gradients: {}", s.gradients->help);
  if (!s.gradients) return fmt::format("training: {}", s.training->help);
  if (std::string_view(s.gradients->help) == s.training->help) return s.training->help;
  return fmt::format("gradients: {}; training: {}", s.gradients->help, s.training->help);
}

std::string text_of(const Node& document, const char* key) {
  const Node* const node = document.find(key);
  return node == nullptr || node->text() == nullptr ? "" : *node->text();
}

}  // namespace

void ExperimentOptions::declare(Options& options, Offered offered) {
  values_.resize(std::size(kSettings));
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Setting& setting = kSettings[i];
    if (!is_offered(setting, offered)) continue;
    const std::string help = help_of(setting, offered);
    if (*setting.operand == '\0') {
      options.flag(setting.option, values_[i].flag, help);
    } else {
      options.value(setting.option, values_[i].text, setting.operand, help);
    }
  }
}

const std::string* ExperimentOptions::given(std::string_view option) const {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (kSettings[i].option == option && (values_[i].flag || !values_[i].text.empty()))
      return &values_[i].text;
  return nullptr;
}

void ExperimentOptions::apply(Node& document, const Common& common) const {
  if (document.object() == nullptr) return;  // reading it will say what is wrong
  const lab::Kind* const kind = lab::kind_of(document, language::catalogue());
  if (kind == nullptr) return;
  for (const Setting& setting : kSettings) {
    const std::string* const text = given(setting.option);
    if (text == nullptr) continue;
    if (const std::optional<Form> form = form_for(setting, kind->adjustable)) {
      language::put(document, setting.key, form->read(setting.option, *text));
    } else if (!is_seeds(setting) || lab::needs_libtorch(document)) {
      throw Error(fmt::format("{} does not apply to {}, an experiment of the kind '{}'.",
                              setting.option, text_of(document, "experiment"), kind->name));
    }
  }
  if (!common.seed.empty()) language::put(document, "seed", whole<0>("--seed", common.seed));
  if (kind->adjustable == lab::Adjustable::training) match_rates(document);
}

// Learning rates belong to methods: with others, those of the file go.
void ExperimentOptions::match_rates(Node& document) const {
  const Node* const methods = document.find("methods");
  if (methods == nullptr || methods->list() == nullptr) return;
  if (given("--lr") != nullptr) {
    const std::size_t rates = document.find("lr")->list()->size();
    if (rates != methods->list()->size())
      throw Error(fmt::format("--lr has {} for {}; it needs one for each.",
                              counted(rates, "learning rate"),
                              counted(methods->list()->size(), "method")));
    return;
  }
  if (given("--methods") == nullptr) return;
  std::erase_if(std::get<Node::Object>(document.value),
                [](const auto& entry) { return entry.first == "lr"; });
  const language::TaskInfo& task = language::find_task(text_of(document, "task"));
  for (const std::string& one : comma_list("--methods", *given("--methods"))) {
    const language::Method method = language::parse_method(one);
    if (std::ranges::find(task.rates, method.key, [](const auto& rate) {
          return std::string(rate.first);
        }) == task.rates.end())
      throw Error(
          fmt::format("--methods names {}, for which the paper has no learning rate; give all of "
                      "them with --lr.",
                      one));
  }
}

}  // namespace medgrad::app
