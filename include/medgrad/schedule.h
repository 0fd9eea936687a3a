// Schedules: a number that changes over the T steps of a run; t counts from 0.
//
//     constant      value
//     inverse-sqrt  value / sqrt(t + 1)
//     inverse       value / (t + 1)
//     horizon       value / sqrt(T)
//     step          value * factor^floor(t / every)
//     cosine        value * (factor + (1 - factor) (1 + cos(pi t / T)) / 2)
//
// each times min(1, (t + 1) / (warmup + 1)): a linear rise over the first `warmup` steps. They are
// written as methods are (registry.h): cosine:value=0.1:warmup=100, or
// {"name": "cosine", "value": 0.1, "warmup": 100}; in C++, CosineSchedule{.value = 0.1}.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>

#include "medgrad/registry.h"

#pragma GCC visibility push(default)
namespace medgrad {

namespace internal {
template <class S>
constexpr auto schedule_value(double S::*member) {
  return field("value", member, range::non_negative, "at its largest");
}
template <class S>
constexpr auto schedule_warmup(std::size_t S::*member) {
  return field("warmup", member, range::whole(0, 1e12), "steps in which it rises linearly");
}
}  // namespace internal

// Of each kind, falling(v, t, T) is its value in step t where it begins with v.

struct ConstantSchedule {
  static constexpr About about{"constant", "value", "the same all the time"};
  static constexpr auto fields() {
    return std::tuple(internal::schedule_value(&ConstantSchedule::value),
                      internal::schedule_warmup(&ConstantSchedule::warmup));
  }
  double value = 1;
  std::size_t warmup = 0;
  static constexpr bool needs_length = false;
  [[nodiscard]] static double falling(double v, double t, double steps);
};

struct InverseSqrtSchedule {
  static constexpr About about{"inverse-sqrt", "value / sqrt(t + 1)",
                               "falls with the root of the step"};
  static constexpr auto fields() {
    return std::tuple(internal::schedule_value(&InverseSqrtSchedule::value),
                      internal::schedule_warmup(&InverseSqrtSchedule::warmup));
  }
  double value = 1;
  std::size_t warmup = 0;
  static constexpr bool needs_length = false;
  [[nodiscard]] static double falling(double v, double t, double steps);
};

struct InverseSchedule {
  static constexpr About about{"inverse", "value / (t + 1)", "falls with the step"};
  static constexpr auto fields() {
    return std::tuple(internal::schedule_value(&InverseSchedule::value),
                      internal::schedule_warmup(&InverseSchedule::warmup));
  }
  double value = 1;
  std::size_t warmup = 0;
  static constexpr bool needs_length = false;
  [[nodiscard]] static double falling(double v, double t, double steps);
};

struct HorizonSchedule {
  static constexpr About about{"horizon", "value / sqrt(T)", "constant, smaller for longer runs"};
  static constexpr auto fields() {
    return std::tuple(internal::schedule_value(&HorizonSchedule::value),
                      internal::schedule_warmup(&HorizonSchedule::warmup));
  }
  double value = 1;
  std::size_t warmup = 0;
  static constexpr bool needs_length = true;
  [[nodiscard]] static double falling(double v, double t, double steps);
};

struct StepSchedule {
  static constexpr About about{"step", "value factor^floor(t / every)", "drops at intervals"};
  static constexpr auto fields() {
    return std::tuple(
        internal::schedule_value(&StepSchedule::value),
        field("factor", &StepSchedule::factor, range::non_negative,
              "what it is multiplied by at every drop"),
        field("every", &StepSchedule::every, range::whole(1, 1e12), "steps from drop to drop"),
        internal::schedule_warmup(&StepSchedule::warmup));
  }
  double value = 1, factor = 0.1;
  std::size_t every = 1000, warmup = 0;
  static constexpr bool needs_length = false;
  [[nodiscard]] double falling(double v, double t, double steps) const;
};

struct CosineSchedule {
  static constexpr About about{"cosine", "value (factor + (1 - factor) (1 + cos(pi t / T)) / 2)",
                               "falls along half a cosine"};
  static constexpr auto fields() {
    return std::tuple(internal::schedule_value(&CosineSchedule::value),
                      field("factor", &CosineSchedule::factor, range::share,
                            "where it ends, as a share of its largest value"),
                      internal::schedule_warmup(&CosineSchedule::warmup));
  }
  double value = 1, factor = 0;
  std::size_t warmup = 0;
  static constexpr bool needs_length = true;
  [[nodiscard]] double falling(double v, double t, double steps) const;
};

using Schedule = std::variant<ConstantSchedule, InverseSqrtSchedule, InverseSchedule,
                              HorizonSchedule, StepSchedule, CosineSchedule>;

// In step t of T = `steps`.
[[nodiscard]] double value_at(const Schedule& schedule, std::size_t t, std::size_t steps);
// Its `value`: what it comes to at its largest.
[[nodiscard]] double largest(const Schedule& schedule);
// Does it depend on T?
[[nodiscard]] bool needs_length(const Schedule& schedule);
// Throws Error where a parameter is out of its range.
void validate(const Schedule& schedule);

// Every kind by name, with the parameters it has.
[[nodiscard]] std::span<const Entry<Schedule>> schedules();
[[nodiscard]] const Entry<Schedule>& find_schedule(std::string_view name);
// What a schedule is of decides about its largest value: which ones there are, and whether it has
// to be said (of a size) or is 1 (of a factor).
struct ScheduleUse {
  Range value = range::non_negative;
  bool said = false;
};
[[nodiscard]] Entry<Schedule> find_schedule(std::string_view name, const ScheduleUse& use);
// "cosine:value=0.1".
[[nodiscard]] Schedule parse_schedule(std::string_view text);

}  // namespace medgrad
#pragma GCC visibility pop
