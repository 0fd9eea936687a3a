#include "lab/report/layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
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

}  // namespace

Range x_range(const Panel& panel) {
  Extent extent(panel.x);
  for (const Series& series : panel.series) extent.add(series.x);
  return extent.range();
}

Range y_range(const Panel& panel) {
  Extent extent(panel.y);
  for (const Series& series : panel.series) {
    extent.add(series.y);
    extent.add(series.low);
    extent.add(series.high);
  }
  return extent.range();
}

std::vector<LegendEntry> legend(const Figure& figure) {
  constexpr std::size_t kMany = 12;
  std::vector<LegendEntry> curves;  // by name
  std::vector<LegendEntry> entries;
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      const auto found = std::find_if(entries.begin(), entries.end(),
                                      [&](const LegendEntry& e) { return e.key == series.key; });
      if (found == entries.end()) {
        entries.push_back({series.key, series.name, series.style, 1});
      } else {
        found->name = common_name(found->name, series.name);
      }
      if (std::none_of(curves.begin(), curves.end(),
                       [&](const LegendEntry& e) { return e.name == series.name; }))
        curves.push_back({series.key, series.name, series.style, series.shade});
    }
  }
  if (entries.size() == 1 && curves.size() <= kMany) entries = std::move(curves);
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

std::string shaded(const Look& look, double shade) {
  if (!(shade < 1)) return std::string(look.light);
  std::string out = "#";
  for (std::size_t i = 1; i < 7; i += 2) {
    int part = 0;
    std::from_chars(look.light.data() + i, look.light.data() + i + 2, part, 16);
    const double pale = part + (255 - part) * 0.72 * (1 - std::max(shade, 0.0));
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned>(std::lround(pale)) & 0xFFU);
    out += hex;
  }
  return out;
}

}  // namespace medgrad::lab
