#include "dist/watch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/sample/norms.h"
#include "kernels/columns.h"

namespace medgrad::dist {

void Length::add(double length) { add(Length{length, length > 0 ? 1.0 : 0.0}); }

void Length::add(const Length& other) {
  if (!(other.largest > 0)) return;
  const double most = std::max(largest, other.largest);
  const double mine = largest / most, theirs = other.largest / most;
  sum = sum * mine * mine + other.sum * theirs * theirs;
  largest = most;
}

double Length::value() const {
  return std::min(largest * std::sqrt(sum), std::numeric_limits<double>::max());
}

template <Real T>
void Watch<T>::inspect(const Columns<T>& rows, std::size_t column, std::size_t piece,
                       std::span<const Announcement> announced) {
  if (rows.length == 0) return;
  bool finite = true;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::span<T> row = rows.row(i);
    if (checksum(std::as_bytes(row)) != announced[i].checksums[piece]) {
      std::fill(row.begin(), row.end(), std::numeric_limits<T>::quiet_NaN());
      ++rows_[i].damaged;
    }
    const T* const data = row.data();
    finite = finite && kernels::all_finite(&data, 1, 0, rows.length);
  }
  if (!finite) count(rows, column);
}

// Complaints are about the first column, and the first row there.
template <Real T>
void Watch<T>::count(const Columns<T>& rows, std::size_t column) {
  const std::size_t n = rows_.size();
  const auto complain = [&](Sight::Complaint what, std::size_t row, std::size_t j, double value) {
    if (sight_.complaint != Sight::none) return;
    sight_.complaint = what;
    sight_.row = row;
    sight_.column = column + j;
    sight_.value = value;
  };
  for (std::size_t j = 0; j < rows.length; ++j) {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const T x = rows.row(i)[j];
      if (std::isfinite(x)) continue;
      if (policy_ == NonFinite::reject) complain(Sight::not_finite, i, j, static_cast<double>(x));
      if (std::isnan(x)) ++missing;
      ++(std::isnan(x) ? rows_[i].nan : rows_[i].inf);
    }
    if (missing == n) {
      complain(Sight::unobserved, 0, j, 0);
      rows.first[j] = 0;
    }
  }
}

template <Real T>
void Watch<T>::compare(const estimators::RulePlan& plan, const estimators::Input<T>& input,
                       std::span<const T> result) {
  if (input.d == 0) return;
  const std::size_t n = input.n;
  estimators::Input<T> here = input;
  here.part = nullptr;
  const estimators::Norms norms = row_norms(here, result.data(), result.data());
  for (std::size_t i = 0; i < n; ++i) {
    rows_[i].distance.add(norms.scales.empty() ? norms.scaled[i]
                                               : norms.scaled[i] / norms.scales[i]);
  }
  here.d = std::min(input.d, sample_);
  const estimators::Shares shares = row_shares(plan, here, result.first(here.d));
  const auto columns = static_cast<double>(here.d);
  for (std::size_t i = 0; i < n; ++i) {
    rows_[i].weight += shares.weight[i] * columns;
    rows_[i].kept += shares.kept[i] * columns;
  }
  sight_.sampled += here.d;
}

template <Real T>
void Watch<T>::note(const SampleInfo& info) {
  sight_.objective = info.objective;
  sight_.gap = info.gap;
  sight_.iterations = static_cast<std::uint64_t>(info.iterations);
  sight_.stop = static_cast<std::uint64_t>(info.stop);
  sight_.f = info.f;
}

void SightOfRow::add(const SightOfRow& other) {
  nan += other.nan;
  inf += other.inf;
  damaged += other.damaged;
  distance.add(other.distance);
  weight += other.weight;
  kept += other.kept;
}

// For many ranks two small exchanges are less than one of n^2: each adds up what is said of one
// worker, and tells all. Sums are in the order of the ranks either way.
template <Real T>
typename Watch<T>::Seen Watch<T>::seen_by_all(Communicator& group) const {
  constexpr std::size_t kFew = 32;
  const std::size_t n = rows_.size(), told = n <= kFew ? n : 1;
  const std::size_t each = sizeof(Sight) + told * sizeof(SightOfRow);
  std::vector<SightOfRow> mine = rows_;
  if (n > kFew) {
    std::vector<SightOfRow> said(n);
    const std::vector<std::size_t> sizes(n, sizeof(SightOfRow));
    group
        .start_all_to_all(std::as_bytes(std::span(rows_)), sizes,
                          std::as_writable_bytes(std::span(said)), sizes)
        .wait();
    mine.assign(1, {});
    for (const SightOfRow& one : said) mine.front().add(one);
  }
  std::vector<std::byte> words(each), all(n * each);
  std::memcpy(words.data(), &sight_, sizeof sight_);
  std::memcpy(words.data() + sizeof sight_, mine.data(), told * sizeof(SightOfRow));
  group.all_gather(words, all);

  Seen seen{std::vector<Sight>(n), std::vector<SightOfRow>(n)};
  for (std::size_t r = 0; r < n; ++r) {
    const std::byte* const from = all.data() + r * each;
    std::memcpy(&seen.sights[r], from, sizeof(Sight));
    std::memcpy(mine.data(), from + sizeof(Sight), told * sizeof(SightOfRow));
    for (std::size_t i = 0; i < told; ++i) seen.rows[told == 1 ? r : i].add(mine[i]);
  }
  return seen;
}

template <Real T>
SampleInfo Watch<T>::conclude(Communicator& group, int teller, std::vector<WorkerReport>* report,
                              bool by_columns) {
  const std::size_t n = rows_.size();
  const auto [sights, rows] = seen_by_all(group);
  std::size_t sampled = 0;
  for (const Sight& one : sights) sampled += one.sampled;
  const auto first =
      std::min_element(sights.begin(), sights.end(), [](const Sight& a, const Sight& b) {
        if ((a.complaint == Sight::none) != (b.complaint == Sight::none))
          return b.complaint == Sight::none;
        return a.column < b.column;
      });
  if (first->complaint == Sight::not_finite)
    estimators::reject_entry(first->row, first->column, first->value);
  if (first->complaint == Sight::unobserved) estimators::fail_unobserved(first->column);

  const Sight& word = sights[static_cast<std::size_t>(teller)];
  SampleInfo info;
  info.objective = word.objective;
  info.gap = word.gap;
  info.iterations = static_cast<int>(word.iterations);
  info.stop = static_cast<Stop>(word.stop);
  info.f = word.f;
  for (const SightOfRow& row : rows) {
    info.nan += row.nan;
    info.inf += row.inf;
  }
  for (std::size_t i = 0; report != nullptr && i < n; ++i) {
    WorkerReport& one = (*report)[i];
    one.damaged = rows[i].damaged;
    one.row.nan = rows[i].nan;
    one.row.inf = rows[i].inf;
    if (!by_columns) continue;
    one.row.distance = rows[i].distance.value();
    const double columns = sampled == 0 ? 1 : static_cast<double>(sampled);
    one.row.weight = rows[i].weight / columns;
    one.row.kept = rows[i].kept / columns;
  }
  return info;
}

template class Watch<float>;
template class Watch<double>;

}  // namespace medgrad::dist
