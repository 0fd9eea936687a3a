#include "lab/report/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace medgrad::lab {
namespace {

// The smallest and the largest of the numbers that the axis can show.
class Extent {
 public:
  explicit Extent(const Axis& axis) : axis_(axis) {}

  void add(double value) {
    if (!std::isfinite(value) || (axis_.log && value <= 0)) return;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }
  void add(const std::vector<double>& values) {
    for (const double value : values) add(value);
  }
  [[nodiscard]] Range range() const {
    Range r{min_, max_};
    if (!(min_ <= max_)) r = axis_.log ? Range{1, 10} : Range{0, 1};
    r = axis_.log ? widened_log(r) : widened(r);
    if (axis_.min) r.min = *axis_.min;
    if (axis_.max) r.max = *axis_.max;
    if (!(r.min < r.max)) r.max = axis_.log ? r.min * 10 : r.min + 1;
    return r;
  }

 private:
  static constexpr double kMargin = 0.03;

  static Range widened(Range r) {
    const double length = r.max - r.min;
    if (!std::isfinite(length)) return r;
    const double margin = length > 0 ? kMargin * length : std::max(0.5 * std::fabs(r.min), 1e-6);
    return {r.min - margin, r.max + margin};
  }
  static Range widened_log(Range r) {
    const double a = std::log10(r.min), b = std::log10(r.max);
    const double margin = b > a ? kMargin * (b - a) : 0.3;
    return {std::max(std::pow(10, a - margin), std::numeric_limits<double>::min()),
            std::min(std::pow(10, b + margin), std::numeric_limits<double>::max())};
  }

  const Axis& axis_;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

// What two names have in common: one of them if the other continues it, else what they begin with
// up to a ',', '(' or ':', as "VClip" of "VClip, 1/α = 0.5" and "VClip, 1/α = 0.6". May be empty.
std::string common_name(const std::string& a, const std::string& b) {
  if (b.starts_with(a)) return a;
  if (a.starts_with(b)) return b;
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  std::string text(a.begin(), end);
  const std::size_t cut = text.find_last_of(",(:");
  text.resize(cut == std::string::npos ? 0 : cut);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// What is left of a curve's name: "1/α = 0.5" of "VClip, 1/α = 0.5" and of "VClip (1/α = 0.5)".
std::string level_name(std::string_view name, std::string_view common) {
  if (!name.starts_with(common) || name.size() == common.size()) return std::string(name);
  name.remove_prefix(common.size());
  name.remove_prefix(std::min(name.size(), name.find_first_not_of(" ,:")));
  if (name.starts_with('(')) {
    name.remove_prefix(1);
    if (name.ends_with(')')) name.remove_suffix(1);
  }
  return std::string(name);
}

// Standard errors of heavy tails may be as large as the axis likes; they do not widen it.
bool has_errors_only(const Series& series, Statistic statistic) {
  return series.low.empty() && !(statistic == Statistic::median && !series.median.empty());
}

}  // namespace

Range x_range(const Panel& panel) {
  Extent extent(panel.x);
  for (const Series& series : panel.series) extent.add(series.x);
  return extent.range();
}

Range y_range(const Panel& panel, Statistic statistic) {
  Extent extent(panel.y);
  for (const Series& series : panel.series) {
    const Drawn shown = drawn(series, statistic);
    extent.add(shown.y);
    if (!has_errors_only(series, statistic)) {
      extent.add(shown.low);
      extent.add(shown.high);
    }
  }
  return extent.range();
}

Drawn drawn(const Series& series, Statistic statistic) {
  if (statistic == Statistic::median && !series.median.empty())
    return {series.median, series.lower, series.upper};
  Drawn result{series.y, series.low, series.high};
  if (!series.low.empty() || series.se.empty()) return result;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    result.low.push_back(series.y[i] - series.se[i]);
    result.high.push_back(series.y[i] + series.se[i]);
  }
  return result;
}

std::vector<LegendEntry> legend(const Figure& figure) {
  constexpr std::size_t kMany = 12;
  std::vector<LegendEntry> entries, curves;
  const auto add_once = [](std::vector<LegendEntry>& list, LegendEntry entry) {
    if (std::ranges::find(list, entry.name, &LegendEntry::name) == list.end())
      list.push_back(std::move(entry));
  };
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      const auto found = std::ranges::find(entries, series.key, &LegendEntry::key);
      if (found == entries.end()) {
        entries.push_back({series.key, series.name, series.style, series.shade});
      } else {
        found->name = common_name(found->name, series.name);
        if (!series.shade) found->shade.reset();
      }
      add_once(curves, {series.key, series.name, series.style, series.shade});
    }
  }
  if (entries.size() == 1 && curves.size() <= kMany) {
    entries = std::move(curves);
  } else {
    std::vector<LegendEntry> levels;
    for (const Panel& panel : figure.panels) {
      for (const Series& series : panel.series) {
        if (!series.shade || panel.equal_aspect) continue;
        const std::string& common = std::ranges::find(entries, series.key, &LegendEntry::key)->name;
        add_once(levels,
                 {"shades", level_name(series.name, common), SeriesStyle::line, series.shade});
      }
    }
    for (LegendEntry& entry : entries)
      if (entry.shade) entry.shade = kFullColour;  // a family: its own colour, solid as its curves
    std::ranges::stable_sort(levels, {}, &LegendEntry::shade);
    const std::size_t count = std::min(levels.size(), kMany);
    for (std::size_t i = 0; i < count; ++i)
      entries.push_back(levels[count < 2 ? 0 : i * (levels.size() - 1) / (count - 1)]);
  }
  for (LegendEntry& entry : entries)
    if (entry.name.empty()) entry.name = entry.key;
  return entries;
}

std::map<std::string, Look> looks_of(std::span<const Figure> figures) {
  std::map<std::string, Look> looks;
  for (const Look& look : known_looks()) looks.emplace(look.key, look);
  std::size_t next = 0;
  for (const Figure& figure : figures)
    for (const Panel& panel : figure.panels)
      for (const Series& series : panel.series)
        if (looks.emplace(series.key, other_looks()[next % other_looks().size()]).second) ++next;
  return looks;
}

std::string colour_of(const Look& look, std::optional<double> shade) {
  return shade ? at(ramp_of(look.light, kLightSurface), *shade) : std::string(look.light);
}

Dash dash_of(const Look& look, SeriesStyle style, std::optional<double> shade) {
  if (shade) return Dash::solid;
  return style == SeriesStyle::dashed && look.dash == Dash::solid ? Dash::dashed : look.dash;
}

}  // namespace medgrad::lab
