#include "medgrad/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace medgrad {
namespace {

using Kind = Schedule::Kind;

// A kind: a schedule with its defaults, and those of its fields that it uses.
template <class... V>
Entry<Schedule> kind(const About& about, const Schedule& prototype,
                     const Field<Schedule, V>&... fields) {
  Entry<Schedule> entry{about.name, {}, about.formula, about.meaning, {}, {}};
  (entry.parameters.push_back(
       {fields.name, fields.meaning, fields.range, static_cast<double>(prototype.*fields.member)}),
   ...);
  entry.build = [=](const ParameterValues& values) {
    Schedule made = prototype;
    ((made.*fields.member = static_cast<V>(values.find(fields.name)->second)), ...);
    return made;
  };
  return entry;
}

std::vector<Entry<Schedule>> make_schedules() {
  constexpr Range kSteps = range::whole(0, 1e12);
  const auto value = field("value", &Schedule::value, range::non_negative, "at its largest");
  const auto warmup =
      field("warmup", &Schedule::warmup, kSteps, "steps in which it rises linearly");
  const auto factor = field("factor", &Schedule::factor, range::non_negative,
                            "what it is multiplied by at every drop");
  const auto floor = field("factor", &Schedule::factor, range::share,
                           "where it ends, as a share of its largest value");
  const auto every =
      field("every", &Schedule::every, range::whole(1, 1e12), "steps from drop to drop");
  return {
      kind({"constant", "value", "the same all the time"}, {Kind::constant}, value, warmup),
      kind({"inverse-sqrt", "value / sqrt(t + 1)", "falls with the root of the step"},
           {Kind::inverse_sqrt}, value, warmup),
      kind({"inverse", "value / (t + 1)", "falls with the step"}, {Kind::inverse}, value, warmup),
      kind({"horizon", "value / sqrt(T)", "constant, smaller for longer runs"}, {Kind::horizon},
           value, warmup),
      kind({"step", "value factor^floor(t / every)", "drops at intervals"},
           {.kind = Kind::step, .factor = 0.1}, value, factor, every, warmup),
      kind({"cosine", "value (factor + (1 - factor) (1 + cos(pi t / T)) / 2)",
            "falls along half a cosine"},
           {Kind::cosine}, value, floor, warmup)};
}

}  // namespace

double Schedule::at(std::size_t t, std::size_t steps) const {
  const double now = static_cast<double>(t),
               all = static_cast<double>(std::max<std::size_t>(steps, 1));
  const double rise = std::min(1.0, (now + 1) / (static_cast<double>(warmup) + 1));
  switch (kind) {
    case Kind::constant:
      return rise * value;
    case Kind::inverse_sqrt:
      return rise * value / std::sqrt(now + 1);
    case Kind::inverse:
      return rise * value / (now + 1);
    case Kind::horizon:
      return rise * value / std::sqrt(all);
    case Kind::step:
      return rise * value * std::pow(factor, std::floor(now / static_cast<double>(every)));
    case Kind::cosine:
      return rise * value *
             (factor + (1 - factor) * (1 + std::cos(std::numbers::pi * now / all)) / 2);
  }
  return value;
}

std::span<const Entry<Schedule>> schedules() {
  static const std::vector<Entry<Schedule>> entries = make_schedules();
  return entries;
}

const Entry<Schedule>& find_schedule(std::string_view name) {
  return find_entry(schedules(), "a schedule", name);
}

std::string_view name_of(Schedule::Kind kind) {
  return schedules()[static_cast<std::size_t>(kind)].name;
}

Schedule parse_schedule(std::string_view text) {
  const MethodText given = parse_method_text(text);
  const Entry<Schedule>& entry = find_schedule(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

}  // namespace medgrad
