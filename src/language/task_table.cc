#include "language/task_table.h"

#include <fmt/core.h>

#include <string>

#include "base/suggest.h"
#include "medgrad/description.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

using Relation = TaskInfo::Relation;
constexpr TaskInfo::Statement
    kBetterThanMomentum = {"VClip improves over SGD-M", "sgd-m", Relation::better},
    kOnParWithMomentum = {"VClip is on par with SGD-M (within 5 %)", "sgd-m", Relation::on_par},
    kBetterThanCClip = {"CClip performs worse than VClip", "cclip", Relation::better},
    kNoBetterThanAdam = {"VClip does not close the gap to Adam", "adam", Relation::worse},
    kWorseThanClipping = {"VClip performs worse than clipped-SGD", "clipped-sgd", Relation::worse};

}  // namespace

std::span<const TaskInfo> tasks() {
  static const std::vector<TaskInfo> all = {
      {"ptb",
       "Penn Treebank, encoder transformer",
       256,
       1,
       200,
       0.2,
       {{"sgd-m", 1.0}, {"clipped-sgd", 3.16}, {"vclip", 3.16}, {"cclip", 0.316}, {"adam", 0.001}},
       "valid_ppl",
       {kBetterThanMomentum, kBetterThanCClip, kNoBetterThanAdam}},
      {"wikitext2",
       "WikiText-2, Transformer-XL",
       80,
       4,
       40,
       0.1,
       {{"sgd-m", 0.316}, {"clipped-sgd", 3.16}, {"vclip", 1.0}, {"cclip", 0.316}, {"adam", 0.001}},
       "valid_ppl",
       {kBetterThanMomentum, kBetterThanCClip, kNoBetterThanAdam, kWorseThanClipping}},
      {"wikitext2-encoder",
       "WikiText-2, encoder transformer",
       320,
       1,
       40,
       0.2,
       {{"sgd-m", 1.0}, {"clipped-sgd", 3.16}, {"vclip", 3.16}, {"cclip", 0.316}, {"adam", 0.001}},
       "valid_ppl",
       {kBetterThanMomentum, kBetterThanCClip, kNoBetterThanAdam, kWorseThanClipping}},
      {"squad",
       "SQuAD v1.1, question answering",
       32,
       1,
       5,
       0.1,
       {{"sgd-m", 0.316},
        {"clipped-sgd", 1.0},
        {"vclip", 0.316},
        {"cclip", 0.1},
        {"adam", 0.000316}},
       "f1",
       {kOnParWithMomentum, kBetterThanCClip, kNoBetterThanAdam}},
      {"synthetic",
       "synthetic text, encoder transformer",
       16,
       1,
       5,
       0.2,
       {{"sgd-m", 1.0}, {"clipped-sgd", 3.16}, {"vclip", 3.16}, {"cclip", 0.316}, {"adam", 0.001}},
       "valid_ppl",
       {kBetterThanMomentum, kBetterThanCClip, kNoBetterThanAdam}},
      {"synthetic-questions",
       "synthetic questions, question answering",
       16,
       1,
       5,
       0.1,
       {{"sgd-m", 0.316},
        {"clipped-sgd", 1.0},
        {"vclip", 0.316},
        {"cclip", 0.1},
        {"adam", 0.000316}},
       "f1",
       {kOnParWithMomentum, kBetterThanCClip, kNoBetterThanAdam}},
      {"logistic",
       "synthetic logistic regression",
       32,
       1,
       5,
       0,
       {{"sgd-m", 0.316}, {"clipped-sgd", 1.0}, {"vclip", 1.0}, {"cclip", 0.316}, {"adam", 0.01}},
       "valid_loss",
       {}},
  };
  return all;
}

namespace {
constexpr double kTau = 0.1, kTauOfMomentum = 1.0 / 9;
}  // namespace

double training_tau(std::string_view optimizer) {
  return optimizer == "momentum" ? kTauOfMomentum : kTau;
}

std::string training_tau_sentence() {
  return fmt::format(
      "On language tasks (train, sweep, experiments on training) the default of tau is {}, and 1/9 "
      "(beta = 0.9) for momentum.",
      number(kTau));
}

const TaskInfo& find_task(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TaskInfo& info : tasks()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail_unknown("a task", name, names, "medgrad list tasks");
}

}  // namespace medgrad::language
