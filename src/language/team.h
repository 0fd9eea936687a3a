// Workers that train one model together: what each of them has for a gradient becomes, by a robust
// rule, one gradient for all.
//
// A team of N workers takes N times as many batches in a step: worker i the i-th (or, where several
// are accumulated, the i-th few) of the next ones, with dropout of its own, a function of the seed
// and of the batch alone. The last B of them lie, where an attack is given: they see what the
// honest have before they say anything. More can happen to them on the way (events.h). What all
// take part in is the same whether they are
// processes of their own (make_crew_team) or are simulated in one (make_simulated_team), to the
// bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "language/team_options.h"
#include "medgrad/dist/blame.h"
#include "medgrad/dist/catch_up.h"
#include "medgrad/error.h"
#include "medgrad/large_vector.h"

namespace medgrad::language {

// The rule or the quorum needs more workers than are left.
class TooFew : public Error {
 public:
  using Error::Error;
};

// What a worker of this process has.
struct Contribution {
  int worker = 0;
  LargeVector<float> gradient = {};
  double seconds = 0;  // that it took
  float loss = 0;      // NaN: it has none
};

// What a worker would like, which all do then.
enum class Wish : std::uint8_t {
  go_on,
  stop_after,   // this step
  stop_before,  // it: there is no gradient, and nobody takes the step
};

// What everybody knows after a step.
struct Joint {
  double loss = 0;          // the median of those that are finite; NaN where none is
  Wish wish = Wish::go_on;  // the most urgent of all
  bool waits = false;       // somebody has come, and waits until all gather again
};

// What belongs to a team beside the model, and is in its checkpoints.
struct TeamState {
  LargeVector<float> centre;  // of rules that keep one
  dist::Blame blame;
};

class Team {
 public:
  explicit Team(TeamOptions options) : options_(std::move(options)) {}
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] const TeamOptions& options() const { return options_; }
  // Those that this process computes for.
  [[nodiscard]] virtual std::vector<int> here() const = 0;
  // Who takes part.
  [[nodiscard]] virtual std::vector<int> members() const = 0;
  // Does this process write down what all do?
  [[nodiscard]] virtual bool leads() const = 0;
  // Are there others, in processes of their own?
  [[nodiscard]] virtual bool has_others() const = 0;

  // Before a step: what happens to those that are here then (events.h). True where others take part
  // than in the step before.
  [[nodiscard]] virtual bool begin(std::uint64_t /*step*/) { return false; }

  // One gradient of all. Throws dist::Lost where somebody is gone: gather() then, and the step is
  // taken again; nothing has changed. Nor has it where somebody wishes to stop before the step: the
  // result means nothing then.
  [[nodiscard]] virtual Joint combine(std::uint64_t step, std::span<Contribution> mine, Wish wish,
                                      std::span<float> result) = 0;

  // Those who are there come together: before the first step, after somebody was lost, and where
  // somebody waits to be let in.
  virtual void gather() {}
  // Throws Error where this worker has other settings than most, and dist::Lost where others have.
  virtual void check_settings(std::span<const dist::Setting> /*mine*/) {}
  // Everybody comes to where the farthest is (dist::catch_up).
  virtual void catch_up(std::optional<std::uint64_t> /*steps*/,
                        const std::function<std::string()>& /*save*/,
                        const std::function<void(const std::string&)>& /*load*/) {}
  // Was it not there from the beginning?
  [[nodiscard]] virtual bool joined_late() const { return false; }
  // Were others together without it before the last gather()?
  [[nodiscard]] virtual bool was_let_in() const { return false; }
  // The run is over: nobody has to wait to be let in.
  virtual void part() {}

  TeamState state;

 protected:
  // Members in a step: who tells the truth, and who makes something up. (Others have flipped labels
  // or damaged gradients.)
  struct Camps {
    std::vector<std::size_t> honest, liars;  // their places among the members
  };
  [[nodiscard]] Camps camps(std::uint64_t step) const;
  // The attack of a liar, how many have the same one, and which of those it is.
  struct Share {
    const Attack* lie = nullptr;
    std::size_t place = 0, of = 0;
  };
  [[nodiscard]] Share share_of(const Camps& all, std::size_t liar, std::uint64_t step) const;
  // What all liars say who say it by one attack, from the rows of the honest.
  [[nodiscard]] LargeVector<float> lies_about(const Attack& lie, std::span<const float> honest,
                                              std::size_t liars, std::size_t d,
                                              std::uint64_t step) const;
  // Flips bits of one that has such an event.
  void damage(Contribution& one, std::uint64_t step) const;
  [[nodiscard]] dist::Options<float> aggregation(std::uint64_t step) const;
  // Notes what became of whose gradient, and finds what is known of the step.
  [[nodiscard]] Joint conclude(std::span<const dist::WorkerReport> reports,
                               std::span<const float> result);

  // What a worker tells all others with its gradient.
  struct Word {
    float loss = 0;
    Wish wish = Wish::go_on;
    bool waits = false;  // as in Joint
  };
  [[nodiscard]] static std::uint64_t packed(const Word& word);
  [[nodiscard]] static Word unpacked(std::uint64_t word);

 private:
  TeamOptions options_;
};

// All of them in this process: their gradients are computed in turn, and the exchange is that of
// threads.
[[nodiscard]] std::unique_ptr<Team> make_simulated_team(const TeamOptions& options);

}  // namespace medgrad::language
