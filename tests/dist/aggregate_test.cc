// Aggregation over threads: the bits of one process, the traffic, and what is said of whom.
#include "medgrad/dist/aggregate.h"

#include <gtest/gtest.h>

#include <atomic>

#include "dist/on_all_ranks.h"

namespace medgrad {
namespace {

using dist::Communicator;
using dist::Topology;
using dist_test::in_threads;
using dist_test::vectors;

const std::string kFine;

// In threads, all of them on all ranks.
template <class T>
void expect_equal(const std::vector<std::vector<T>>& x) {
  const auto all = dist_test::all_wanted(x);
  for (const std::string& said : in_threads(static_cast<int>(x.size()), [&](Communicator& group) {
         return dist_test::differences(group, all, x);
       }))
    EXPECT_EQ(said, kFine);
}

TEST(Dist, HasTheBitsOfOneProcess) {
  for (const std::size_t n : {1, 2, 5}) expect_equal(vectors<float>(n, 16384 * 3 + 777, 7, false));
  expect_equal(vectors<float>(8, 16384 + 777, 7, false));
}

TEST(Dist, HasThemForAnyLength) {
  for (const std::size_t d : {0, 1, 2, 7, 255, 257, 16384})
    expect_equal(vectors<double>(3, d, 9, false));
}

TEST(Dist, HasThemWithHoles) { expect_equal(vectors<float>(5, 33000, 11, true)); }

template <class T>
void expect_equal(const std::string& text, const std::vector<std::vector<T>>& x,
                  dist::Options<T> options = {}) {
  const auto want = dist_test::wanted(make_rule(text), x, options);
  for (const std::string& said : in_threads(static_cast<int>(x.size()), [&](Communicator& group) {
         return dist_test::difference(group, want, x);
       }))
    EXPECT_EQ(said, kFine);
}

// Vectors that travel in several pieces; the result may take the place of the vector.
TEST(Dist, HasThemInPieces) {
  const auto x = vectors<float>(2, (std::size_t{5} << 18) / 2 + 777, 13, true);
  for (const char* const text : {"median", "geometric-median", "nnm:f=0+trimmed-mean:f=0"}) {
    expect_equal(text, x);
    const auto want = dist_test::wanted(make_rule(text), x, dist::Options<float>{});
    for (const std::string& said : in_threads(2, [&](Communicator& group) -> std::string {
           std::vector<float> mine = x[static_cast<std::size_t>(group.rank())];
           (void)dist::aggregate<float>(group, want.rule, mine, mine);
           return testing::same_bits<float>(mine, want.out) ? "" : "another result";
         }))
      EXPECT_EQ(said, kFine) << text;
  }
}

// An engine that has an all-to-all and nothing else.
class Simple : public dist::Packing {
 public:
  explicit Simple(Communicator& group) : Packing(group.rank(), group.size()), group_(group) {}
  [[nodiscard]] std::string engine() const override { return "simple"; }

 private:
  class Waiting : public dist::Transfer::Pending {
   public:
    explicit Waiting(dist::Transfer transfer) : transfer_(std::move(transfer)) {}
    void wait() override { transfer_.wait(); }

   private:
    dist::Transfer transfer_;
  };
  std::unique_ptr<dist::Transfer::Pending> all_to_all(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) override {
    return std::make_unique<Waiting>(
        group_.start_all_to_all(send, send_sizes, receive, receive_sizes));
  }
  void sum(std::span<float> values) override { group_.all_reduce(values); }

  Communicator& group_;
};

TEST(Dist, HasThemOnAnEngineOfLittle) {
  const auto x = vectors<float>(3, (std::size_t{7} << 17) + 777, 15, false);
  for (const char* const text : {"median", "geometric-median", "lp-median:p=3"}) {
    const auto want = dist_test::wanted(make_rule(text), x, dist::Options<float>{});
    for (const std::string& said : in_threads(3, [&](Communicator& group) {
           Simple simple(group);
           return dist_test::difference(simple, want, x);
         }))
      EXPECT_EQ(said, kFine);
  }
}

// More than 32 rows: the Gram matrix is made in parts of chunks.
TEST(Dist, HasThemForManyWorkers) {
  const auto x = vectors<float>(34, 16384 + 700, 5, false);
  for (const char* const text : {"krum:f=5", "geometric-median", "nnm:f=7+median", "median",
                                 "centered-clipping:clip=50:iterations=2"})
    expect_equal(text, x);
}

// Numbers whose squares overflow or vanish, rows that are equal, or on a line, or nearly so.
TEST(Dist, HasThemForOddData) {
  const std::size_t n = 5, d = 18000;
  const auto base = vectors<double>(n, d, 3, false);
  std::vector<std::vector<std::vector<double>>> odd(6, base);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      odd[0][i][j] *= i == 1 ? 1e200 : 1;
      odd[1][i][j] *= 1e-200;
      odd[2][i][j] = base[i / 2][j];
      odd[3][i][j] = base[0][j];
      odd[4][i][j] = static_cast<double>(i) * base[0][j];
      odd[5][i][j] = static_cast<double>(i) * (base[0][j] + 1e-9 * base[1][j]);
    }
  }
  const std::vector<double> centre(d, 0.25);
  for (std::size_t which = 0; which < odd.size(); ++which) {
    SCOPED_TRACE(which);
    for (const char* const text :
         {"geometric-median", "huber-location", "krum", "centered-clipping:clip=2:iterations=2",
          "clipped-mean", "arc+median", "median-of-means", "caf"}) {
      dist::Options<double> options;
      if (takes_center(make_rule(text))) options.center = centre;
      expect_equal(text, odd[which], options);
    }
  }
}

// Rows next to the origin and to each other, far from the others: distances are taken from the
// data.
TEST(Dist, HasThemForRowsFarFromTheBulk) {
  const std::size_t n = 6, d = 18000;
  auto x = vectors<double>(n, d, 4, false);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i < 4; ++i) x[i][j] += 1e7;
    x[5][j] = x[4][j] + 1e-3 * x[5][j];
  }
  const std::vector<double> centre(d, 0.25);
  for (const char* const text :
       {"krum:f=1:neighbours=1", "multi-krum:f=1:neighbours=1:select=2", "clip:clip=2+mean",
        "centered-clipping:clip=2:iterations=3", "clip:clip=2+krum:f=1", "clip:clip=2+median",
        "clip:clip=2+geometric-median", "arc:f=1+clip:clip=2+nnm:f=1+trimmed-mean:f=1"}) {
    SCOPED_TRACE(text);
    expect_equal(text, x);
    if (takes_center(make_rule(text))) expect_equal(text, x, {.center = centre});
  }
}

TEST(Dist, TakesWeights) {
  const auto x = vectors<double>(4, 17000, 8, false);
  const std::vector<double> weights = {1, 2.5, 0.5, 1e-3};
  for (const char* const text : {"mean", "median", "geometric-median", "clipped-mean"})
    expect_equal(text, x, {.weights = weights});
}

// Vectors long enough to travel in several pieces, of which inner products are summed up as they
// come.
TEST(Dist, HasTheBitsOfOneProcessInManyPieces) {
  const auto x = vectors<float>(4, (std::size_t{1} << 19) + 777, 3, true);
  std::vector<float> center(x[0].size(), 0.25f);
  for (const char* const text : {"geometric-median", "huber-location", "krum:f=0", "nnm:f=1+median",
                                 "nnm:f=1+geometric-median", "clip+mean"})
    expect_equal(text, x, {});
  expect_equal("centered-clipping", x, {.center = center});
}

TEST(Dist, SendsTwiceTheVector) {
  const std::size_t d = 1 << 20;
  for (const int n : {2, 7}) {
    const auto x = vectors<float>(static_cast<std::size_t>(n), d, 2, false);
    for (const char* const text : {"median", "geometric-median", "krum:f=0", "nnm:f=0+median"}) {
      if (n == 2 && std::string(text) == "krum:f=0") continue;
      for (const std::string& said : in_threads(n, [&](Communicator& group) -> std::string {
             std::vector<float> out(d);
             std::vector<dist::WorkerReport> report;
             (void)dist::aggregate<float>(group, make_rule(text),
                                          x[static_cast<std::size_t>(group.rank())], out,
                                          {.report = &report});
             const double words = 4.0 * static_cast<double>(d);
             const double most =
                 static_cast<double>(std::max(group.traffic().sent, group.traffic().received));
             return most <= 2.1 * words ? "" : text + std::to_string(most / words);
           }))
        EXPECT_EQ(said, kFine);
    }
  }
}

// docs/distributed.md has the formula.
TEST(Dist, SendsWhatTheModelSays) {
  const std::size_t d = 30000;
  for (const std::size_t n : {3, 40}) {
    const auto x = vectors<float>(n, d, 2, false);
    std::atomic<std::uint64_t> sent = 0;
    (void)in_threads(static_cast<int>(n), [&](Communicator& group) -> std::string {
      std::vector<float> out(d);
      (void)dist::aggregate<float>(group, Median{}, x[static_cast<std::size_t>(group.rank())], out);
      sent += group.traffic().sent;
      return "";
    });
    const std::size_t known = n <= 32 ? 80 + 56 * n : 80 + 2 * 56;
    EXPECT_EQ(sent.load(), 2 * (n - 1) * d * 4 + n * (n - 1) * (568 + known));
  }
}

TEST(Dist, NamesWhoDoesNotFit) {
  const auto said_by = [](const auto& change) {
    return in_threads(4, [&](Communicator& group) -> std::string {
      std::size_t d = 100;
      dist::Options<float> options;
      Rule rule = Median{};
      if (group.rank() == 2) change(d, options, rule);
      std::vector<float> mine(d), out(d);
      try {
        (void)dist::aggregate<float>(group, rule, mine, out, options);
      } catch (const dist::Unfit& unfit) {
        EXPECT_EQ(unfit.ranks(), std::vector<int>{2});
        group.barrier();  // the group is as good as before
        return unfit.what();
      }
      return "it fits";
    });
  };
  using Strings = std::vector<std::string>;
  const auto four = [](const std::string& text) { return Strings(4, text); };
  EXPECT_EQ(said_by([](std::size_t& d, auto&, auto&) { d = 99; }),
            four("Worker 2 has 99 entries where the others have 100."));
  EXPECT_EQ(said_by([](std::size_t&, auto& options, auto&) { options.step = 7; }),
            four("Worker 2 is at step 7 where the others are at 0."));
  EXPECT_EQ(said_by([](std::size_t&, auto&, auto& rule) { rule = Mean{}; }),
            four("Worker 2 has another rule, or other settings of it, than the others."));
}

TEST(Dist, RefusesAlikeEverywhere) {
  const auto refused = [](float bad, NonFinite policy, bool all) {
    return in_threads(3, [=](Communicator& group) -> std::string {
      std::vector<float> mine(50000, 1.0f), out(50000);
      if (all || group.rank() == 1) mine[40000] = mine[49000] = bad;
      (void)dist::aggregate<float>(group, Median{}, mine, out, {.non_finite = policy});
      return "accepted";
    });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string& said : refused(nan, NonFinite::reject, false))
    EXPECT_EQ(said,
              "The entry in row 2, column 40001 is not a number; entries must be finite unless the "
              "policy for non-finite ones is robust.");
  for (const std::string& said : refused(nan, NonFinite::robust, true))
    EXPECT_EQ(said, "Column 40001 has no observation: it is not a number in every row.");
  for (const std::string& said : refused(nan, NonFinite::robust, false))
    EXPECT_EQ(said, "accepted");
}

TEST(Dist, BlamesTheLiar) {
  const auto x = vectors<float>(5, 20000, 4, false);
  for (const char* const text : {"median", "krum", "geometric-median", "nnm+trimmed-mean"}) {
    (void)in_threads(5, [&](Communicator& group) -> std::string {
      std::vector<float> out(20000);
      std::vector<dist::WorkerReport> report;
      (void)dist::aggregate<float>(group, make_rule(text),
                                   x[static_cast<std::size_t>(group.rank())], out,
                                   {.seconds = 1.0 + group.rank(), .report = &report});
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_GT(report[4].row.distance, 10 * report[i].row.distance);
        EXPECT_LE(report[4].row.weight, report[i].row.weight) << text;
        EXPECT_EQ(report[i].seconds, 1.0 + static_cast<double>(i));
        EXPECT_EQ(report[i].damaged, 0u);
      }
      return {};
    });
  }
}

// An entry is missing in the columns of one rank only: all of them have to notice.
TEST(Dist, SaysOfRowsWhatOneProcessSays) {
  auto x = vectors<float>(4, 40000, 6, false);
  x[1][3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> all;
  for (const auto& row : x) all.insert(all.end(), row.begin(), row.end());
  for (const char* const text : {"geometric-median", "huber-location", "clipped-mean"}) {
    SCOPED_TRACE(text);
    std::vector<float> want(40000);
    std::vector<RowReport> rows;
    (void)aggregate<float>(make_rule(text), Rows<float>(all, 4, 40000), want,
                           {.non_finite = NonFinite::robust, .report = &rows});
    (void)in_threads(4, [&](Communicator& group) -> std::string {
      std::vector<float> out(40000);
      std::vector<dist::WorkerReport> report;
      (void)dist::aggregate<float>(group, make_rule(text),
                                   x[static_cast<std::size_t>(group.rank())], out,
                                   {.non_finite = NonFinite::robust, .report = &report});
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(report[i].row.distance, rows[i].distance);
        EXPECT_EQ(report[i].row.weight, rows[i].weight);
        EXPECT_EQ(report[i].row.nan, i == 1 ? 1u : 0u);
      }
      return {};
    });
  }
}

TEST(Dist, LosesWhoIsGoneOrLate) {
  // Rank 1 leaves; the others are told.
  for (const bool stays : {false, true}) {
    const std::vector<std::string> said = in_threads(
        3,
        [&](Communicator& group) -> std::string {
          std::vector<float> mine(1000, 1.0f), out(1000);
          if (group.rank() == 1) {
            if (stays) {
              try {
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                group.barrier();
              } catch (const dist::Lost&) {
              }
            }
            return "done";
          }
          (void)dist::aggregate<float>(group, Median{}, mine, out);
          return "aggregated";
        },
        std::chrono::milliseconds(stays ? 50 : 60000));
    for (const std::size_t r : {0u, 2u}) {
      // Whoever has lost somebody leaves, and may be missed by the last one too.
      EXPECT_EQ(said[r].substr(0, 6), "Worker") << said[r];
      EXPECT_TRUE(stays || said[r].find('1') != std::string::npos) << said[r];
    }
  }
}

}  // namespace
}  // namespace medgrad
