// What the ranks see of everybody's data in their columns, and what they make of it together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sample/plan.h"
#include "dist/flow.h"
#include "dist/wire.h"
#include "medgrad/dist/aggregate.h"

namespace medgrad::dist {

// A length in two parts, so that no square of it overflows or vanishes: largest sqrt(sum).
struct Length {
  double largest = 0, sum = 0;
  void add(double length);
  void add(const Length& other);
  [[nodiscard]] double value() const;
};

// What one rank has seen; sent as it is.
struct Sight {
  // The first entry that the policy does not allow, or the first column without any observation.
  enum Complaint : std::uint64_t { none, not_finite, unobserved };
  std::uint64_t complaint = none, row = 0, column = 0;
  double value = 0;
  // What the estimator said.
  double objective = 0, gap = 0;
  std::uint64_t iterations = 0, stop = 0, f = 0;
  std::uint64_t sampled = 0;  // columns of which the shares are
};
// And of every worker.
struct SightOfRow {
  std::uint64_t nan = 0, inf = 0, damaged = 0;
  Length distance;
  double weight = 0, kept = 0;  // sums over the sampled columns
  void add(const SightOfRow& other);
};

template <Real T>
class Watch {
 public:
  // `pieces` is how many there are to look at.
  Watch(std::size_t workers, NonFinite policy, std::size_t pieces)
      : policy_(policy), sample_(std::max<std::size_t>(64, 1024 / (pieces + 1))), rows_(workers) {}

  // Looks at columns from `column` on, as they came: pieces that do not have
  // their checksums become NaN; what no rule could go on with becomes 0, and is complained of.
  void inspect(const Columns<T>& rows, std::size_t column, std::size_t piece,
               std::span<const Announcement> announced);
  // Adds distances to the result, and shares in it, in columns of a rule that takes each by itself.
  void compare(const estimators::RulePlan& plan, const estimators::Input<T>& input,
               std::span<const T> result);
  void note(const SampleInfo& info);

  // What all ranks together have seen: throws what aggregate() would, everywhere. `teller` is the
  // rank that has the estimator's word. `report` has what is known otherwise.
  [[nodiscard]] SampleInfo conclude(Communicator& group, int teller,
                                    std::vector<WorkerReport>* report, bool by_columns);

 private:
  void count(const Columns<T>& rows, std::size_t column);
  // What every rank says, and what all of them have seen of each worker.
  struct Seen {
    std::vector<Sight> sights;
    std::vector<SightOfRow> rows;
  };
  [[nodiscard]] Seen seen_by_all(Communicator& group) const;

  NonFinite policy_;
  std::size_t sample_;  // columns of a piece
  Sight sight_;
  std::vector<SightOfRow> rows_;
};

}  // namespace medgrad::dist
