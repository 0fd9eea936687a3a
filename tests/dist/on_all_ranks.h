// What holds on every engine: aggregation has the bits of one process, on every rank, for every
// rule. Whoever has a communicator checks it from inside, and gets complaints in words.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "medgrad/dist/aggregate.h"
#include "medgrad/registry.h"
#include "testing.h"

namespace medgrad::dist_test {

// Vectors of n workers, the same wherever they are made: a crowd, a liar, something missing.
template <class T>
std::vector<std::vector<T>> vectors(std::size_t n, std::size_t d, unsigned seed, bool holes) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::vector<std::vector<T>> x(n, std::vector<T>(d));
  std::vector<T> centre(d);
  for (T& c : centre) c = static_cast<T>(gauss(random));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j)
      x[i][j] = centre[j] + static_cast<T>((i + 1 == n ? 30 : 0.5) * gauss(random));
  }
  if (holes && n > 1) {
    for (std::size_t j = 0; j < d; j += 97) x[j % n][j] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t j = 5; j < d; j += 1009) x[j % n][j] = std::numeric_limits<T>::infinity();
  }
  return x;
}

// Every rule there is, by itself and behind others, as far as n workers allow.
inline std::vector<Rule> all_rules(std::size_t n) {
  std::vector<std::string> texts;
  for (const auto& entry : rules())
    texts.emplace_back(entry.name == "lp-median" ? "lp-median:p=2" : entry.name);
  for (const char* const text :
       {"lp-median:p=1", "lp-median:p=3", "lp-median:p=inf", "median-of-means:p=1",
        "trimmed-mean:f=auto", "krum:f=auto", "nnm+median", "nnm+geometric-median",
        "bucketing+median", "bucketing+geometric-median", "arc+bucketing+trimmed-mean",
        "clip:clip=20+huber-location:mu=5", "nnm+krum", "arc+caf", "centered-clipping:iterations=3",
        "nnm+clipped-mean:clip=3", "bucketing+mean"})
    texts.emplace_back(text);
  std::vector<Rule> all;
  for (const std::string& text : texts) {
    const Rule rule = make_rule(text);
    try {
      validate(rule, n);
      all.push_back(rule);
    } catch (const Error&) {  // not for so few workers
    }
  }
  return all;
}

template <class T>
std::vector<const T*> pointers(const std::vector<std::vector<T>>& x) {
  std::vector<const T*> rows;
  for (const auto& row : x) rows.push_back(row.data());
  return rows;
}

inline bool close(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * std::abs(a + b);
}

// What one process makes of it.
template <class T>
struct Wanted {
  Rule rule;
  dist::Options<T> options;
  std::vector<T> out;
  std::vector<RowReport> rows;
  SampleInfo info;
};
template <class T>
Wanted<T> wanted(const Rule& rule, const std::vector<std::vector<T>>& x,
                 dist::Options<T> options = {}) {
  Wanted<T> want{rule, options, std::vector<T>(x[0].size()), {}, {}};
  SampleOptions<T> one;
  one.weights = options.weights;
  one.center = options.center;
  one.non_finite = options.non_finite;
  one.round = options.step;
  one.report = &want.rows;
  want.info = aggregate<T>(rule, Rows<T>(pointers(x), x[0].size()), want.out, one);
  return want;
}
// All rules.
template <class T>
std::vector<Wanted<T>> all_wanted(const std::vector<std::vector<T>>& x) {
  std::vector<Wanted<T>> all;
  dist::Options<T> options;
  options.server = static_cast<int>(x.size() / 2);
  for (const Rule& rule : all_rules(x.size())) {
    options.step = all.size();
    all.push_back(wanted(rule, x, options));
  }
  return all;
}

// One rule on this rank against that; empty if all is well.
template <class T>
std::string difference(dist::Communicator& group, const Wanted<T>& want,
                       const std::vector<std::vector<T>>& x,
                       dist::Topology topology = dist::Topology::sharded) {
  const std::size_t n = x.size(), d = x[0].size();
  const auto me = static_cast<std::size_t>(group.rank());
  std::vector<T> got(d);
  std::vector<dist::WorkerReport> report;
  dist::Options<T> options = want.options;
  options.topology = topology;
  options.report = &report;
  const std::string about = describe(want.rule) + ", " + std::string(name(topology)) +
                            ", d = " + std::to_string(d) + ": ";
  const SampleInfo info = dist::aggregate<T>(group, want.rule, x[me], got, options);
  if (!testing::same_bits<T>(got, want.out)) return about + "another result\n";
  if (info.iterations != want.info.iterations || info.stop != want.info.stop ||
      info.gap != want.info.gap || info.nan != want.info.nan || info.inf != want.info.inf ||
      info.f != want.info.f)
    return about + "other information\n";
  // Where components are taken by themselves, weights are those of a sample of 64 and more: shares
  // have standard deviations below 0.5 / 8.
  const std::size_t method = want.rule.method.index();
  const bool sampled =
      method == SampleMethod(Median{}).index() || method == SampleMethod(TrimmedMean{}).index() ||
      method == SampleMethod(MeaMed{}).index() || method == SampleMethod(Mean{}).index();
  const double slack = sampled ? 0.25 : 0;
  for (std::size_t i = 0; i < n; ++i) {
    const RowReport &a = report[i].row, &b = want.rows[i];
    const std::string row = " of row " + std::to_string(i) + "\n";
    if (!close(a.distance, b.distance)) return about + "another distance" + row;
    if (a.nan != b.nan || a.inf != b.inf) return about + "other counts" + row;
    if (!close(a.cut, b.cut)) return about + "another cut" + row;
    if (d == 0) continue;
    if (!close(a.weight, b.weight) && !(std::abs(a.weight - b.weight) <= slack))
      return about + "another weight" + row;
    if (want.rule.before.empty() && !close(a.kept, b.kept) && !(std::abs(a.kept - b.kept) <= slack))
      return about + "another part" + row;
  }
  return {};
}

// All rules in both topologies.
template <class T>
std::string differences(dist::Communicator& group, const std::vector<Wanted<T>>& all,
                        const std::vector<std::vector<T>>& x) {
  std::string complaints;
  for (const Wanted<T>& want : all) {
    for (const auto topology : {dist::Topology::sharded, dist::Topology::server})
      complaints += difference(group, want, x, topology);
  }
  return complaints;
}

// Rules of each kind for eight workers: on columns, on rows, on rows and then columns.
inline std::vector<Wanted<float>> wanted_of_eight(const std::vector<std::vector<float>>& x) {
  std::vector<Wanted<float>> all;
  for (const char* const text : {"median", "geometric-median", "nnm:f=2+trimmed-mean:f=2"})
    all.push_back(wanted(make_rule(text), x));
  return all;
}

// Do they have the bits of one process, and sends a rank no more than twice its vector?
inline std::string at_twice_the_vector(dist::Communicator& group,
                                       const std::vector<Wanted<float>>& all,
                                       const std::vector<std::vector<float>>& x) {
  std::string complaints;
  for (const Wanted<float>& want : all) {
    const std::uint64_t before = group.traffic().sent;
    complaints += difference(group, want, x);
    const double words = static_cast<double>(group.traffic().sent - before) / 4;
    if (words > 2.1 * static_cast<double>(x[0].size())) complaints += "too much was sent\n";
  }
  return complaints;
}

// body(group) for each of n ranks, in threads; what it returns, one after the other. An exception
// is its message.
inline std::vector<std::string> in_threads(
    int n, const std::function<std::string(dist::Communicator&)>& body,
    std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
  auto groups = dist::make_threads(n);
  std::vector<std::string> said(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < groups.size(); ++r) {
    threads.emplace_back([&, r] {
      const std::unique_ptr<dist::Communicator> group = std::move(groups[r]);
      group->set_deadline(deadline);
      try {
        said[r] = body(*group);
      } catch (const std::exception& error) {
        said[r] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

}  // namespace medgrad::dist_test
