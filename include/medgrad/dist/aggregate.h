// One robust vector from those of n workers, each of which has its own.
//
//     sharded: every rank gets some columns of all vectors, finds the rule's result there, and
//              sends it to all. A rank sends and receives 2 (n-1)/n d words, as in a ring
//              all-reduce, and needs memory for some 3 d. What a rule needs of whole vectors (inner
//              products, norms) is summed up by columns and shared. The columns of a rule that
//              takes each component by itself travel in pieces: while one is on its way the last
//              one is worked on.
//     server:  one rank, which all trust, gets all vectors and sends the result.
//
// The result has the bits of aggregate() (sample.h) in one process, on every rank, whatever the
// topology and the engine. What others say is checked: lengths, types, the number of the step and
// the rule before anything else, and every piece of data by a checksum. Whoever does not fit is
// named (Unfit); a damaged piece counts as missing (NaN).
//
// Both bear workers with wrong *vectors*, as many as the rule does. sharded bears no worker that
// gives wrong results for its columns, or says different things to different ranks; server bears
// those too, but not a wrong server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "medgrad/dist/communicator.h"
#include "medgrad/export.h"
#include "medgrad/sample.h"

#pragma GCC visibility push(default)
namespace medgrad::dist {

enum class Topology : std::uint8_t { sharded, server };
[[nodiscard]] std::string_view name(Topology topology);
// Throws Error for any other word.
[[nodiscard]] Topology topology_of(std::string_view name);

// Some ranks are about something else: another length, type, step or rule. Nothing was aggregated;
// the group is as good as before. Everybody is told, the ranks themselves too.
class Unfit : public Error {
 public:
  Unfit(const std::string& sentence, std::vector<int> ranks)
      : Error(sentence), ranks_(std::move(ranks)) {}
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

 private:
  std::vector<int> ranks_;
};

// What became of a worker's vector.
struct WorkerReport {
  // As in one process, but for rules that end with one that takes components by themselves: weight
  // and kept are then those of a sample of the columns.
  RowReport row;
  std::size_t damaged = 0;  // pieces that did not pass their checksum
  double seconds = 0;       // what it was doing before, as it says itself (Options::seconds)
  std::uint64_t word = 0;   // Options::word
};

template <Real T>
struct Options {
  Topology topology = Topology::sharded;
  int server = 0;          // its rank
  std::uint64_t step = 0;  // checked to be everyone's; the round of random rules (Bucketing)
  std::span<const double> weights = {};  // of the workers; the same everywhere
  std::span<const T> center = {};        // the same everywhere
  NonFinite non_finite = NonFinite::robust;
  ThreadPool* pool = nullptr;
  double seconds = 0;                           // for the report
  std::uint64_t word = 0;                       // for the report: anything that all should know
  std::vector<WorkerReport>* report = nullptr;  // one for every worker, the same everywhere
};

// Writes the rule's result for everybody's `mine` to `out` (of the same length; may be `mine`
// itself only where nothing is lost if this throws). Throws Lost and Unfit, and, on all ranks
// alike, what aggregate() throws.
template <Real T>
MEDGRAD_EXPORT SampleInfo aggregate(Communicator& group, const Rule& rule,
                                    std::type_identity_t<std::span<const T>> mine, std::span<T> out,
                                    const std::type_identity_t<Options<T>>& options = {});

}  // namespace medgrad::dist
#pragma GCC visibility pop
