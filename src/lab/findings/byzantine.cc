// Rules against liars: claims.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "lab/experiments.h"
#include "lab/findings/byzantine_table.h"
#include "lab/findings/lookup.h"

namespace medgrad::lab {
namespace {

using Table = LiarTable;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// A rule has converged where liars cost it no more than this share of the way from the start to
// where the mean of the honest gets.
constexpr double kConverged = 0.2;

const Table* find_table(const std::vector<Table>& tables, std::string_view part, bool skewed) {
  const auto found = std::ranges::find_if(
      tables, [&](const Table& one) { return one.part == part && (one.skew > 0) == skewed; });
  return found == tables.end() ? nullptr : &*found;
}

// "a, b, c".
void add_to(std::string& list, const std::string& one) { list += list.empty() ? one : ", " + one; }

bool robust(const std::string& rule) { return rule != "mean"; }

// Those that look for a tight group of rows. Liars who all send the same are the tightest group
// there is: from some f on they win, on some data and not on others, well below the bound of the
// rule.
bool seeks_tight_group(const std::string& rule) {
  return rule == "krum" || rule == "multi-krum" || rule == "mda";
}
// The most liars of 20 under whom a rule converged with each of 16 seeds.
constexpr double kTightBear = 6, kMeaMedBears = 8;
double surely_borne(const std::string& rule) {
  return seeks_tight_group(rule) ? kTightBear : rule == "meamed" ? kMeaMedBears : kInfinite;
}

Claim mean_fails(const Table& t) {
  const std::string claim = "a few liars ruin the mean: it ends farther away than it started";
  double from = kNaN;
  std::string how;
  bool holds = true, measured = false;
  for (const double f : t.f) {
    const auto [attack, lost] = t.worst("mean", f, true);
    if (f == 0 || std::isnan(lost)) continue;
    measured = true;
    if (std::isnan(from) && lost > 1) {
      from = f;
      how = attack;
    }
    if (!std::isnan(from)) holds = holds && lost > 1;
  }
  if (!measured) return undecided(claim);
  return {claim, holds && from <= 2,
          std::isnan(from) ? "no attack does."
                           : fmt::format("from {} on, by the attack {}.", f_text(from), how)};
}

// "f = 8" or "f up to 9": those with liars.
std::string range_of(const std::vector<double>& all) {
  std::vector<double> f;
  std::ranges::copy_if(all, std::back_inserter(f), [](double x) { return x > 0; });
  if (f.empty()) return f_text(0);
  return f.size() == 1 ? f_text(f[0]) : fmt::format("f up to {}", show(std::ranges::max(f)));
}

// Rules that were tried with far fewer liars than others, and how many: "smea with f up to 1".
std::string tried_less(const Table& t) {
  std::string list;
  for (const std::string& rule : t.rules) {
    std::vector<double> tried;
    for (const double f : t.f)
      if (robust(rule) && !std::isnan(t.worst(rule, f, true).value)) tried.push_back(f);
    if (tried.empty() || std::ranges::max(tried) + 1 >= std::ranges::max(t.f)) continue;
    list += fmt::format("{}{} with {}", list.empty() ? "" : ", ", rule, range_of(tried));
  }
  return list;
}

// Every rule, every attack, every f that the rule bears and that was tried.
Claim robust_rules_converge(const Table& t, const std::string& what) {
  std::size_t cells = 0, failed = 0;
  std::string worst_name, failures;
  double most = -kInfinite;
  for (const std::string& rule : t.rules) {
    if (!robust(rule)) continue;
    for (const double f : t.f) {
      for (const std::string& attack : t.attacks) {
        const double lost = t.lost(rule, attack, f);
        if (std::isnan(lost) || f > surely_borne(rule)) continue;
        ++cells;
        std::string name = fmt::format("{} under {} at {}", rule, attack, f_text(f));
        if (!(lost <= kConverged) && ++failed <= 8) add_to(failures, name);
        if (lost > most) {
          most = lost;
          worst_name = std::move(name);
        }
      }
    }
  }
  const std::string less = tried_less(t);
  const std::string claim = fmt::format(
      "with {} (less where its bound is below) every robust rule that was tried converges "
      "under every attack of a given strength, {}; krum, multi-krum and mda, which liars who agree "
      "can deceive, with f up to {}, meamed with f up to {}{}",
      range_of(t.f), what, show(kTightBear), show(kMeaMedBears),
      less.empty() ? "" : fmt::format(" (tried: {})", less));
  if (cells == 0) return undecided(claim);
  const std::string others =
      failed == 0 ? "" : fmt::format("; above 20 %: {}{}", failures, failed > 8 ? ", …" : "");
  return {claim, failed == 0,
          fmt::format("{}; the worst, {}, loses {} % of the way{}.", counted(cells, "case"),
                      worst_name, show(100 * most), others)};
}

// The worst of some attacks on a rule.
Table::Worst worst_of(const Table& t, const std::string& rule, double f,
                      std::initializer_list<const char*> attacks) {
  Table::Worst most;
  for (const char* const attack : attacks) {
    const double x = t.lost(rule, attack, f);
    if (!std::isnan(x) && !(x <= most.value)) most = {attack, x};
  }
  return most;
}

// Liars that look for the strength that moves this rule most, anew in every step. nnm+krum is at
// the border: with 2 of 16 seeds it does not converge.
Claim chosen_strengths(const Table& t, double f) {
  const std::string claim = fmt::format(
      "liars who choose their strength against the rule deceive krum, multi-krum and mda, which do "
      "not converge; every other robust rule does, nnm+krum on most data (iid, {})",
      f_text(f));
  bool holds = true;
  std::size_t rules = 0;
  std::string list;
  for (const std::string& rule : t.rules) {
    const auto [attack, lost] = worst_of(t, rule, f, {"alie optimal", "ipm optimal"});
    if (!robust(rule) || std::isnan(lost)) continue;
    ++rules;
    if (rule != "nnm+krum") holds = holds && (lost > kConverged) == seeks_tight_group(rule);
    add_to(list, fmt::format("{} {} ({})", rule, show(100 * lost), attack));
  }
  if (rules == 0) return undecided(claim);
  return {claim, holds, fmt::format("lost in % of the way, and by which attack: {}.", list)};
}

Claim broken_workers(const Table& t, double f) {
  const std::string claim = fmt::format(
      "broken workers, who send a constant, infinities or numbers with one bit flipped, ruin the "
      "mean and no robust rule; nor do silent ones (iid, {})",
      f_text(f));
  double most = -kInfinite, least = kInfinite;
  std::string which;
  for (const std::string& rule : t.rules) {
    const auto [attack, lost] = worst_of(t, rule, f, {"constant", "inf", "bit-flip", "silent"});
    if (!robust(rule) || std::isnan(lost) || lost <= most) continue;
    most = lost;
    which = fmt::format("{} under {}", rule, attack);
  }
  for (const char* const attack : {"constant", "inf", "bit-flip"})
    least = std::min(least, t.lost("mean", attack, f));
  if (which.empty() || !(least < kInfinite)) return undecided(claim);
  return {claim, most <= kConverged && least > 1,
          fmt::format("the mean loses at least {} % of the way; of the others {} most, {} %.",
                      show(100 * least), which, show(100 * most))};
}

// Without momentum the honest differ more, and liars hide among them. Monna, which is given an
// honest row, need not care.
Claim momentum_matters(const Table& with, const Table& without, double f) {
  const std::string claim = fmt::format(
      "without worker momentum krum, multi-krum and mda end farther away than they started, and "
      "every other robust rule but monna loses more than with it (iid, {})",
      f_text(f));
  bool holds = true;
  std::size_t rules = 0;
  std::string list;
  for (const std::string& rule : without.rules) {
    const double a = with.worst(rule, f, true).value, b = without.worst(rule, f, true).value;
    if (!robust(rule) || std::isnan(a) || std::isnan(b)) continue;
    ++rules;
    if (rule != "monna") holds = holds && b > a;
    if (seeks_tight_group(rule)) holds = holds && b > 1;
    add_to(list, fmt::format("{} {} instead of {}", rule, show(100 * b), show(100 * a)));
  }
  if (rules == 0) return undecided(claim);
  return {claim, holds, fmt::format("lost under the worst attack, in % of the way: {}.", list)};
}

Claim skew_hurts(const Table& iid, const Table& skewed, double f) {
  const std::string claim = fmt::format(
      "on skewed data with {} liars can look like workers with other data: every rule loses more "
      "than on iid data, and krum, multi-krum and mda do not converge",
      f_text(f));
  bool holds = true;
  std::size_t rules = 0;
  std::string list;
  for (const std::string& rule : skewed.rules) {
    const Table::Worst a = iid.worst(rule, f, true), b = skewed.worst(rule, f, true);
    if (!robust(rule) || std::isnan(b.value)) continue;
    ++rules;
    holds = holds && b.value > a.value && (!seeks_tight_group(rule) || b.value > kConverged);
    add_to(list, fmt::format("{} {} ({})", rule, show(100 * b.value), b.attack));
  }
  if (rules == 0) return undecided(claim);
  return {claim, holds, fmt::format("lost in % of the way, and by which attack: {}.", list)};
}

Claim nnm_helps(const Table& t, const std::string& rule) {
  const std::string mixed = "nnm+" + rule;
  const std::string claim = fmt::format("nnm in front of {} helps on skewed data", rule);
  double sum = 0, worst = -kInfinite, worst_mixed = -kInfinite;
  std::size_t cells = 0, better = 0;
  for (const double f : t.f) {
    for (const std::string& attack : t.attacks) {
      const double a = t.at(rule, attack, f), b = t.at(mixed, attack, f);
      if (std::isnan(a) || std::isnan(b)) continue;
      sum += std::log(std::max(b, 1e-300)) - std::log(a);
      ++cells;
      better += b <= a ? 1 : 0;
      worst = std::max(worst, a);
      worst_mixed = std::max(worst_mixed, b);
    }
  }
  if (cells == 0) return undecided(claim);
  const double ratio = std::exp(sum / static_cast<double>(cells));
  return {claim, ratio < 1 && 2 * better > cells,
          fmt::format("the loss is {} of that without it on (geometric) average, not larger in {} "
                      "of {} cases; the worst is {} instead of {} times that without liars.",
                      show(ratio), better, cells, show(worst_mixed), show(worst))};
}

// f = n/2, liars being honest workers of the opposite problem: w and -w are equally good for half
// of the workers each, and by convexity the worse half is never better off than at 0.
Claim half_is_too_much(const Table& t, double f) {
  double least = kInfinite;
  std::string which;
  const double start = t.at("start", "none", f);
  for (const std::string& rule : t.rules) {
    const double x = t.worst(rule, f, false).value / start;
    if (x < least) {
      least = x;
      which = rule;
    }
  }
  return {
      "with f = n/2 no rule can help: the half that it does not follow ends no better than it "
      "started",
      least > 0.9 && least < kInfinite,
      fmt::format("the loss of the worse half is at least {} times that at the start ({}).",
                  show(least), which)};
}

// Centered clipping remembers earlier rounds, and so has an unfair advantage here.
bool remembers(const Group& group) { return group.key == "centered-clipping"; }

Claim mean_is_cheapest(const Results& r) {
  double least = kInfinite, off = 0, kept = kNaN;
  std::string which;
  for (const Group& g : r.groups) {
    if (g.metric != "relative_variance") continue;
    const Stats& s = g.last();
    if (remembers(g)) {
      kept = s.mean;
      continue;
    }
    if (g.method == "mean") off = std::max(off, std::abs(s.mean - 1) / s.se);
    if (s.mean + 4 * s.se < least) {
      least = s.mean + 4 * s.se;
      which = g.method;
    }
  }
  const std::string other =
      std::isnan(kept)
          ? ""
          : fmt::format("; centered clipping, whose centre remembers the rounds before, has {}",
                        show(kept));
  return {"without liars no rule has a smaller variance than the mean, unless it remembers",
          off < 4.5 && least >= 1,
          fmt::format("the mean is {} standard errors from 1; the smallest upper end of four "
                      "standard errors is {} ({}){}.",
                      show(off), show(least), which, other)};
}

Claim price_of_robustness(const Results& r, double f) {
  std::vector<std::pair<double, std::string>> prices;
  for (const auto& [method, key] : methods_of(r, "relative_variance")) {
    const double x = mean_of(r, method, "relative_variance", {{"f", f}});
    if (!std::isnan(x)) prices.emplace_back(x, method);
  }
  std::ranges::sort(prices);
  std::string list;
  for (const auto& [x, method] : prices) add_to(list, fmt::format("{} {}", method, show(x)));
  const double median = mean_of(r, "median", "relative_variance", {{"f", f}}),
               krum = mean_of(r, "krum", "relative_variance", {{"f", f}});
  const std::string claim = fmt::format(
      "robustness costs variance: the median half as much again as the mean, krum, which is one of "
      "the rows, several times as much ({})",
      f_text(f));
  if (std::isnan(median) || std::isnan(krum)) return undecided(claim);
  // Of 20 normal numbers the median has 1.47 times the variance of the mean.
  return {claim, median > 1.3 && median < 1.65 && krum > 4 && prices.back().second == "krum",
          fmt::format("variance relative to the mean: {}.", list)};
}

}  // namespace

void byzantine_findings(const Experiment&, Results& r) {
  const std::vector<Table> tables = liar_tables(r, "relative_loss"),
                           halves = liar_tables(r, "worse_camp");
  add_liar_figures(tables, r);
  const Table* const iid = find_table(tables, "regression", false);
  const Table* const skewed = find_table(tables, "regression", true);
  const Table* const network = find_table(tables, "network", false);
  const Table* const chosen = find_table(tables, "chosen strengths, broken workers", false);
  const Table* const plain = find_table(tables, "no momentum", false);
  if (iid != nullptr) {
    r.claims.push_back(mean_fails(*iid));
    r.claims.push_back(robust_rules_converge(*iid, "linear regression on iid data"));
  }
  if (network != nullptr)
    r.claims.push_back(robust_rules_converge(*network, "network on iid data"));
  if (chosen != nullptr) {
    r.claims.push_back(chosen_strengths(*chosen, chosen->f.back()));
    r.claims.push_back(broken_workers(*chosen, chosen->f.back()));
  }
  if (iid != nullptr && plain != nullptr) r.claims.push_back(momentum_matters(*iid, *plain, 8));
  if (iid != nullptr && skewed != nullptr) r.claims.push_back(skew_hurts(*iid, *skewed, 8));
  if (skewed != nullptr)
    for (const char* const rule : {"median", "trimmed-mean", "krum"})
      r.claims.push_back(nnm_helps(*skewed, rule));
  for (const Table& t : halves)
    for (const double f : t.f) r.claims.push_back(half_is_too_much(t, f));
  if (iid != nullptr)
    r.notes.emplace_back(
        "The data of a run decide much: krum, multi-krum and mda converge near their bounds on the "
        "iid data of some seeds and fail on those of others. A rule has converged where "
        "liars cost it no more than 20 % of the way from the start to where the mean of the honest "
        "gets.");
  if (!methods_of(r, "relative_variance").empty()) {
    r.claims.push_back(mean_is_cheapest(r));
    r.claims.push_back(price_of_robustness(r, 4));
  }
}

}  // namespace medgrad::lab
