// Tables of rules against liars, and their figures.
#include <cmath>
#include <functional>

#include "lab/findings/byzantine_table.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

using Table = LiarTable;
constexpr double kMostDrawn = 10;

std::string text_on(const Axes& axes, std::string_view name) {
  const auto at = std::ranges::find(axes, name, &Axes::value_type::first);
  return at == axes.end() ? std::string() : to_text(at->second);
}

// Rules without any number are left out.
Panel map_of(const std::string& id, const std::string& title, const std::vector<std::string>& rules,
             const std::vector<std::string>& columns, const std::string& label,
             const std::function<double(const std::string&, std::size_t)>& value) {
  HeatMap heat{.x = columns, .y = {}, .log = true, .label = label};
  for (const std::string& rule : rules) {
    std::vector<double> row;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double x = value(rule, j);
      row.push_back(std::isnan(x) ? x : std::min(x, kMostDrawn));
    }
    if (std::ranges::all_of(row, [](double x) { return std::isnan(x); })) continue;
    heat.y.push_back(rule);
    heat.z.insert(heat.z.end(), row.begin(), row.end());
  }
  Panel panel{.id = id, .title = title};
  panel.heat = std::move(heat);
  return panel;
}

const std::string kLabel = "final loss / loss without liars";

Panel attacks_panel(const Table& t, const std::string& id, const std::string& title, double f) {
  return map_of(id, title, t.rules, t.attacks, kLabel, [&](const std::string& rule, std::size_t j) {
    return t.at(rule, t.attacks[j], f);
  });
}

Panel counts_panel(const Table& t, const std::string& id, const std::string& title) {
  std::vector<std::string> columns;
  columns.reserve(t.f.size());
  for (const double f : t.f) columns.push_back(show(f));
  Panel panel =
      map_of(id, title, t.rules, columns, kLabel, [&](const std::string& rule, std::size_t j) {
        return t.f[j] == 0 ? t.at(rule, "none", 0) : t.worst(rule, t.f[j], false).value;
      });
  panel.x.label = "f";
  return panel;
}

// The most liars that a majority of the rules was tried with.
double largest_for_all(const Table& t) {
  double most = 0;
  for (const double f : t.f) {
    const auto tried = std::ranges::count_if(t.rules, [&](const std::string& rule) {
      return !std::isnan(t.worst(rule, f, true).value);
    });
    if (f > most && 10 * static_cast<std::size_t>(tried) >= 9 * t.rules.size()) most = f;
  }
  return most;
}

std::string kind_of(const Table& t) { return t.skew > 0 ? "skewed data" : "iid data"; }

void add_figures(const std::vector<Table>& tables, Results& r) {
  const std::string caption =
      "1 is as good as without liars; 10 stands for 10 and more. A rule that does not bear so many "
      "liars, or was not asked to, has no number.";
  Figure counts{.id = "liars",
                .title = "The worst attack, for every number of liars",
                .caption = "Linear regression with worker momentum. " + caption};
  for (const Table& t : tables)
    if (t.f.size() > 3)
      counts.panels.push_back(counts_panel(t, t.skew > 0 ? "skewed" : "iid", kind_of(t)));
  if (!counts.panels.empty()) r.figures.push_back(std::move(counts));
  std::vector<std::string> parts;
  for (const Table& t : tables) add_once(parts, t.part);
  for (const std::string& part : parts) {
    Figure figure{.id = "attacks-" + std::to_string(r.figures.size()),
                  .title = part.empty() ? "Every attack" : "Every attack: " + part,
                  .caption = caption};
    for (const Table& t : tables) {
      if (t.part != part) continue;
      const double f = largest_for_all(t);
      figure.panels.push_back(
          attacks_panel(t, t.skew > 0 ? "skewed" : "iid", kind_of(t) + ", " + f_text(f), f));
    }
    if (!figure.panels.empty()) r.figures.push_back(std::move(figure));
  }
}

void add_trade_off(Results& r) {
  std::vector<std::string> rules, columns;
  std::vector<double> f;
  for (const Group& group : r.groups) {
    if (group.metric != "relative_variance") continue;
    add_once(rules, group.method);
    add_once(f, number_on(group.axes, "f"));
  }
  if (rules.empty()) return;
  std::ranges::sort(f);
  for (const double one : f) columns.push_back(f_text(one));
  r.figures.push_back(
      {.id = "trade-off",
       .title = "What robustness costs where nobody lies",
       .caption =
           "The variance of each rule, told to bear f liars, on 20 normal rows, divided by that "
           "of the mean.",
       .columns = 1,
       .panels = {map_of("variance", "Variance relative to the mean", rules, columns,
                         "variance / variance of the mean",
                         [&](const std::string& rule, std::size_t j) {
                           return mean_of(r, rule, "relative_variance", {{"f", f[j]}});
                         })}});
}

}  // namespace

double LiarTable::at(const std::string& rule, const std::string& attack, double liars) const {
  const auto found = cells.find({rule, attack, liars});
  return found == cells.end() ? kDiverged : found->second;
}

LiarTable::Worst LiarTable::worst(const std::string& rule, double liars, bool as_share) const {
  Worst most;
  for (const std::string& attack : attacks) {
    const double x = as_share ? lost(rule, attack, liars) : at(rule, attack, liars);
    if (!std::isnan(x) && !(x <= most.value)) most = {attack, x};
  }
  return most;
}

std::vector<LiarTable> liar_tables(const Results& r, std::string_view metric) {
  std::vector<Table> tables;
  for (const Group& group : r.groups) {
    const bool start = group.method == "start";
    if (group.metric != metric && !start) continue;
    const std::string part = text_on(group.axes, "part");
    const double skew = number_on(group.axes, "skew"), f = number_on(group.axes, "f");
    auto table = std::ranges::find_if(tables, [&](const Table& one) {
      return one.part == part && (one.skew == skew || (std::isnan(skew) && one.skew == 0));
    });
    if (table == tables.end())
      table = tables.insert(table, Table{part, std::isnan(skew) ? 0 : skew});
    const std::string attack = text_on(group.axes, "attack");
    table->cells[{group.method, attack, f}] = group.last().mean_of_all();
    if (start) continue;
    add_once(table->rules, group.method);
    add_once(table->f, f);
    if (attack != "none") add_once(table->attacks, attack);
  }
  std::erase_if(tables, [](const Table& one) { return one.rules.empty(); });
  return tables;
}

std::string f_text(double f) { return "f = " + show(f); }

void add_liar_figures(const std::vector<LiarTable>& tables, Results& r) {
  add_figures(tables, r);
  add_trade_off(r);
}

}  // namespace medgrad::lab
