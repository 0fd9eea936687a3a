// Workers on this machine over Gloo: robust rules beside the engine's own all-reduce of the same
// vector, in turns. Prints JSON lines: what, its best milliseconds, and the ratio to the all-reduce
// (of the same round, the median of them); of the same work, medians over the rounds: how long a
// rank waits for others in it (`waiting`), and how long it takes where every exchange is waited for
// at once, so that nothing overlaps (`in_turn`).
//
//     medgrad_workers_bench [ENTRIES [WORKERS [ROUNDS]]]
//     medgrad_workers_bench simulate RULE ENTRIES WORKERS
//
// The second simulates workers as threads of one process, and prints the bytes that all of them
// send together, beside what docs/distributed.md predicts for rules that take every column by
// itself.
#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "medgrad/dist/aggregate.h"
#include "medgrad/registry.h"
#include "medgrad/torch/runtime.h"
#include "processes/processes.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// Knows how long it waits; `in_turn`, it waits where an exchange begins.
class Timed : public medgrad::dist::Communicator {
 public:
  Timed(Communicator& group, bool in_turn)
      : Communicator(group.rank(), group.size()), group_(group), in_turn_(in_turn) {}
  [[nodiscard]] std::string engine() const override { return group_.engine(); }
  [[nodiscard]] double waited() const { return waited_; }

 private:
  class Waiting : public medgrad::dist::Transfer::Pending {
   public:
    Waiting(medgrad::dist::Transfer transfer, double& waited)
        : transfer_(std::move(transfer)), waited_(waited) {}
    void wait() override {
      const auto begin = Clock::now();
      transfer_.wait();
      waited_ += milliseconds(begin);
    }

   private:
    medgrad::dist::Transfer transfer_;
    double& waited_;
  };

  std::unique_ptr<medgrad::dist::Transfer::Pending> exchange(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) override {
    auto pending = std::make_unique<Waiting>(
        group_.start_all_to_all(send, send_sizes, receive, receive_sizes), waited_);
    if (in_turn_) pending->wait();
    return pending;
  }
  void sum(std::span<float> values) override { group_.all_reduce(values); }

  Communicator& group_;
  bool in_turn_;
  double waited_ = 0;
};

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
    std::vector<double> times = {}, ratios = {}, waiting = {}, in_turn = {};
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
      for (const bool in_turn : {false, true}) {
        Timed timed(group, in_turn);
        group.barrier();
        begin = Clock::now();
        (void)medgrad::dist::aggregate<float>(timed, rule, mine, out, {});
        if (!in_turn) row.waiting.push_back(timed.waited());
        group.barrier();
        if (in_turn) row.in_turn.push_back(milliseconds(begin));
      }
    }
  }
  if (group.rank() != 0) return "";
  std::string text = fmt::format("{{\"what\": \"all-reduce\", \"ms\": {:.2f}, \"ratio\": 1}}\n",
                                 *std::min_element(reduced.begin(), reduced.end()));
  for (const Row& row : rows)
    text += fmt::format(
        "{{\"what\": \"{}{}\", \"ms\": {:.2f}, \"ratio\": {:.3f}, \"median\": {:.2f}, "
        "\"waiting\": {:.2f}, \"in_turn\": {:.2f}}}\n",
        row.rule, row.report ? ", report" : "",
        *std::min_element(row.times.begin(), row.times.end()), median(row.ratios),
        median(row.times), median(row.waiting), median(row.in_turn));
  return text;
}

int simulate(const medgrad::Rule& rule, std::size_t d, std::size_t n) {
  const auto ranks = medgrad::dist::make_threads(static_cast<int>(n));
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  for (const auto& rank : ranks)
    threads.emplace_back([&, group = rank.get()] {
      std::vector<float> mine(d), out(d);
      for (std::size_t j = 0; j < d; ++j)
        mine[j] = static_cast<float>((j * 7 + static_cast<std::size_t>(group->rank()) * 13) % 101);
      (void)medgrad::dist::aggregate<float>(*group, rule, mine, out, {});
    });
  for (std::thread& one : threads) one.join();
  const double seconds = milliseconds(begin) / 1000;
  std::uint64_t sent = 0;
  for (const auto& rank : ranks) sent += rank->traffic().sent;
  const double words = 2.0 * static_cast<double>(n - 1) * static_cast<double>(d) * 4;
  const double known = n <= 32 ? 80 + 56 * static_cast<double>(n) : 80 + 2 * 56;
  const double predicted = words + static_cast<double>(n * (n - 1)) * (568 + known);
  fmt::print(
      "{{\"workers\": {}, \"entries\": {}, \"sent\": {}, \"predicted\": {}, \"seconds\": "
      "{:.2f}}}\n",
      n, d, sent, static_cast<std::uint64_t>(predicted), seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  medgrad::libtorch::keep_memory();  // as programs that train do
  if (argc == 5 && std::string(argv[1]) == "simulate")
    return simulate(medgrad::make_rule(argv[2]), std::strtoull(argv[3], nullptr, 10),
                    std::strtoull(argv[4], nullptr, 10));
  const std::size_t d = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5'000'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 4, rounds = argc > 3 ? std::atoi(argv[3]) : 9;
  for (const std::string& said : medgrad::processes_test::with_gloo(
           workers, [&](medgrad::dist::Communicator& group) { return measure(group, d, rounds); },
           std::chrono::minutes(2)))
    std::printf("%s", said.c_str());
}
