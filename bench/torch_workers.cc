// Workers on this machine over Gloo: robust rules beside the engine's own all-reduce of the same
// vector, in turns. Prints JSON lines: what, its best milliseconds, and the ratio to the all-reduce
// (of the same round, the median of them).
//
//     medgrad_workers_bench [ENTRIES [WORKERS [ROUNDS]]]
#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "medgrad/dist/aggregate.h"
#include "medgrad/registry.h"
#include "processes/processes.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

std::string measure(medgrad::dist::Communicator& group, std::size_t d, int rounds) {
  std::vector<float> mine(d), sum(d), out(d);
  for (std::size_t j = 0; j < d; ++j)
    mine[j] = static_cast<float>(
                  (j * 2654435761U + static_cast<std::size_t>(group.rank()) * 40503U) % 1000) /
              1000;
  struct Row {
    const char* rule;
    bool report;
    std::vector<double> times = {}, ratios = {};
  };
  std::vector<Row> rows = {{"mean", false},
                           {"median", false},
                           {"median", true},
                           {"geometric-median", false},
                           {"geometric-median", true},
                           {"krum:f=0", false}};
  std::vector<double> reduced;
  for (int round = 0; round < rounds + 1; ++round) {
    std::copy(mine.begin(), mine.end(), sum.begin());
    group.barrier();
    auto begin = Clock::now();
    group.all_reduce(sum);
    group.barrier();
    const double plain = milliseconds(begin);
    if (round > 0) reduced.push_back(plain);
    for (Row& row : rows) {
      std::vector<medgrad::dist::WorkerReport> report;
      const medgrad::Rule rule = medgrad::make_rule(row.rule);
      group.barrier();
      begin = Clock::now();
      (void)medgrad::dist::aggregate<float>(
          group, rule, mine, out,
          {.step = static_cast<std::uint64_t>(round), .report = row.report ? &report : nullptr});
      group.barrier();
      if (round == 0) continue;  // the first one warms up
      row.times.push_back(milliseconds(begin));
      row.ratios.push_back(row.times.back() / plain);
    }
  }
  if (group.rank() != 0) return "";
  std::string text = fmt::format("{{\"what\": \"all-reduce\", \"ms\": {:.2f}, \"ratio\": 1}}\n",
                                 *std::min_element(reduced.begin(), reduced.end()));
  for (const Row& row : rows)
    text += fmt::format("{{\"what\": \"{}{}\", \"ms\": {:.2f}, \"ratio\": {:.3f}}}\n", row.rule,
                        row.report ? ", report" : "",
                        *std::min_element(row.times.begin(), row.times.end()), median(row.ratios));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t d = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5'000'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 4, rounds = argc > 3 ? std::atoi(argv[3]) : 9;
  for (const std::string& said : medgrad::processes_test::with_gloo(
           workers, [&](medgrad::dist::Communicator& group) { return measure(group, d, rounds); },
           std::chrono::minutes(2)))
    std::printf("%s", said.c_str());
}
