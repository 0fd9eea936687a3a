// How often is the verdict on tails right? The table of docs/tails.md.
#include <cstdio>

#include "bench.h"
#include "noise/verdict_counts.h"

namespace medgrad::bench {

void tail_table(int seeds) {
  constexpr std::uint64_t kFirstSeed = 5000;  // none that the tests use, nor anything was tuned on
  std::printf(
      "| law | n | infinite variance: yes / no / unclear | a stable law fits | skewed | advice: "
      "mean / median / Huber / unclear | right | index below 2 claimed | interval covers |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const laws::Law& law : laws::all()) {
    for (const std::size_t n : {300U, 3000U, 30000U}) {
      const laws::Counts c = laws::judged(law, n, kFirstSeed, seeds);
      const bool power = std::isfinite(law.index);
      std::printf("| %s | %zu | %d / %d / %d | %d | %d | %d / %d / %d / %d | %d | %d | %s |\n",
                  std::string(law.name).c_str(), n, c.yes, c.no, c.unclear, c.stable, c.skewed,
                  c.mean, c.median, c.huber, c.undecided, c.right, c.claimed,
                  power ? std::to_string(c.covered).c_str() : "");
      std::fflush(stdout);
    }
  }
}

}  // namespace medgrad::bench
