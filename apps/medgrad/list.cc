// medgrad list: everything in the registry, for people, for programs, and as docs/methods.md.
#include <algorithm>
#include <iostream>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "lab/experiments.h"
#include "language/task_table.h"
#include "medgrad/attack.h"
#include "medgrad/error.h"
#include "medgrad/optimize.h"
#include "medgrad/registry.h"
#include "medgrad/worker.h"
#include "method_choice.h"
#include "text.h"

namespace medgrad::app {
namespace {

// What an experiment takes beyond this program. A film makes up its data.
std::string needs_of(const lab::BuiltIn& one, const Node& document) {
  if (!one.needs_libtorch) return "";
  const bool made_up = document.find("kind") != nullptr && plain(*document.find("kind")) == "film";
  return made_up ? " (needs libtorch)" : " (needs libtorch and data)";
}

// A registry entry without its type: what there is to say about it.
struct Item {
  std::string name, aliases, formula, meaning;
  std::vector<std::string> alias_list;
  std::vector<Parameter> parameters;
};

struct Section {
  std::string name, title, intro;
  std::vector<Item> items;
  const char* dashes = "--";  // before the names of parameters, where they are options
};

template <class Made>
std::vector<Item> items_of(std::span<const Entry<Made>> entries) {
  std::vector<Item> items;
  for (const Entry<Made>& e : entries) {
    Item item{.name = std::string(e.name),
              .aliases = {},
              .formula = std::string(e.formula),
              .meaning = std::string(e.meaning),
              .alias_list = {e.aliases.begin(), e.aliases.end()},
              .parameters = e.parameters};
    for (const std::string& alias : item.alias_list)
      item.aliases += (item.aliases.empty() ? "" : ", ") + alias;
    items.push_back(std::move(item));
  }
  return items;
}

// Something with a name and nothing to set.
Item plain_item(std::string_view name, std::string meaning) {
  return {.name = std::string(name),
          .aliases = {},
          .formula = {},
          .meaning = std::move(meaning),
          .alias_list = {},
          .parameters = {}};
}

std::vector<Item> experiment_items() {
  std::vector<Item> items;
  for (const lab::BuiltIn& one : lab::built_in_experiments()) {
    const Node document = parse_document(one.text, std::string(one.name));
    items.push_back(plain_item(one.name, plain(*document.find("title")) + needs_of(one, document)));
  }
  return items;
}

std::vector<Item> task_items() {
  std::vector<Item> items;
  for (const language::TaskInfo& task : language::tasks()) {
    items.push_back(plain_item(task.name, std::string(task.title) + "; batch " +
                                              std::to_string(task.batch * task.accumulate) + ", " +
                                              counted(task.epochs, "epoch") + ", dropout " +
                                              number(task.dropout)));
  }
  return items;
}

std::vector<Section> sections() {
  return {
      {"methods", "Online methods", "medgrad estimate METHOD follows a stream of vectors g.",
       items_of(online_methods())},
      {"distances", "Distances",
       "medgrad prox DISTANCE applies one; the methods are built from them.",
       items_of(distances())},
      {"aggregators", "Aggregators",
       "medgrad aggregate METHOD computes one vector from the rows x_1 ... x_n.",
       items_of(sample_methods())},
      {"pre-aggregators", "Pre-aggregators",
       "Parts that go before an aggregator and change the rows that it gets: medgrad aggregate "
       "nnm+median --f 2.",
       items_of(pre_aggregators())},
      {"workers", "Workers' methods",
       "What each of several workers makes of its own gradients g; a rule gets their vectors v (m "
       "in "
       "online methods): the optimiser workers-METHOD+RULE, as in "
       "workers-ema:tau=0.1+nnm+median.",
       items_of(worker_methods()), ""},
      {"attacks", "Attacks",
       "medgrad attack NAME writes what f lying workers would send; mu is the mean of the honest "
       "rows x_1 ... x_h, sigma their standard deviation, per component.",
       items_of(attacks())},
      {"noises", "Noises",
       "medgrad noise sample --model NAME; in experiments, the noise of the gradients.",
       items_of(noises())},
      {"optimizers", "Optimisers",
       "Methods in experiments and in training: an estimate m of the gradient, then w <- w - eta "
       "m. " +
           language::training_tau_sentence(),
       items_of(optimizers())},
      {"schedules", "Schedules",
       "How a learning rate or tau changes over the T steps of a run: cosine:value=0.1:warmup=100.",
       items_of(schedules()), ""},
      {"experiments", "Experiments", "medgrad reproduce NAME runs one; --print shows its file.",
       experiment_items()},
      {"tasks", "Language tasks",
       "medgrad train, sweep or gradients TASK; needs libtorch, and data unless it is synthetic.",
       task_items()}};
}

Json json_of(const Item& item) {
  Json parameters = Json::array();
  for (const Parameter& p : item.parameters) {
    parameters.push_back({{"name", p.name},
                          {"meaning", p.meaning},
                          {"range", p.range_text()},
                          {"required", p.required()},
                          {"default", p.required() ? Json(nullptr) : json_number(p.fallback)},
                          {"min", json_number(p.range.min)},
                          {"max", json_number(p.range.max)},
                          {"min_open", p.range.min_open},
                          {"max_open", p.range.max_open},
                          {"integer", p.range.whole}});
    if (p.words.size() > 0)
      parameters.back()["words"] = std::vector<std::string>(p.words.begin(), p.words.end());
  }
  return {{"name", item.name},
          {"aliases", item.alias_list},
          {"formula", item.formula},
          {"meaning", item.meaning},
          {"parameters", parameters}};
}

void print_json(const std::vector<Section>& chosen) {
  Json json = Json::object();
  for (const Section& section : chosen) {
    Json& list = json[section.name] = Json::array();
    for (const Item& item : section.items) list.push_back(json_of(item));
  }
  std::cout << json.dump(2) << "\n";
}

void print_text(const std::vector<Section>& chosen) {
  for (const Section& section : chosen) {
    std::cout << section.title << "\n" << wrapped(section.intro, 0) << "\n\n";
    for (const Item& item : section.items) {
      std::cout << item.name << (item.aliases.empty() ? "" : " (also " + item.aliases + ")")
                << "\n";
      std::cout << "    " << wrapped(item.meaning, 4) << "\n";
      if (!item.formula.empty()) std::cout << "    " << wrapped(item.formula, 4) << "\n";
      for (const Parameter& p : item.parameters)
        std::cout << "    " << section.dashes << p.name << "  " << wrapped(describe(p), 8) << "\n";
    }
    std::cout << (&section == &chosen.back() ? "" : "\n");
  }
}

// Formulas have bars, which end a table's cell.
std::string cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2)
    text.replace(i, 1, "\\|");
  return text;
}

void print_markdown(const std::vector<Section>& chosen) {
  std::cout << "# Methods and their parameters\n\n"
               "Generated by `medgrad list --format markdown`; do not edit.\n";
  for (const Section& section : chosen) {
    std::cout << "\n## " << section.title << "\n\n"
              << section.intro << "\n\n"
              << "| name | formula | what it does | parameters |\n| --- | --- | --- | --- |\n";
    for (const Item& item : section.items) {
      std::string parameters;
      for (const Parameter& p : item.parameters) {
        parameters += std::string(parameters.empty() ? "`" : "; `") + section.dashes +
                      std::string(p.name) + "` " + cell(describe(p));
      }
      std::cout << "| `" << item.name << "`"
                << (item.aliases.empty() ? "" : " (also " + item.aliases + ")") << " | "
                << (item.formula.empty() ? "" : "`" + cell(item.formula) + "`") << " | "
                << cell(item.meaning) << " | " << parameters << " |\n";
    }
  }
}

constexpr std::string_view kWhat[] = {"methods",   "distances",   "aggregators", "pre-aggregators",
                                      "workers",   "attacks",     "noises",      "optimizers",
                                      "schedules", "experiments", "tasks"};

class List final : public Command {
 public:
  std::string_view name() const override { return "list"; }
  std::string_view summary() const override {
    return "list all methods, distances, aggregators, pre-aggregators, workers' methods, "
           "attacks, noises, "
           "optimizers, schedules, experiments and tasks, with formulas, parameters and defaults";
  }
  std::string_view usage() const override { return "[WHAT] [options]"; }
  void declare(Options& options) override {
    options.argument("WHAT", what_,
                     "methods, distances, aggregators, pre-aggregators, workers, attacks, noises, "
                     "optimizers, schedules, experiments or tasks (default: all)");
    options.offer("WHAT", {std::begin(kWhat), std::end(kWhat)});
    options.value("--format", format_, "F", "text (default), json or markdown");
    options.offer("--format", {"text", "json", "markdown"});
  }

  void run(const Common&) override {
    check_word("--format", format_, {"text", "json", "markdown"});
    std::vector<Section> chosen = sections();
    if (!what_.empty()) {
      check_word("what to list", what_, kWhat);
      std::erase_if(chosen, [this](const Section& section) { return section.name != what_; });
    }
    if (format_ == "json") {
      print_json(chosen);
    } else if (format_ == "markdown") {
      print_markdown(chosen);
    } else {
      print_text(chosen);
    }
  }

 private:
  std::string what_, format_ = "text";
};

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace medgrad::app
