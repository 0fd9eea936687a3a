// Looking things up in results, for claims and figures.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"

namespace medgrad::lab {

using Where = std::initializer_list<std::pair<std::string_view, double>>;

// The group of that method (by its name in the registry or its label), metric and place on the
// named axes; nullptr where there is none.
[[nodiscard]] const Group* find(const Results& results, std::string_view method,
                                std::string_view metric, Where where = {});
// The mean of the group after the last step, infinite where a run has diverged; NaN where there is
// none.
[[nodiscard]] double mean_of(const Results& results, std::string_view method,
                             std::string_view metric, Where where = {});
// The median, of which diverged runs are the largest values.
[[nodiscard]] double median_of(const Results& results, std::string_view method,
                               std::string_view metric, Where where = {});
// The values on an axis, in the order of their first appearance.
[[nodiscard]] std::vector<double> values_on(const Results& results, std::string_view axis);
// The methods that have that metric, in the order of the file, with the key of each.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> methods_of(const Results& results,
                                                                          std::string_view metric);

// "0.123", "4.56e+06", "infinite": a number in a sentence.
[[nodiscard]] std::string show(double x);

// One more point: mean, extremes, standard error, median and quantiles.
void add_point(Series& series, double x, const Stats& stats);
// A metric over the steps.
[[nodiscard]] Series over_steps(const Group& group);
// Adds a method's series. What has the key of another method there, as VClip with another tau has,
// gets its name as key, and so a colour of its own.
void add_method(Panel& panel, Series series);
// A metric without steps over an axis of the grid.
[[nodiscard]] Series over_axis(const Results& results, std::string_view method,
                               std::string_view metric, std::string_view axis, Where where = {});

// What figures of runs show by themselves: medians where some noise of the experiment has no
// variance, and means of runs may not exist; else means. Figures about an expectation, as moments
// and bounds are, show means all the same.
[[nodiscard]] Statistic statistic_for(const Experiment& experiment);

// A claim that cannot be judged by what was measured.
[[nodiscard]] Claim undecided(std::string claim);

}  // namespace medgrad::lab
