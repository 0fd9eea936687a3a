// The results of a study of rules against liars as tables, for claims and figures.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lab/results.h"

namespace medgrad::lab {

// Everything that was measured in one place: one part at one skew.
struct LiarTable {
  std::string part;
  double skew = 0;
  std::vector<std::string> rules = {}, attacks = {};
  std::vector<double> f = {};
  // (rule, attack, f): the loss relative to that without liars, as a mean over the runs.
  std::map<std::tuple<std::string, std::string, double>, double> cells = {};

  [[nodiscard]] double at(const std::string& rule, const std::string& attack, double liars) const;
  // The share of the way that is lost: 0 as without liars, 1 at the start, and more beyond.
  [[nodiscard]] double lost(const std::string& rule, const std::string& attack,
                            double liars) const {
    return (at(rule, attack, liars) - 1) / (at("start", "none", liars) - 1);
  }
  // The worst attack on a rule; NaN where it does not bear so many liars.
  struct Worst {
    std::string attack = {};
    double value = kDiverged;
  };
  [[nodiscard]] Worst worst(const std::string& rule, double liars, bool as_share) const;
};

// One table per part and skew that has the metric; all know the losses at the start.
[[nodiscard]] std::vector<LiarTable> liar_tables(const Results& results, std::string_view metric);

// "f = 4".
[[nodiscard]] std::string f_text(double f);

template <class T>
void add_once(std::vector<T>& list, const T& one) {
  if (std::ranges::find(list, one) == list.end()) list.push_back(one);
}

// Heat maps of everything, and of what the rules cost without liars.
void add_liar_figures(const std::vector<LiarTable>& tables, Results& results);

}  // namespace medgrad::lab
