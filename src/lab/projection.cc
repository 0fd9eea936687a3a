// The picture of one step: where g is taken for every tau (paper, fig. proj). Exact geometry, no
// chance.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "lab/study.h"
#include "medgrad/estimator.h"
#include "medgrad/optimize.h"

namespace medgrad::lab {
namespace {

using Point = std::array<double, 2>;

struct StepCase {
  std::string label, key;
  Axes axes;
  OnlineMethod method;
};

class Projection final : public TaskStudy {
 public:
  Projection(Point m, Point g, std::vector<StepCase> steps)
      : m_(m), g_(g), steps_(std::move(steps)) {}

  std::size_t tasks() const override { return 1; }

  std::vector<double> run_task(std::size_t) const override {
    std::vector<double> numbers;
    for (const StepCase& one : steps_) {
      OnlineEstimator<double> estimator(one.method, 2);
      estimator.reset(m_);
      estimator.update(g_);
      numbers.insert(numbers.end(), estimator.estimate().begin(), estimator.estimate().end());
    }
    return numbers;
  }

  std::vector<Group> collect(const std::vector<std::vector<double>>& numbers) const override {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const std::size_t j : {0U, 1U}) {
        Group group{.method = steps_[i].label,
                    .key = steps_[i].key,
                    .axes = steps_[i].axes,
                    .metric = j == 0 ? "x" : "y",
                    .runs = 1,
                    .values = {numbers[0][2 * i + j]}};
        summarise(group);
        groups.push_back(std::move(group));
      }
    }
    for (const auto& [label, point] : {std::pair("m", m_), std::pair("g", g_)}) {
      for (const std::size_t j : {0U, 1U}) {
        Group group{.method = label,
                    .key = label,
                    .metric = j == 0 ? "x" : "y",
                    .runs = 1,
                    .values = {point[j]}};
        summarise(group);
        groups.push_back(std::move(group));
      }
    }
    return groups;
  }

 private:
  Point m_, g_;
  std::vector<StepCase> steps_;
};

Point read_point(Reader& reader, std::string_view key) {
  const Node* node = reader.any(key);
  if (node == nullptr) reader.fail(reader.node(), fmt::format("the experiment has no '{}'.", key));
  Reader keys(*node, reader.file(), fmt::format("the point '{}'", key));
  const Point point = {keys.number("x"), keys.number("y")};
  keys.finish();
  return point;
}

}  // namespace

std::unique_ptr<Study> read_projection(Reader& reader) {
  (void)read_seed(reader);  // may be given, and there is no chance in it
  const Point m = read_point(reader, "m"), g = read_point(reader, "g");
  const Node* methods = reader.any("methods");
  if (methods == nullptr || methods->list() == nullptr || methods->list()->empty())
    reader.fail(methods != nullptr ? *methods : reader.node(),
                "'methods' must be a list with at least one method.");
  reader.finish();
  std::vector<StepCase> steps;
  MethodNames names;
  for (const Node& item : *methods->list()) {
    for (const GridPoint& point :
         expand(method_object(item, reader.file(), "a method"), reader.file())) {
      Reader keys(point.node, reader.file(), "a method");
      const std::string name = keys.text("name");
      const auto& entry = keys.located(
          *point.node.find("name"), [&]() -> const auto& { return find_online_method(name); });
      StepCase step{keys.label(name), std::string(entry.name), point.axes, read_entry(keys, entry)};
      names.add(reader, item, step.label, step.axes);
      steps.push_back(std::move(step));
    }
  }
  return std::make_unique<Projection>(m, g, std::move(steps));
}

}  // namespace medgrad::lab
