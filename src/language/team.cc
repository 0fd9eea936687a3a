#include "language/team.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <thread>

#include "medgrad/dist/communicator.h"

namespace medgrad::language {
namespace {

constexpr std::uint64_t kStop = std::uint64_t{1} << 32, kWaits = kStop << 1;

class SimulatedTeam final : public Team {
 public:
  explicit SimulatedTeam(const TeamOptions& options)
      : Team(options), ranks_(dist::make_threads(static_cast<int>(options.workers))) {}

  std::vector<int> here() const override { return members(); }
  std::vector<int> members() const override {
    std::vector<int> all(ranks_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    return all;
  }
  bool leads() const override { return true; }
  bool has_others() const override { return false; }

  Joint combine(std::uint64_t step, std::span<Contribution> mine, bool stop,
                std::span<float> result) override {
    const std::size_t d = result.size();
    if (options().byzantine > 0 && !needs_data(options().attack)) lie(mine, step, d);
    std::vector<dist::WorkerReport> reports;
    std::vector<std::exception_ptr> failed(ranks_.size());
    std::vector<std::thread> threads;
    const auto take_part = [&](std::size_t i) {
      LargeVector<float> own(i == 0 ? 0 : d);  // everybody has the result; one is enough
      std::vector<dist::WorkerReport> theirs;
      dist::Options<float> how = aggregation(step);
      how.seconds = mine[i].seconds;
      how.word = packed({mine[i].loss, stop});
      how.report = i == 0 ? &reports : &theirs;
      try {
        (void)dist::aggregate<float>(*ranks_[i], options().rule, mine[i].gradient,
                                     i == 0 ? result : std::span<float>(own), how);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    };
    for (std::size_t i = 1; i < ranks_.size(); ++i) threads.emplace_back(take_part, i);
    take_part(0);
    for (std::thread& one : threads) one.join();
    for (const std::exception_ptr& one : failed)
      if (one) std::rethrow_exception(one);
    return conclude(reports, result);
  }

 private:
  void lie(std::span<Contribution> mine, std::uint64_t step, std::size_t d) const {
    const std::size_t liars = options().byzantine, honest = mine.size() - liars;
    LargeVector<float> rows(honest * d);
    for (std::size_t i = 0; i < honest; ++i)
      std::ranges::copy(mine[i].gradient, rows.begin() + static_cast<std::ptrdiff_t>(i * d));
    const LargeVector<float> said = lies_about(rows, liars, d, step);
    for (std::size_t k = 0; k < liars; ++k)
      mine[honest + k].gradient.assign(said.begin() + static_cast<std::ptrdiff_t>(k * d),
                                       said.begin() + static_cast<std::ptrdiff_t>((k + 1) * d));
  }

  std::vector<std::unique_ptr<dist::Communicator>> ranks_;
};

}  // namespace

LargeVector<float> Team::lies_about(std::span<const float> honest, std::size_t liars, std::size_t d,
                                    std::uint64_t step) const {
  LargeVector<float> said(liars * d);
  AttackOptions<float> how;
  how.against = is_optimal(options_.attack) ? &options_.rule : nullptr;
  how.center = state.centre;
  how.non_finite = NonFinite::robust;
  how.round = step;
  (void)attack<float>(options_.attack, Rows<float>(honest.data(), honest.size() / d, d), liars,
                      said, how);
  return said;
}

dist::Options<float> Team::aggregation(std::uint64_t step) const {
  dist::Options<float> how;
  how.topology = options_.topology;
  how.step = step;
  how.center = state.centre;
  return how;
}

Joint Team::conclude(std::span<const dist::WorkerReport> reports, std::span<const float> result) {
  state.blame.add(members(), reports);
  if (keeps_center(options_.rule)) state.centre.assign(result.begin(), result.end());
  Joint joint;
  std::vector<float> losses;
  for (const dist::WorkerReport& one : reports) {
    const Word word = unpacked(one.word);
    joint.stop = joint.stop || word.stop;
    joint.waits = joint.waits || word.waits;
    if (std::isfinite(word.loss)) losses.push_back(word.loss);
  }
  std::ranges::sort(losses);
  const std::size_t n = losses.size();
  joint.loss = n == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : (static_cast<double>(losses[(n - 1) / 2]) + losses[n / 2]) / 2;
  return joint;
}

std::uint64_t Team::packed(const Word& word) {
  return std::bit_cast<std::uint32_t>(word.loss) | (word.stop ? kStop : 0) |
         (word.waits ? kWaits : 0);
}

Team::Word Team::unpacked(std::uint64_t word) {
  return {std::bit_cast<float>(static_cast<std::uint32_t>(word)), (word & kStop) != 0,
          (word & kWaits) != 0};
}

std::unique_ptr<Team> make_simulated_team(const TeamOptions& options) {
  return std::make_unique<SimulatedTeam>(options);
}

}  // namespace medgrad::language
