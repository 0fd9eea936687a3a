#include "medgrad/dist/blame.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace medgrad::dist {
namespace {

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

// Without reasons for it.
Record mean_of(const Record& sum) {
  Record mean = sum;
  const double steps = sum.steps == 0 ? 1 : static_cast<double>(sum.steps);
  mean.distance /= steps;
  mean.weight /= steps;
  mean.kept /= steps;
  mean.seconds /= steps;
  return mean;
}

std::string reason_for(const Record& mean, double usual, double usually_unused,
                       std::uint64_t steps) {
  std::vector<std::string> reasons;
  if (mean.nan + mean.inf > 0)
    reasons.push_back(
        fmt::format("{} not finite", counted(mean.nan + mean.inf, "entry", "entries")));
  if (mean.damaged > 0)
    reasons.push_back(fmt::format("{} damaged", counted(mean.damaged, "piece")));
  constexpr double kFar = 3;
  if (mean.distance > kFar * usual && usual > 0)
    reasons.push_back(fmt::format("{} times as far away as others",
                                  mean.distance < 1000 * usual
                                      ? fmt::format("{:.1f}", mean.distance / usual)
                                      : fmt::format("{:.1e}", mean.distance / usual)));
  const double unused = static_cast<double>(mean.unused) /
                        static_cast<double>(std::max<std::uint64_t>(1, mean.steps));
  if (unused > 0.5 && usually_unused < 0.5)
    reasons.push_back(fmt::format("not used in {} of {} steps", mean.unused, mean.steps));
  if (mean.steps < steps)
    reasons.push_back(fmt::format("away in {} of {} steps", steps - mean.steps, steps));
  std::string text;
  for (const std::string& one : reasons) text += (text.empty() ? "" : ", ") + one;
  return text;
}

}  // namespace

void Blame::add(std::span<const int> workers, std::span<const WorkerReport> reports) {
  std::vector<double> distances;
  for (const WorkerReport& one : reports) distances.push_back(one.row.distance);
  const double unit = median(distances);
  const auto n = static_cast<double>(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto worker = static_cast<std::size_t>(workers[i]);
    if (worker >= records_.size()) records_.resize(worker + 1);
    Record& record = records_[worker];
    const RowReport& row = reports[i].row;
    ++record.steps;
    record.distance += unit > 0 ? row.distance / unit : 1;
    record.weight += std::isnan(row.weight) ? 1 : row.weight * n;
    record.kept += std::isnan(row.kept) ? 1 : row.kept;
    record.cut += row.cut < 1 ? 1 : 0;
    record.unused += row.kept == 0 ? 1 : 0;
    record.nan += row.nan;
    record.inf += row.inf;
    record.damaged += reports[i].damaged;
    record.seconds += reports[i].seconds;
  }
}

void Blame::add(std::span<const WorkerReport> reports) {
  std::vector<int> workers(reports.size());
  std::iota(workers.begin(), workers.end(), 0);
  add(workers, reports);
}

std::vector<Blamed> Blame::table() const {
  std::vector<Blamed> table;
  std::vector<double> distances, unused;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].steps == 0) continue;
    table.push_back({static_cast<int>(i), mean_of(records_[i]), {}});
    distances.push_back(table.back().mean.distance);
    unused.push_back(static_cast<double>(records_[i].unused) /
                     static_cast<double>(records_[i].steps));
  }
  std::uint64_t steps = 0;
  for (const Blamed& one : table) steps = std::max(steps, one.mean.steps);
  for (Blamed& one : table)
    one.reason = reason_for(one.mean, median(distances), median(unused), steps);
  return table;
}

std::string Blame::text() const {
  std::string text =
      "worker   steps  distance  weight    kept     cut  not finite   seconds  verdict\n";
  for (const Blamed& one : table()) {
    const Record& r = one.mean;
    text += fmt::format("{:6} {:7} {:9.3g} {:7.3f} {:7.3f} {:7} {:11} {:9.3g}  {}\n", one.worker,
                        r.steps, r.distance, r.weight, r.kept, r.cut, r.nan + r.inf, r.seconds,
                        one.reason.empty() ? "fine" : one.reason);
  }
  return text;
}

}  // namespace medgrad::dist
