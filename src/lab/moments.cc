// The study of sample estimators by themselves: moments of the median and the mean of n numbers
// (paper, fig. moment-sample-median-mean).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "lab/study.h"
#include "medgrad/noise.h"
#include "medgrad/sample.h"

namespace medgrad::lab {
namespace {

constexpr std::size_t kBlock = 1000;   // trials of a task
constexpr std::size_t kBatches = 100;  // results.csv has means of that many batches of trials
constexpr std::size_t kMaxN = 10'001, kMaxTrials = 10'000'000;

struct NoiseCase {
  Axes axes;
  NoiseModel noise;
};

struct EstimatorCase {
  std::string label, key;
  Axes axes;
  SampleMethod method;
};

// A task is a block of trials under one noise. Its numbers are drawn once, as max n rows of one
// column per trial; a sample of n is the first n rows.
class Moments final : public TaskStudy {
 public:
  Moments(std::vector<NoiseCase> noises, std::vector<std::size_t> sizes,
          std::vector<EstimatorCase> estimators, std::size_t trials, std::uint64_t seed)
      : noises_(std::move(noises)),
        sizes_(std::move(sizes)),
        estimators_(std::move(estimators)),
        trials_(trials),
        blocks_((trials + kBlock - 1) / kBlock),
        seed_(seed) {}

  std::size_t tasks() const override { return noises_.size() * blocks_; }

  std::vector<double> run_task(std::size_t task) const override {
    const std::size_t block = task % blocks_, count = trials_of(block);
    const std::size_t most = *std::ranges::max_element(sizes_);
    std::vector<double> draws(most * count), numbers;
    sample(noises_[task / blocks_].noise, draws, count, seed_, block);
    numbers.reserve(sizes_.size() * estimators_.size() * count);
    for (const std::size_t n : sizes_) {
      for (const EstimatorCase& estimator : estimators_) {
        numbers.resize(numbers.size() + count);
        aggregate(estimator.method, Rows<double>(draws.data(), n, count),
                  std::span(numbers).last(count));
      }
    }
    return numbers;
  }

  std::vector<Group> collect(const std::vector<std::vector<double>>& numbers) const override {
    std::vector<Group> groups;
    std::vector<double> values(trials_);
    for (std::size_t noise = 0; noise < noises_.size(); ++noise) {
      for (std::size_t k = 0; k < sizes_.size() * estimators_.size(); ++k) {
        const EstimatorCase& estimator = estimators_[k % estimators_.size()];
        auto at = values.begin();
        for (std::size_t block = 0; block < blocks_; ++block) {
          const std::size_t count = trials_of(block);
          const auto& from = numbers[noise * blocks_ + block];
          at = std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(k * count), count, at);
        }
        Group group{.method = estimator.label, .key = estimator.key, .axes = noises_[noise].axes};
        group.axes.emplace_back("n", static_cast<double>(sizes_[k / estimators_.size()]));
        group.axes.insert(group.axes.end(), estimator.axes.begin(), estimator.axes.end());
        add(groups, group, "first_moment", values, [](double x) { return std::abs(x); });
        add(groups, group, "second_moment", values, [](double x) { return x * x; });
      }
    }
    return groups;
  }

 private:
  [[nodiscard]] std::size_t trials_of(std::size_t block) const {
    return std::min(kBlock, trials_ - block * kBlock);
  }

  // Statistics over all trials; values over batches of them.
  template <class Function>
  void add(std::vector<Group>& groups, Group group, std::string metric,
           const std::vector<double>& values, Function function) const {
    group.metric = std::move(metric);
    std::vector<double> moments(values.size());
    std::ranges::transform(values, moments.begin(), function);
    group.runs = std::min(kBatches, trials_);
    for (std::size_t b = 0; b < group.runs; ++b) {
      const std::size_t begin = b * trials_ / group.runs, end = (b + 1) * trials_ / group.runs;
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += moments[i];
      group.values.push_back(sum / static_cast<double>(end - begin));
    }
    group.stats = {stats_of(moments)};
    groups.push_back(std::move(group));
  }

  std::vector<NoiseCase> noises_;
  std::vector<std::size_t> sizes_;
  std::vector<EstimatorCase> estimators_;
  std::size_t trials_, blocks_;
  std::uint64_t seed_;
};

std::vector<EstimatorCase> read_estimators(Reader& reader) {
  const Node* node = reader.any("methods");
  if (node == nullptr || node->list() == nullptr || node->list()->empty())
    reader.fail(node != nullptr ? *node : reader.node(),
                "'methods' must be a list with at least one estimator.");
  std::vector<EstimatorCase> estimators;
  MethodNames names;
  for (const Node& item : *node->list()) {
    for (const GridPoint& point :
         expand(method_object(item, reader.file(), "an estimator"), reader.file())) {
      Reader keys(point.node, reader.file(), "an estimator");
      const std::string name = keys.text("name");
      const auto& entry = keys.located(
          *point.node.find("name"), [&]() -> const auto& { return find_sample_method(name); });
      EstimatorCase made{keys.label(name), std::string(entry.name), point.axes,
                         read_entry(keys, entry)};
      const bool by_component = std::visit(
          []<class M>(const M&) {
            return requires { M::by_component; };
          },
          made.method);
      if (!by_component)
        keys.fail(item,
                  fmt::format("'{}' is not an estimator of numbers; mean, median, trimmed-mean and "
                              "meamed are.",
                              name));
      names.add(reader, item, made.label, made.axes);
      estimators.push_back(std::move(made));
    }
  }
  return estimators;
}

}  // namespace

std::unique_ptr<Study> read_moments(Reader& reader) {
  const std::uint64_t seed = read_seed(reader);
  const std::size_t trials = reader.whole("trials", 10'000, 2, kMaxTrials);
  std::vector<EstimatorCase> estimators = read_estimators(reader);
  const Node* noise = reader.any("noise");
  if (noise == nullptr) reader.fail(reader.node(), "the experiment has no 'noise'.");
  if (reader.any("n") == nullptr) reader.fail(reader.node(), "the experiment has no 'n'.");
  reader.finish();

  std::vector<NoiseCase> noises;
  const Node noise_only{Node::Object{{"noise", *noise}}, reader.node().line};
  for (const GridPoint& point : expand(noise_only, reader.file())) {
    const Node object = method_object(*point.node.find("noise"), reader.file(), "the noise");
    Reader keys(object, reader.file(), "the noise");
    noises.push_back({point.axes, read_noise(keys)});
  }
  // `n` through the same grid as everything else: a number, a list or a range.
  const Node sizes_only{Node::Object{{"n", *reader.any("n")}}, reader.node().line};
  std::vector<std::size_t> sizes;
  for (const GridPoint& point : expand(sizes_only, reader.file())) {
    Reader keys(point.node, reader.file(), "the experiment");
    sizes.push_back(keys.whole("n", {}, 1, kMaxN));
    for (const EstimatorCase& estimator : estimators)
      keys.located(*point.node.find("n"), [&] { validate(estimator.method, sizes.back()); });
  }
  return std::make_unique<Moments>(std::move(noises), std::move(sizes), std::move(estimators),
                                   trials, seed);
}

}  // namespace medgrad::lab
