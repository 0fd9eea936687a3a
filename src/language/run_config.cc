#include "language/run_config.h"

#include <fmt/core.h>

#include "base/remedy.h"
#include "medgrad/error.h"
#include "medgrad/version.h"

namespace medgrad::language {

Json json_of(const Schedule& schedule) {
  return std::visit(
      []<class S>(const S& kind) {
        Json json = {{"name", S::about.name}};
        for_each_field<S>([&](const auto& f) { json[std::string(f.name)] = kind.*f.member; });
        return json;
      },
      schedule);
}

Json json_of(const TeamOptions& team) {
  Json json = {{"workers", team.workers},
               {"aggregate", describe(team.rule)},
               {"topology", dist::name(team.topology)},
               {"byzantine", team.byzantine}};
  if (team.byzantine > 0) json["attack"] = describe(team.attack);
  for (const Event& one : team.events) json["events"].push_back(one.text);
  return json;
}

Json json_of(const lab::Corruption& corrupted) {
  using Kind = lab::Corruption::Kind;
  if (corrupted.kind == Kind::scaled)
    return {{"share", corrupted.share}, {"factor", corrupted.factor}};
  Json json = {{"share", corrupted.share}, {"kind", lab::name(corrupted.kind)}};
  if (corrupted.kind == Kind::bit_flip) json["flips"] = corrupted.flips;
  return json;
}

RunLength length_of(const Task& task, const TrainingOptions& options) {
  RunLength length;
  length.samples = samples_of(options.gradient);
  length.accumulate = options.accumulate != 0 ? options.accumulate : task.info().accumulate;
  const std::size_t workers = options.workers ? options.workers->workers : 1;
  length.per_epoch = task.batches() / length.accumulate / length.samples / workers;
  if (length.per_epoch == 0)
    throw Error(
        "an epoch has fewer batches than one step takes; choose a smaller batch size, accumulate "
        "fewer batches or have fewer workers.");
  length.total = options.steps != 0 ? options.steps : options.epochs * length.per_epoch;
  return length;
}

Json config_of(const Task& task, const TrainingOptions& options) {
  const TaskOptions& of = task.options();
  const RunLength length = length_of(task, options);
  Json json = {{"version", kVersion},
               {"task", task.info().name},
               {"data", task.description()},
               {"data_checksum", task.data_checksum()},
               {"size", of.size == Size::paper ? "paper" : "small"},
               {"batch", of.batch},
               {"dropout", of.dropout.value_or(task.info().dropout)},
               {"drop_last", of.drop_last},
               {"limit", of.limit},
               {"evaluation_limit", of.evaluation_limit},
               {"data_seed", of.data_seed},
               {"method", options.method},
               {"per_tensor", options.per_tensor},
               {"lr", options.lr},
               {"lr_schedule", json_of(options.lr_schedule)},
               {"tau_schedule", json_of(options.tau_schedule)},
               {"accumulate", length.accumulate},
               {"seed", options.seed}};
  if (needs_length(options.lr_schedule) || needs_length(options.tau_schedule))
    json["steps"] = length.total;
  if (options.bfloat16) json["state"] = "bfloat16";
  if (options.corrupted.share != 0) json["corrupted"] = json_of(options.corrupted);
  if (options.workers) json["workers"] = json_of(*options.workers);
  return json;
}

void check_same_run(const Json& there, const Json& asked, const std::string& where) {
  if (there == asked) return;
  std::string what = "other settings";
  for (const auto& [key, value] : asked.items()) {
    const auto found = there.is_object() ? there.find(key) : there.end();
    if (found != there.end() && *found == value) continue;
    what = fmt::format("another '{}'", key);
    if (found != there.end() && !value.is_object())
      what += fmt::format(" ({}, not {})", found->dump(), value.dump());
    break;
  }
  throw WithRemedy<Error>([=](const auto& name) {
    return fmt::format("{} belongs to a run with {}; use the same settings, or choose another {}.",
                       where, what, name("out"));
  });
}

}  // namespace medgrad::language
