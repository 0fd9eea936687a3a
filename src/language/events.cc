#include "language/events.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "medgrad/error.h"

namespace medgrad::language {
namespace {

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

}  // namespace

Event parse_event(std::string_view text) {
  const auto fail = [&](const std::string& why) -> Error {
    return {"events", std::string(text), why};
  };
  const std::size_t colon = text.find(':'), at = text.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon)
    throw fail("it must be WORKER:WHAT@STEP or WORKER:WHAT@STEP-STEP, as in 4:killed@120-160");
  Event event;
  event.text = text;
  constexpr std::uint64_t kMostWorkers = 4096;
  const auto worker = whole(text.substr(0, colon));
  if (!worker || *worker >= kMostWorkers) throw fail("before ':' there must be a worker's number");
  event.worker = static_cast<int>(*worker);
  const std::string_view steps = text.substr(at + 1);
  const std::size_t dash = steps.find('-');
  const auto from = whole(steps.substr(0, dash));
  const auto to = dash == std::string_view::npos ? std::optional(Event::kForGood)
                                                 : whole(steps.substr(dash + 1));
  if (!from || !to || *from >= *to)
    throw fail("after '@' there must be a step, or two of which the second is larger");
  event.from = *from;
  event.to = *to;
  const std::string_view what = text.substr(colon + 1, at - colon - 1);
  if (what == "killed" || what == "stalled") {
    event.kind = what == "killed" ? Event::Kind::killed : Event::Kind::stalled;
    return event;
  }
  try {
    event.attack = make_attack(what);
  } catch (const Error& error) {
    std::string_view why = error.what();
    if (why.ends_with('.')) why.remove_suffix(1);
    throw fail(fmt::format("'{}' is neither killed nor stalled nor an attack ({})", what, why));
  }
  if (std::holds_alternative<Silent>(event.attack))
    throw fail("one that sends nothing is not there; it is 'killed'");
  return event;
}

std::vector<int> present(const std::vector<Event>& events, std::size_t workers,
                         std::uint64_t step) {
  std::vector<int> all;
  for (int worker = 0; worker < static_cast<int>(workers); ++worker) {
    const bool away = std::ranges::any_of(
        events, [&](const Event& one) { return one.worker == worker && one.is_away(step); });
    if (!away) all.push_back(worker);
  }
  return all;
}

}  // namespace medgrad::language
