// How often is the verdict on tails right? The table of docs/tails.md.
#include <cstdio>

#include "bench.h"
#include "medgrad/tail_verdict.h"
#include "noise/laws.h"

namespace medgrad::bench {
namespace {

struct Counts {
  int answers[3] = {}, advice[4] = {};
  int stable = 0, skewed = 0, covered = 0;
  double seconds = 0;
};

constexpr int kFirstSeed = 5000;  // none that the tests use, nor that anything was tuned on

Counts judge(const laws::Law& law, std::size_t n, int seeds) {
  Counts c;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::vector<double> x =
        laws::sample(law, n, static_cast<std::uint64_t>(kFirstSeed + seed));
    TailVerdict v;
    c.seconds += seconds([&] { v = judge_tails(x); });
    ++c.answers[static_cast<int>(v.infinite_variance)];
    ++c.advice[static_cast<int>(v.advice)];
    c.stable += v.stable_fits() ? 1 : 0;
    c.skewed += v.efficiency.skewed ? 1 : 0;
    c.covered += v.index_interval.contains(law.index) ? 1 : 0;
  }
  return c;
}

}  // namespace

void tail_table(int seeds) {
  std::printf(
      "| law | n | infinite variance: yes / no / unclear | a stable law fits | skewed | advice: "
      "mean "
      "/ median / Huber / unclear | interval covers | ms |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const laws::Law& law : laws::all()) {
    for (const std::size_t n : {300U, 3000U, 30000U}) {
      const Counts c = judge(law, n, seeds);
      const bool power = std::isfinite(law.index);
      std::printf("| %s | %zu | %d / %d / %d | %d | %d | %d / %d / %d / %d | %s | %.0f |\n",
                  std::string(law.name).c_str(), n, c.answers[0], c.answers[1], c.answers[2],
                  c.stable, c.skewed, c.advice[0], c.advice[1], c.advice[2], c.advice[3],
                  power ? std::to_string(c.covered).c_str() : "", c.seconds * 1e3 / seeds);
      std::fflush(stdout);
    }
  }
}

}  // namespace medgrad::bench
