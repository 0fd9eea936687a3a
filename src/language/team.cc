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

// Above the loss in a worker's word.
constexpr std::uint64_t kStop = std::uint64_t{1} << 32, kWaits = kStop << 1, kBefore = kStop << 2;

class SimulatedTeam final : public Team {
 public:
  explicit SimulatedTeam(const TeamOptions& options)
      : Team(options), members_(present({}, options.workers, 0)) {
    form();
  }

  std::vector<int> here() const override { return members_; }
  std::vector<int> members() const override { return members_; }
  bool leads() const override { return true; }
  bool has_others() const override { return false; }

  bool begin(std::uint64_t step) override {
    const auto at = [&](std::uint64_t when) {
      return present(options().events, options().workers, when);
    };
    const std::vector<int> now = at(step);
    if (now != members_) {
      members_ = now;
      form();
    }
    return now != (step == 0 ? present({}, options().workers, 0) : at(step - 1));
  }

  Joint combine(std::uint64_t step, std::span<Contribution> mine, Wish wish,
                std::span<float> result) override {
    const std::size_t d = result.size();
    for (Contribution& one : mine) damage(one, step);
    lie(mine, step, d);
    std::vector<dist::WorkerReport> reports;
    std::vector<std::exception_ptr> failed(ranks_.size());
    std::vector<std::thread> threads;
    const auto take_part = [&](std::size_t i) {
      LargeVector<float> own(i == 0 ? 0 : d);  // everybody has the result; one is enough
      std::vector<dist::WorkerReport> theirs;
      dist::Options<float> how = aggregation(step);
      how.seconds = mine[i].seconds;
      how.word = packed({mine[i].loss, wish});
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
  void form() { ranks_ = dist::make_threads(static_cast<int>(members_.size())); }

  void lie(std::span<Contribution> mine, std::uint64_t step, std::size_t d) const {
    const Camps all = camps(step);
    if (all.liars.empty()) return;
    LargeVector<float> rows;
    for (const std::size_t i : all.honest)
      rows.insert(rows.end(), mine[i].gradient.begin(), mine[i].gradient.end());
    for (std::size_t k = 0; k < all.liars.size(); ++k) {
      const auto [lie, place, of] = share_of(all, all.liars[k], step);
      if (place > 0) continue;  // the first of each attack makes it up for all
      const LargeVector<float> said = lies_about(*lie, rows, of, d, step);
      for (std::size_t j = k; j < all.liars.size(); ++j) {
        const Share one = share_of(all, all.liars[j], step);
        if (describe(*one.lie) != describe(*lie)) continue;
        const auto begin = said.begin() + static_cast<std::ptrdiff_t>(one.place * d);
        mine[all.liars[j]].gradient.assign(begin, begin + static_cast<std::ptrdiff_t>(d));
      }
    }
  }

  std::vector<int> members_;
  std::vector<std::unique_ptr<dist::Communicator>> ranks_;
};

}  // namespace

Team::Camps Team::camps(std::uint64_t step) const {
  Camps all;
  const std::vector<int> workers = members();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Attack* const lie = options_.lie_of(workers[i], step);
    if (lie != nullptr && !needs_data(*lie)) all.liars.push_back(i);
    if (lie == nullptr && options_.damage_of(workers[i], step) == nullptr) all.honest.push_back(i);
  }
  return all;
}

Team::Share Team::share_of(const Camps& all, std::size_t liar, std::uint64_t step) const {
  const std::vector<int> workers = members();
  const auto lie_of = [&](std::size_t i) { return options_.lie_of(workers[i], step); };
  Share share{lie_of(liar)};
  const std::string words = describe(*share.lie);
  for (const std::size_t i : all.liars) {
    if (describe(*lie_of(i)) != words) continue;
    if (i < liar) ++share.place;
    ++share.of;
  }
  return share;
}

void Team::damage(Contribution& one, std::uint64_t step) const {
  const BitFlip* const flip = options_.damage_of(one.worker, step);
  if (flip == nullptr) return;
  BitFlip own = *flip;
  own.seed += static_cast<std::uint64_t>(one.worker);
  const LargeVector<float> before = one.gradient;
  AttackOptions<float> how;
  how.round = step;
  (void)attack<float>(own, Rows<float>(before.data(), 1, before.size()), 1, one.gradient, how);
}

LargeVector<float> Team::lies_about(const Attack& lie, std::span<const float> honest,
                                    std::size_t liars, std::size_t d, std::uint64_t step) const {
  LargeVector<float> said(liars * d);
  AttackOptions<float> how;
  how.against = is_optimal(lie) ? &options_.rule : nullptr;
  how.center = state.centre;
  how.non_finite = NonFinite::robust;
  how.round = step;
  (void)attack<float>(lie, Rows<float>(honest.data(), honest.size() / d, d), liars, said, how);
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
  Joint joint;
  std::vector<float> losses;
  for (const dist::WorkerReport& one : reports) {
    const Word word = unpacked(one.word);
    joint.wish = std::max(joint.wish, word.wish);
    joint.waits = joint.waits || word.waits;
    if (std::isfinite(word.loss)) losses.push_back(word.loss);
  }
  if (joint.wish == Wish::stop_before) return joint;
  state.blame.add(members(), reports);
  if (keeps_center(options_.rule)) state.centre.assign(result.begin(), result.end());
  std::ranges::sort(losses);
  const std::size_t n = losses.size();
  joint.loss = n == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : (static_cast<double>(losses[(n - 1) / 2]) + losses[n / 2]) / 2;
  return joint;
}

std::uint64_t Team::packed(const Word& word) {
  return std::bit_cast<std::uint32_t>(word.loss) | (word.wish != Wish::go_on ? kStop : 0) |
         (word.wish == Wish::stop_before ? kBefore : 0) | (word.waits ? kWaits : 0);
}

Team::Word Team::unpacked(std::uint64_t word) {
  const Wish wish = (word & kBefore) != 0 ? Wish::stop_before
                    : (word & kStop) != 0 ? Wish::stop_after
                                          : Wish::go_on;
  return {std::bit_cast<float>(static_cast<std::uint32_t>(word)), wish, (word & kWaits) != 0};
}

std::unique_ptr<Team> make_simulated_team(const TeamOptions& options) {
  return std::make_unique<SimulatedTeam>(options);
}

}  // namespace medgrad::language
