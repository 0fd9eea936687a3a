// Workers on this machine over Gloo: robust rules beside the engine's own all-reduce of the same
// vector, in turns. Prints JSON lines: what, its best milliseconds, and the ratio to the all-reduce
// (of the same round, the median of them). The first two are the all-reduce and the bare exchange:
// slices of the vectors out and as many results back, without checksums or a rule.
//
//     medgrad_workers_bench [ENTRIES [WORKERS [ROUNDS]]]
//     medgrad_workers_bench overlap RULE ENTRIES WORKERS GBIT
//     medgrad_workers_bench simulate RULE ENTRIES WORKERS
//
// Where workers share processors with the copying of their network, that is work like any other. So
// the second has workers in threads of one process, and a network that takes its time and no
// processor: medians of the milliseconds of a call (`ms`), of what its first rank waits in it
// (`waiting`), and of a call that waits for every exchange where it begins, so that nothing
// overlaps
// (`in_turn`); and what the first rank did when, exchange by exchange.
//
// The third simulates workers as threads of one process, and prints the bytes that all of them
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

// A group on a network over which a rank sends so many bytes in a millisecond, one exchange after
// the other. Knows what it waits for and when; `in_turn`, it waits where an exchange begins.
class Slow : public medgrad::dist::Communicator {
 public:
  // In milliseconds since the group was made.
  struct Exchange {
    std::size_t bytes;
    double begun, needed, there;
  };

  Slow(Communicator& group, double bytes_per_ms, bool in_turn)
      : Communicator(group.rank(), group.size()),
        group_(group),
        bytes_per_ms_(bytes_per_ms),
        in_turn_(in_turn) {}
  [[nodiscard]] std::string engine() const override { return group_.engine(); }
  [[nodiscard]] const std::vector<Exchange>& all() const { return all_; }
  [[nodiscard]] double waited() const {
    double sum = 0;
    for (const Exchange& one : all_) sum += one.there - one.needed;
    return sum;
  }
  [[nodiscard]] double now() const { return milliseconds(made_); }

 private:
  class Waiting : public medgrad::dist::Transfer::Pending {
   public:
    Waiting(medgrad::dist::Transfer transfer, Slow& group, std::size_t number)
        : transfer_(std::move(transfer)),
          group_(group),
          number_(number),
          arrives_(group.free_at_) {}
    void wait() override {
      Exchange& mine = group_.all_[number_];
      if (waited_for_) return;
      waited_for_ = true;
      mine.needed = group_.now();
      std::this_thread::sleep_for(
          std::chrono::duration<double, std::milli>(arrives_ - mine.needed));
      transfer_.wait();
      mine.there = group_.now();
    }

   private:
    medgrad::dist::Transfer transfer_;
    Slow& group_;
    std::size_t number_;
    double arrives_;
    bool waited_for_ = false;
  };

  std::unique_ptr<medgrad::dist::Transfer::Pending> exchange(
      medgrad::dist::Outgoing send, medgrad::dist::Incoming receive) override {
    std::size_t bytes = 0;
    for (std::size_t r = 0; r < send.size(); ++r)
      bytes += r == static_cast<std::size_t>(rank()) ? 0 : send[r].size();
    const double begun = now();
    free_at_ = std::max(free_at_, begun) + static_cast<double>(bytes) / bytes_per_ms_;
    all_.push_back({bytes, begun, 0, 0});
    auto pending =
        std::make_unique<Waiting>(group_.start_exchange(send, receive), *this, all_.size() - 1);
    if (in_turn_) pending->wait();
    return pending;
  }
  void sum(std::span<float> values) override { group_.all_reduce(values); }

  Communicator& group_;
  double bytes_per_ms_;
  bool in_turn_;
  double free_at_ = 0;  // when the network has sent all that was begun
  Clock::time_point made_ = Clock::now();
  std::vector<Exchange> all_;
};

// Every rank gets a slice of all vectors, in pieces, and sends as much to all for each: of its own
// vector, as nothing is made of the slices.
void exchange_alone(medgrad::dist::Communicator& group, std::span<const float> mine,
                    std::span<float> out, std::span<float> room) {
  constexpr std::size_t kPieces = 9, kAhead = 3;  // as many as aggregate() makes of 5 M entries
  const auto n = static_cast<std::size_t>(group.size()),
             me = static_cast<std::size_t>(group.rank());
  const auto begin = [&](std::size_t k, std::size_t r) {
    return (k * n + r) * mine.size() / (kPieces * n);
  };
  const std::size_t longest = room.size() / (kAhead * n);
  std::vector<medgrad::dist::Transfer> coming(kPieces), back(kPieces);
  const auto send = [&](std::size_t k) {
    std::vector<std::span<const std::byte>> sent(n);
    std::vector<std::span<std::byte>> received(n);
    for (std::size_t r = 0; r < n; ++r) {
      sent[r] = std::as_bytes(mine.subspan(begin(k, r), begin(k, r + 1) - begin(k, r)));
      received[r] = std::as_writable_bytes(
          room.subspan((k % kAhead * n + r) * longest, begin(k, me + 1) - begin(k, me)));
    }
    coming[k] = group.start_exchange(sent, received);
  };
  for (std::size_t k = 0; k + 1 < kAhead; ++k) send(k);
  for (std::size_t k = 0; k < kPieces; ++k) {
    coming[k].wait();
    if (k + kAhead - 1 < kPieces) send(k + kAhead - 1);
    const std::vector<std::span<const std::byte>> sent(
        n, std::as_bytes(mine.subspan(begin(k, me), begin(k, me + 1) - begin(k, me))));
    std::vector<std::span<std::byte>> received(n);
    for (std::size_t r = 0; r < n; ++r)
      received[r] = std::as_writable_bytes(out.subspan(begin(k, r), begin(k, r + 1) - begin(k, r)));
    back[k] = group.start_exchange(sent, received);
  }
  for (medgrad::dist::Transfer& one : back) one.wait();
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
  std::vector<double> reduced, exchanged, exchanged_ratios;
  std::vector<float> room(3 * (d / 9 + 4 * static_cast<std::size_t>(group.size())));
  for (int round = 0; round < rounds + 1; ++round) {
    std::copy(mine.begin(), mine.end(), sum.begin());
    group.barrier();
    auto begin = Clock::now();
    group.all_reduce(sum);
    group.barrier();
    const double plain = milliseconds(begin);
    group.barrier();
    begin = Clock::now();
    exchange_alone(group, mine, out, room);
    group.barrier();
    if (round > 0) {
      reduced.push_back(plain);
      exchanged.push_back(milliseconds(begin));
      exchanged_ratios.push_back(exchanged.back() / plain);
    }
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
  text +=
      fmt::format("{{\"what\": \"the exchange alone\", \"ms\": {:.2f}, \"ratio\": {:.3f}}}\n",
                  *std::min_element(exchanged.begin(), exchanged.end()), median(exchanged_ratios));
  for (const Row& row : rows)
    text += fmt::format("{{\"what\": \"{}{}\", \"ms\": {:.2f}, \"ratio\": {:.3f}}}\n", row.rule,
                        row.report ? ", report" : "",
                        *std::min_element(row.times.begin(), row.times.end()), median(row.ratios));
  return text;
}

int overlap(const medgrad::Rule& rule, std::size_t d, std::size_t n, double gigabits) {
  constexpr int kRounds = 9;
  std::vector<double> times, waiting, in_turn;
  std::vector<Slow::Exchange> last;
  const auto ranks = medgrad::dist::make_threads(static_cast<int>(n));
  std::vector<std::thread> threads;
  for (const auto& rank : ranks)
    threads.emplace_back([&, group = rank.get()] {
      std::vector<float> mine(d), out(d);
      for (std::size_t j = 0; j < d; ++j)
        mine[j] = static_cast<float>((j * 7 + static_cast<std::size_t>(group->rank()) * 13) % 101);
      for (int round = 0; round < 2 * kRounds + 2; ++round) {
        Slow slow(*group, gigabits * 1e6 / 8, round % 2 == 1);
        group->barrier();
        const double begin = slow.now();
        (void)medgrad::dist::aggregate<float>(slow, rule, mine, out, {});
        const double took = slow.now() - begin;
        if (group->rank() != 0 || round < 2) continue;  // the first ones warm up
        (round % 2 == 0 ? times : in_turn).push_back(took);
        if (round % 2 == 0) waiting.push_back(slow.waited());
        if (round % 2 == 0) last = slow.all();
      }
    });
  for (std::thread& one : threads) one.join();
  fmt::print(
      "{{\"what\": \"{}\", \"ms\": {:.2f}, \"waiting\": {:.2f}, \"in_turn\": {:.2f}, "
      "\"network\": {:.2f}}}\n",
      medgrad::describe(rule), median(times), median(waiting), median(in_turn),
      static_cast<double>(ranks.front()->traffic().sent) / (2 * kRounds + 2) /
          (gigabits * 1e6 / 8));
  for (const Slow::Exchange& one : last)
    fmt::print("{{\"bytes\": {}, \"begun\": {:.2f}, \"needed\": {:.2f}, \"there\": {:.2f}}}\n",
               one.bytes, one.begun, one.needed, one.there);
  return 0;
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
  if (argc == 6 && std::string(argv[1]) == "overlap")
    return overlap(medgrad::make_rule(argv[2]), std::strtoull(argv[3], nullptr, 10),
                   std::strtoull(argv[4], nullptr, 10), std::strtod(argv[5], nullptr));
  const std::size_t d = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5'000'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 4, rounds = argc > 3 ? std::atoi(argv[3]) : 9;
  for (const std::string& said : medgrad::processes_test::with_gloo(
           workers, [&](medgrad::dist::Communicator& group) { return measure(group, d, rounds); },
           std::chrono::minutes(2)))
    std::printf("%s", said.c_str());
}
