// What became of the vectors of workers over many steps: whom to look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "medgrad/dist/aggregate.h"

#pragma GCC visibility push(default)
namespace medgrad::dist {

// Sums over the steps of one worker.
struct Record {
  std::uint64_t steps = 0;
  double distance = 0;       // of its vector to the result, in units of the median of all workers
  double weight = 0;         // its share of the results, in units of an equal share
  double kept = 0;           // the share of its entries that had a part
  std::uint64_t cut = 0;     // steps in which it was clipped
  std::uint64_t unused = 0;  // steps in which nothing of it was used
  std::uint64_t nan = 0, inf = 0, damaged = 0;
  double seconds = 0;
};

// One worker as a table has it: means over its steps, and why it is suspicious, if it is.
struct Blamed {
  int worker = 0;
  Record mean;         // distance, weight, kept and seconds per step; counts as they are
  std::string reason;  // empty where nothing is wrong
};

// Workers are told apart by numbers of their own, which they keep when others come and go.
class Blame {
 public:
  Blame() = default;
  // Goes on from there: what records() gave.
  explicit Blame(std::vector<Record> records) : records_(std::move(records)) {}
  // One step: a report for each of these workers.
  void add(std::span<const int> workers, std::span<const WorkerReport> reports);
  // Workers 0, 1, ….
  void add(std::span<const WorkerReport> reports);

  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  // Suspicious is who sent what is not finite or was damaged, whose vectors are on average more
  // than three times as far from the results as those of half of the workers, who was used in less
  // than half of the steps where most others were in more, and who was away while others took
  // steps.
  [[nodiscard]] std::vector<Blamed> table() const;
  // As text, with a line for each worker.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Record> records_;
};

}  // namespace medgrad::dist
#pragma GCC visibility pop
