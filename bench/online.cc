// How close the fused online steps come to what the machine can do.
//
// The limit of a step is bare loops with the same reads and writes in the same number of passes
// (plain.h), over the same memory, cut into the same chunks and on the same threads: one pass that
// updates m and w for momentum, CClip and sign steps (5 words per component); before it a pass that
// reads g where non-finite input is to be refused with m untouched (6), as for the norm of a
// clipped mean; for VClip and Huber one that reads m and g (7), which settles that too; Adam's v is
// read and written as well (7, or 8 with the look at g). A second pass goes backward over the
// chunks, as ours does, and finds the end of the first in the cache.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench.h"
#include "medgrad/estimator.h"
#include "medgrad/large_vector.h"
#include "medgrad/optimize.h"
#include "medgrad/thread_pool.h"
#include "plain.h"

namespace medgrad::bench {
namespace {

enum class First { nothing, reads_g, reads_both };

template <class T>
void fill(std::span<T> v, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<T> uniform(-1, 1);
  for (T& x : v) x = uniform(random);
}

double median(std::vector<double> v) {
  std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
  return v[v.size() / 2];
}

// The vectors of steps, cut into tensors of equal length. As in an estimator, m is in large pages;
// the limit has an m and a v of its own.
template <class Vector>
class Vectors {
 public:
  using T = typename Vector::value_type;

  Vectors(std::size_t n, std::size_t tensors, unsigned threads)
      : n_(n), tensors_(tensors), pool_(threads), g_(n), w_(n), m_(n), bare_m_(n) {
    fill(std::span<T>(g_), 1);
    fill(std::span<T>(w_), 2);
  }

  void start_over(bool with_v) {
    std::ranges::fill(m_, T(0));
    std::ranges::fill(bare_m_, T(0));
    for (Vector* v : {&v_, &bare_v_}) v->assign(with_v ? n_ : 0, T(1));
  }

  // Calls use(begin, n) for all tensors.
  template <class Use>
  void for_tensors(const Use& use) const {
    for (std::size_t i = 0; i < tensors_; ++i) {
      const std::size_t begin = i * n_ / tensors_, end = (i + 1) * n_ / tensors_;
      use(begin, end - begin);
    }
  }

  [[nodiscard]] std::vector<Block<T>> blocks(double eta) {
    std::vector<Block<T>> blocks;
    for_tensors([&](std::size_t i, std::size_t n) {
      blocks.push_back({{&m_[i], n}, {&g_[i], n}, {&w_[i], n}, eta});
    });
    return blocks;
  }
  [[nodiscard]] std::vector<CutBlock<T>> cut_blocks(double eta) {
    std::vector<CutBlock<T>> blocks;
    for_tensors([&](std::size_t i, std::size_t n) {
      blocks.push_back({{&m_[i], n}, {&g_[i], n}, {&v_[i], n}, {&w_[i], n}, 1, eta});
    });
    return blocks;
  }

  void bare(First first) {
    if (first != First::nothing) {
      pass(false, [&](std::size_t i, std::size_t n) {
        const T sum =
            first == First::reads_g ? read_pass(&g_[i], n) : read_pass<T>(&bare_m_[i], &g_[i], n);
        if (sum == T(0.123)) std::puts("");  // nobody can leave out the loop
      });
    }
    pass(first != First::nothing, [&](std::size_t i, std::size_t n) {
      if (v_.empty()) {
        update_pass(&bare_m_[i], &g_[i], &w_[i], T(0.125), T(1e-3), n);
      } else {
        update_pass(&bare_m_[i], &g_[i], &bare_v_[i], &w_[i], T(0.125), T(1e-3), n);
      }
    });
  }

  [[nodiscard]] ThreadPool* pool() { return pool_.size() > 1 ? &pool_ : nullptr; }

 private:
  // The pieces of tensors in every chunk of the whole.
  template <class Loop>
  void pass(bool backward, const Loop& loop) {
    const Chunks chunks = chunks_for(n_);
    for_each(pool(), chunks.count, [&](std::size_t i) {
      const std::size_t c = backward ? chunks.count - 1 - i : i;
      if (tensors_ == 1) return loop(chunks.begin(c), chunks.end(c) - chunks.begin(c));
      for_tensors([&](std::size_t begin, std::size_t n) {
        const std::size_t from = std::max(begin, chunks.begin(c));
        const std::size_t to = std::min(begin + n, chunks.end(c));
        if (from < to) loop(from, to - from);
      });
    });
  }

  std::size_t n_, tensors_;
  ThreadPool pool_;
  Vector g_, w_, v_, bare_v_;
  LargeVector<T> m_, bare_m_;
};

struct Contender {
  std::string name;
  int words;
  First first;
  std::function<void()> run;
};

}  // namespace

template <class Vector>
void online_steps(std::size_t n, int rounds, unsigned threads, std::size_t tensors,
                  const std::string& only) {
  using T = typename Vector::value_type;
  Vectors<Vector> vectors(n, tensors, threads);
  Workspace<T> workspace;

  // One thread by its processor time, which others on the machine hardly change.
  const auto time_of = [threads](const auto& use) {
    if (threads > 1) return seconds(use);
    const double start = processor_seconds();
    use();
    return processor_seconds() - start;
  };
  const auto measure = [&](const Contender& contender) {
    if (contender.name.find(only) == std::string::npos) return;
    // Short vectors many times in a row, so that the clock is read rarely.
    const std::size_t repeats = std::max<std::size_t>(1, 200'000 / n);
    const auto ours = [&] {
      for (std::size_t i = 0; i < repeats; ++i) contender.run();
    };
    const auto bare = [&] {
      for (std::size_t i = 0; i < repeats; ++i) vectors.bare(contender.first);
    };
    ours();  // touches every page once
    bare();
    std::vector<double> times, limits, ratios;
    for (int round = 0; round < rounds; ++round) {
      // Who goes first changes, as the one finds in the cache what the other left.
      const bool mine_first = round % 2 == 0;
      double mine = mine_first ? time_of(ours) : 0;
      const double limit = time_of(bare);
      if (!mine_first) mine = time_of(ours);
      times.push_back(mine / static_cast<double>(repeats));
      limits.push_back(limit / static_cast<double>(repeats));
      ratios.push_back(limit / mine);
    }
    const double bytes = contender.words * static_cast<double>(n * sizeof(T));
    std::printf(R"({"what": "%s", "words": %d, "us": %.4g, "gbs": %.4g, "limit_us": %.4g, )"
                R"("limit_gbs": %.4g, "ratio": %.4f})"
                "\n",
                contender.name.c_str(), contender.words, median(times) * 1e6,
                bytes / median(times) * 1e-9, median(limits) * 1e6, bytes / median(limits) * 1e-9,
                median(ratios));
    std::fflush(stdout);
  };

  // tau is small against the increments, so that all of them cut in every round: in the thousands
  // of rounds of short vectors, too, m must not get to g.
  const double small = 1e-5, eta = 1e-3;
  const struct {
    const char* name;
    OnlineMethod method;
    First first;
  } methods[] = {
      {"momentum", ProximalPoint{Squared{}, 0.125}, First::nothing},
      {"cclip", ProximalPoint{L1{}, small}, First::nothing},
      {"sign", Subgradient{L1{}, small}, First::nothing},
      {"vclip", ProximalPoint{L2{}, small}, First::reads_both},
      {"huber", ProximalPoint{Huber(1), small}, First::reads_both},
      {"clipped-mean", ClippedMean{0.9, 1}, First::reads_g},
      // tau = auto takes its size from what a step sees anyway: the same words.
      {"cclip auto", ProximalPoint{L1{}, kAutomaticNumber}, First::nothing},
      {"vclip auto", ProximalPoint{L2{}, kAutomaticNumber}, First::reads_both},
  };
  for (const NonFinite policy : {NonFinite::reject, NonFinite::robust}) {
    const bool rejects = policy == NonFinite::reject;
    const std::string suffix = rejects ? " reject" : " robust";
    const StepOptions options{.non_finite = policy, .pool = vectors.pool()};
    for (const auto& [name, method, own] : methods) {
      const First first = own == First::nothing && rejects ? First::reads_g : own;
      vectors.start_over(false);
      const std::vector<Block<T>> blocks = vectors.blocks(eta);
      double size = 0;
      measure({name + suffix, 5 + static_cast<int>(first), first,
               [&, &how = method] { (void)step<T>(how, blocks, options, workspace, &size); }});
    }
    vectors.start_over(true);
    const std::vector<CutBlock<T>> blocks = vectors.cut_blocks(eta);
    const AdaptiveGradient method = median_adam();
    measure({"median-adam" + suffix, rejects ? 8 : 7, rejects ? First::reads_g : First::nothing,
             [&] { (void)cut_adaptive_step<T>(method, blocks, options); }});
  }
}

template void online_steps<std::vector<float>>(std::size_t, int, unsigned, std::size_t,
                                               const std::string&);
template void online_steps<std::vector<double>>(std::size_t, int, unsigned, std::size_t,
                                                const std::string&);
template void online_steps<LargeVector<float>>(std::size_t, int, unsigned, std::size_t,
                                               const std::string&);
template void online_steps<LargeVector<double>>(std::size_t, int, unsigned, std::size_t,
                                                const std::string&);

}  // namespace medgrad::bench
