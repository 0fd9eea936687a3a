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
// {"name": "cosine", "value": 0.1, "warmup": 100}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "medgrad/registry.h"

#pragma GCC visibility push(default)
namespace medgrad {

struct Schedule {
  enum class Kind : std::uint8_t { constant, inverse_sqrt, inverse, horizon, step, cosine };
  Kind kind = Kind::constant;
  double value = 1;
  double factor = 0;         // of step and cosine
  std::size_t every = 1000;  // of step
  std::size_t warmup = 0;

  [[nodiscard]] double at(std::size_t t, std::size_t steps) const;
  // Does it depend on T?
  [[nodiscard]] bool needs_length() const { return kind == Kind::horizon || kind == Kind::cosine; }
};

// Every kind by name, with the parameters it has. Their defaults: value = 1, warmup = 0; step has
// factor = 0.1 and every = 1000, cosine goes down to factor = 0.
[[nodiscard]] std::span<const Entry<Schedule>> schedules();
[[nodiscard]] const Entry<Schedule>& find_schedule(std::string_view name);
[[nodiscard]] std::string_view name_of(Schedule::Kind kind);
// "cosine:value=0.1".
[[nodiscard]] Schedule parse_schedule(std::string_view text);

}  // namespace medgrad
#pragma GCC visibility pop
