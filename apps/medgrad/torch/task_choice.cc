#include "torch/task_choice.h"

#include <fmt/core.h>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "parameter_options.h"
#include "status_line.h"
#include "text.h"

namespace medgrad::app {
namespace {

// 0 where it was not given.
std::size_t count(const char* option, const std::string& text, std::uint64_t min) {
  if (text.empty()) return 0;
  constexpr auto kMost = std::uint64_t{1} << 40;  // products of two do not overflow
  const std::uint64_t n = to_whole_number(option, text, min);
  if (n > kMost) throw Error(fmt::format("{} is '{}', which is too large.", option, text));
  return static_cast<std::size_t>(n);
}

// An option that stands for a parameter of a schedule.
struct Shorthand {
  const char *option, *parameter;
  const std::string& text;
  bool used = false;
};

// "cosine:factor=0.1", with what shorthands say.
Schedule schedule_of(const char* option, const std::string& text, std::span<Shorthand> more,
                     const ScheduleUse& use = {}) {
  try {
    MethodText given = parse_method_text(text);
    const Entry<Schedule> entry = find_schedule(given.name, use);
    for (Shorthand& one : more) {
      if (one.text.empty() || entry.find(one.parameter) == nullptr) continue;
      if (!given.parameters.emplace(one.parameter, one.text).second)
        fail_given_twice(text, one.option, one.parameter);
      one.used = true;
    }
    return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
  } catch (const Error& error) {
    if (error.subject().empty()) throw error.at(option);
    for (const Shorthand& one : more)
      if (one.used && error.subject() == one.parameter) throw error.called(one.option);
    throw error.at(option);
  }
}

}  // namespace

void TaskChoice::declare(Options& options) {
  options.argument("TASK", name_, "one of the tasks below");
  options.offer("TASK", task_names());
  options.value("--size", size_, "S",
                "paper (default), or small: a model of the same kind for trying things out");
  options.offer("--size", {"paper", "small"});
  options.value("--batch", batch_, "B", "sequences per batch (default: the paper's)");
  options.value("--dropout", dropout_, "P", "dropout, instead of the paper's; 0 for none");
  options.value("--limit", limit_, "N", "use only the first N batches of an epoch");
  options.value("--evaluation-limit", evaluation_limit_, "N",
                "evaluate on only the first N batches of each part");
}

std::unique_ptr<language::Task> TaskChoice::open(const Common& common) const {
  if (name_.empty()) {
    std::vector<std::string_view> names;
    for (const language::TaskInfo& info : language::tasks()) names.push_back(info.name);
    throw Error(fmt::format("TASK is missing; it must be {}.", one_of(names)));
  }
  check_word("--size", size_, {"paper", "small"});
  language::TaskOptions options;
  options.size = size_ == "small" ? language::Size::small : language::Size::paper;
  options.batch = count("--batch", batch_, 1);
  options.limit = count("--limit", limit_, 1);
  options.evaluation_limit = count("--evaluation-limit", evaluation_limit_, 1);
  if (!dropout_.empty()) {
    options.dropout = to_number("--dropout", dropout_);
    if (!(*options.dropout >= 0 && *options.dropout < 1))
      throw Error(fmt::format("--dropout is '{}'; it must be at least 0 and below 1.", dropout_));
  }
  libtorch::use_threads(static_cast<int>(common.threads));
  if (const std::string slow = libtorch::runtime().warning; !slow.empty()) warn(common, slow);
  return language::open_task(name_, options);
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const language::TaskInfo& info : language::tasks()) names.emplace_back(info.name);
  return names;
}

std::string TaskChoice::help() const {
  std::vector<TextRow> rows;
  for (const language::TaskInfo& info : language::tasks()) rows.emplace_back(info.name, info.title);
  return fmt::format("\ntasks:\n{}", columns(rows));
}

void RunChoice::declare(Options& options, const std::string& epochs) {
  epochs_ = epochs;
  options.value("--epochs", epochs_, "N", fmt::format("passes over the data (default {})", epochs));
  options.value("--steps", steps_, "N", "stop after N steps instead");
  options.value("--accumulate", accumulate_, "N",
                "backward passes per step (default: the paper's)");
  options.flag("--per-tensor", per_tensor_,
               "treat every tensor of the model as a separate vector, clipped by itself; by "
               "default, all of them are one vector");
  options.value("--state", state_, "TYPE",
                "what the tracked estimate is kept in: float (default), or bfloat16, rounded at "
                "random, in half the memory");
  options.offer("--state", {"float", "bfloat16"});
  std::vector<std::string> kinds;
  for (const Entry<Schedule>& entry : schedules()) kinds.emplace_back(entry.name);
  options.value("--schedule", schedule_, "KIND",
                "schedule of the learning rate, such as constant (default), cosine or "
                "step:factor=0.5:every=200; medgrad list schedules shows all of them");
  options.offer("--schedule", kinds);
  options.value("--tau-schedule", tau_schedule_, "KIND", "schedule of tau (default constant)");
  options.offer("--tau-schedule", kinds);
  options.value("--warmup", warmup_, "N",
                "steps over which the learning rate rises linearly (default 0)");
  options.value("--factor", factor_, "F",
                "factor of the schedules: 0.1 by default for step, 0 for cosine");
  options.value("--decay-every", decay_every_, "N",
                "steps between drops of a step schedule (default 1000)");
  options.value("--corrupted", corrupted_, "SHARE",
                "this share of the steps, drawn at random, has a wrong gradient: how much does a "
                "method bear? (default 0)");
  options.value("--corrupted-kind", corrupted_kind_, "KIND",
                "what is wrong with it: scaled (default), multiplied by --corrupted-factor; "
                "bit-flip, a random bit of the exponent of a random component flipped; or "
                "shuffled-labels, of the batch with its labels in another order");
  options.offer("--corrupted-kind", {lab::kCorruptionKinds.begin(), lab::kCorruptionKinds.end()});
  options.value("--corrupted-factor", corrupted_factor_, "C",
                "what a scaled gradient is multiplied by (default -100)");
  options.value("--corrupted-flips", corrupted_flips_, "N",
                "how many bits bit-flip flips (default 1)");
  options.value("--checkpoint-every", checkpoint_every_, "N",
                "steps between checkpoints (default 100)");
  options.value("--log-every", log_every_, "N",
                "steps between lines of metrics.jsonl (default 10)");
}

void RunChoice::put(language::TrainingOptions& options) const {
  options.epochs = count("--epochs", epochs_, 1);
  options.steps = count("--steps", steps_, 1);
  options.accumulate = count("--accumulate", accumulate_, 1);
  check_word("--state", state_, {"float", "bfloat16"});
  options.bfloat16 = state_ == "bfloat16";
  options.per_tensor = per_tensor_;
  put_corruption(options.corrupted);
  options.checkpoint_every = count("--checkpoint-every", checkpoint_every_, 1);
  options.log_every = count("--log-every", log_every_, 1);
  Shorthand shorthands[] = {{"--factor", "factor", factor_},
                            {"--decay-every", "every", decay_every_},
                            {"--warmup", "warmup", warmup_}};
  options.lr_schedule = schedule_of("--schedule", schedule_, shorthands);
  options.tau_schedule = schedule_of("--tau-schedule", tau_schedule_,
                                     std::span(shorthands).first(2), {.value = range::positive});
  for (const Shorthand& one : shorthands)
    if (!one.text.empty() && !one.used)
      throw Error(one.option, "", fmt::format("does not apply to a {} schedule", schedule_));
}

void RunChoice::put_corruption(lab::Corruption& corrupted) const {
  using Kind = lab::Corruption::Kind;
  if (!corrupted_kind_.empty()) {
    check_word("--corrupted-kind", corrupted_kind_, lab::kCorruptionKinds);
    corrupted.kind = lab::corruption_named(corrupted_kind_);
  }
  struct Detail {
    const char* option;
    const std::string& text;
    Kind kind;
  };
  for (const auto& [option, text, kind] :
       {Detail{"--corrupted-factor", corrupted_factor_, Kind::scaled},
        Detail{"--corrupted-flips", corrupted_flips_, Kind::bit_flip}})
    if (!text.empty() && corrupted.kind != kind)
      throw Error(fmt::format("{} is for --corrupted-kind {}.", option, lab::name(kind)));
  if (corrupted_.empty()) {
    for (const auto& [option, text] : {std::pair("--corrupted-kind", corrupted_kind_),
                                       std::pair("--corrupted-factor", corrupted_factor_),
                                       std::pair("--corrupted-flips", corrupted_flips_)})
      if (!text.empty())
        throw Error(fmt::format("{} needs --corrupted, the share of the steps.", option));
    return;
  }
  corrupted.share = to_number("--corrupted", corrupted_);
  if (!range::share.contains(corrupted.share))
    throw Error(fmt::format("--corrupted is {}; it must be from 0 to 1.", corrupted_));
  if (!corrupted_factor_.empty())
    corrupted.factor = to_number("--corrupted-factor", corrupted_factor_);
  if (!std::isfinite(corrupted.factor))
    throw Error(fmt::format("--corrupted-factor is {}; it must be finite.", corrupted_factor_));
  if (!corrupted_flips_.empty()) {
    corrupted.flips = to_whole_number("--corrupted-flips", corrupted_flips_, 1);
    if (corrupted.flips > lab::kMostFlips)
      throw Error(fmt::format("--corrupted-flips is {}; it must be at most {}.", corrupted_flips_,
                              lab::kMostFlips));
  }
}

}  // namespace medgrad::app
