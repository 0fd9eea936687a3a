// A study is the work of an experiment, cut into tasks that know nothing of each other.
//
// A task gives numbers, and always the same ones: tasks can run in any order, on any thread, be
// written down and read again. When all are there, they are put together into groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/document.h"
#include "lab/results.h"
#include "medgrad/schedule.h"

namespace medgrad::lab {

class Study {
 public:
  virtual ~Study() = default;
  [[nodiscard]] virtual std::size_t tasks() const = 0;
  [[nodiscard]] virtual std::vector<double> run(std::size_t task) const = 0;
  // Does any of its noise lack a variance? Then medians over the runs are drawn rather than means.
  [[nodiscard]] virtual bool has_heavy_tails() const { return false; }
  // `numbers[i]` is what run(i) gave.
  [[nodiscard]] virtual std::vector<Group> collect(
      const std::vector<std::vector<double>>& numbers) const = 0;
};

// An experiment as its file describes it: what all kinds have in common, and its study.
struct Experiment {
  Node document;
  std::string name, title, description;
  std::unique_ptr<Study> study;
};

// Reads a whole experiment. Throws Error with file and line where it makes no sense.
[[nodiscard]] Experiment read_experiment(Node document, const std::string& file);

// One kind of study each; `reader` is at the document's root and has read what all kinds have.
[[nodiscard]] std::unique_ptr<Study> read_trajectories(Reader& reader, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<Study> read_moments(Reader& reader, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<Study> read_projection(Reader& reader);

// "experiment", which names the folder of the results.
[[nodiscard]] std::string read_name(Reader& reader);

// "noise": {"name": "stable", "alpha": 1.1, …}; 1/alpha may be given as inv_alpha.
[[nodiscard]] NoiseModel read_noise(Reader& reader);

// What results call the methods of an experiment, each by its label and axes; a second one of the
// same name is an Error.
class MethodNames {
 public:
  void add(const Reader& reader, const Node& at, const std::string& label, const Axes& axes);

 private:
  std::vector<std::pair<std::string, Axes>> names_;
};

// The parameters of a registry entry, read from the keys of an object.
template <class Made>
[[nodiscard]] Made read_entry(Reader& reader, const Entry<Made>& entry) {
  ParameterValues values;
  for (const Parameter& parameter : entry.parameters)
    values.emplace(parameter.name, reader.number(parameter));
  return reader.located(reader.node(), [&] { return entry.make(values); });
}

// A schedule under a key: a number, which stays, "cosine:value=0.1", or {"name": "cosine", …}.
// Values are at least 0 and finite.
[[nodiscard]] Schedule read_schedule(Reader& reader, const std::string& key,
                                     const Schedule& fallback);

}  // namespace medgrad::lab
