#include "medgrad/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace medgrad {

double ConstantSchedule::falling(double v, double, double) { return v; }
double InverseSqrtSchedule::falling(double v, double t, double) { return v / std::sqrt(t + 1); }
double InverseSchedule::falling(double v, double t, double) { return v / (t + 1); }
double HorizonSchedule::falling(double v, double, double steps) { return v / std::sqrt(steps); }
double StepSchedule::falling(double v, double t, double) const {
  return v * std::pow(factor, std::floor(t / static_cast<double>(every)));
}
double CosineSchedule::falling(double v, double t, double steps) const {
  return v * (factor + (1 - factor) * (1 + std::cos(std::numbers::pi * t / steps)) / 2);
}

double value_at(const Schedule& schedule, std::size_t t, std::size_t steps) {
  const double now = static_cast<double>(t),
               all = static_cast<double>(std::max<std::size_t>(steps, 1));
  return std::visit(
      [&](const auto& kind) {
        const double rise = std::min(1.0, (now + 1) / (static_cast<double>(kind.warmup) + 1));
        return kind.falling(rise * kind.value, now, all);
      },
      schedule);
}

double largest(const Schedule& schedule) {
  return std::visit([](const auto& kind) { return kind.value; }, schedule);
}

bool needs_length(const Schedule& schedule) {
  return std::visit([](const auto& kind) { return kind.needs_length; }, schedule);
}

void validate(const Schedule& schedule) {
  std::visit([](const auto& kind) { check_fields(kind); }, schedule);
}

std::span<const Entry<Schedule>> schedules() {
  static const std::vector<Entry<Schedule>> table = []<class... S>(const std::variant<S...>*) {
    return std::vector<Entry<Schedule>>{entry_of<Schedule>(S{})...};
  }(static_cast<const Schedule*>(nullptr));
  return table;
}

const Entry<Schedule>& find_schedule(std::string_view name) {
  return find_entry(schedules(), "a schedule", name);
}

Entry<Schedule> find_schedule(std::string_view name, const ScheduleUse& use) {
  Entry<Schedule> entry = find_schedule(name);
  Parameter& value = *std::ranges::find(entry.parameters, "value", &Parameter::name);
  value.range = use.value;
  if (use.said) value.fallback = std::numeric_limits<double>::quiet_NaN();
  return entry;
}

Schedule parse_schedule(std::string_view text) {
  const MethodText given = parse_method_text(text);
  const Entry<Schedule>& entry = find_schedule(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

}  // namespace medgrad
