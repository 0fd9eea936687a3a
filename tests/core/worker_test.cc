// Workers' methods: their definitions (tests/golden/make_workers.py), and what compressors promise.
#include "medgrad/worker.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;
using testing::random_vector;
using testing::same_bits;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::string> kMethods = {
    "gradient", "ema:tau=0.1", "vclip:tau=0.1", "cclip", "clipped-mean",        "ef21-top-k:k=3",
    "clip21",   "ef21-sign",   "lp:p=3:tau=1",  "huber", "ef21-random-k:k=2000"};

template <class T>
double squares(std::span<const T> x) {
  double sum = 0;
  for (const T v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum;
}

TEST(Worker, EveryMethodIsItsDefinition) {
  std::ifstream file(MEDGRAD_GOLDEN "/workers.json");
  std::size_t count = 0;
  for (const auto& one : nlohmann::json::parse(file)) {
    const auto gradients = one.at("gradients").get<std::vector<std::vector<std::vector<double>>>>();
    const std::size_t n = gradients[0].size(), d = gradients[0][0].size();
    for (const auto& want : one.at("results")) {
      const auto text = want.at("method").get<std::string>();
      SCOPED_TRACE(one.at("name").get<std::string>() + ", " + text);
      Workers<double> workers(make_worker_method(text), n, d);
      for (const auto& step : gradients) {
        std::vector<const double*> rows(n);
        std::ranges::transform(step, rows.begin(), [](const auto& row) { return row.data(); });
        workers.update(Rows<double>(rows, d));
      }
      const auto vectors = want.at("vectors").get<std::vector<std::vector<double>>>();
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < d; ++j)
          EXPECT_NEAR(workers.vectors().row(i)[j], vectors[i][j], 1e-12);
      ++count;
    }
  }
  EXPECT_EQ(count, 44U);
}

// Clip21 is the VClip update: the same bits, whatever comes in.
template <class T>
void clip21_is_vclip() {
  for (int temper = 0; temper < 4; ++temper) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(temper));
    Workers<T> workers(make_worker_method("clip21:tau=0.7"), 2, 33, NonFinite::robust);
    OnlineEstimator<T> vclip(find_online_method("vclip").make({{"tau", 0.7}}), 33,
                             {.non_finite = NonFinite::robust});
    for (int t = 0; t < 50; ++t) {
      std::vector<T> g = random_vector<T>(rng, 66, temper);
      if (t == 20) g[3] = std::numeric_limits<T>::infinity();
      if (t == 30) g[4] = std::numeric_limits<T>::quiet_NaN();
      workers.update(Rows<T>(g, 2, 33));
      vclip.update(std::span<const T>(g).first(33));
      EXPECT_TRUE(same_bits(std::span<const T>(workers.vectors().row(0), 33), vclip.estimate()));
    }
  }
}
TEST(Worker, Clip21IsVClip) {
  clip21_is_vclip<float>();
  clip21_is_vclip<double>();
}

// And so it is EF21 with the clipping compressor, to rounding: v + C(g - v).
TEST(Worker, Clip21IsErrorFeedback) {
  std::mt19937_64 rng(1);
  Workspace<double> workspace;
  std::vector<double> v(10), by_hand(10), scratch(10);
  for (int t = 0; t < 40; ++t) {
    const std::vector<double> g = random_vector<double>(rng, 10, t);
    std::vector<double> x(10);
    for (std::size_t j = 0; j < 10; ++j) x[j] = g[j] - by_hand[j];
    compress<double>(NormClip{1}, x, {}, scratch);
    EXPECT_LE(squares<double>(x), 1 + 1e-12);
    for (std::size_t j = 0; j < 10; ++j) by_hand[j] += x[j];
    worker_step<double>(Ef21{NormClip{1}}, v, g, {}, {}, workspace);
    for (std::size_t j = 0; j < 10; ++j) EXPECT_NEAR(v[j], by_hand[j], 1e-12);
  }
}

// A step of centered clipping is the mean of the clipped increments of all rows: where all workers
// share one v, it moves by the mean of what Clip21 would send.
TEST(Worker, CenteredClippingTakesAllRowsAtOnce) {
  std::mt19937_64 rng(2);
  const std::vector<double> g = random_vector<double>(rng, 28, 0);
  const std::vector<double> centre = random_vector<double>(rng, 4, 0);
  std::vector<double> moved = centre, result(4), scratch(4);
  for (std::size_t i = 0; i < 7; ++i) {
    std::vector<double> x(4);
    for (std::size_t j = 0; j < 4; ++j) x[j] = g[i * 4 + j] - centre[j];
    compress<double>(NormClip{0.5}, x, {}, scratch);
    for (std::size_t j = 0; j < 4; ++j) moved[j] += x[j] / 7;
  }
  aggregate<double>(CenteredClipping{.clip = 0.5}, Rows<double>(g, 7, 4), result,
                    {.center = centre});
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(result[j], moved[j], 1e-14);
}

TEST(Compressor, ContractiveAndAsMuchAsPromised) {
  for (int temper = 0; temper < 4; ++temper) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(10 + temper));
    for (const std::size_t d : {1U, 2U, 7U, 100U}) {
      for (const std::size_t k : {1U, 2U, 7U, 200U}) {
        const std::vector<float> x = random_vector<float>(rng, d, temper);
        std::vector<float> y = x, scratch(d), rest(d);
        compress<float>(TopK{k}, y, {}, scratch);
        std::size_t kept = 0;
        float least = 1e30F, most = 0;
        for (std::size_t j = 0; j < d; ++j) {
          EXPECT_TRUE(y[j] == 0 || y[j] == x[j]);
          if (y[j] != 0) least = std::min(least, std::abs(y[j]));
          kept += y[j] != 0 ? 1 : 0;
          rest[j] = x[j] - y[j];
          most = std::max(most, std::abs(rest[j]));
        }
        EXPECT_LE(kept, k);
        EXPECT_LE(most, least);
        const double share = static_cast<double>(std::min(k, d)) / static_cast<double>(d);
        EXPECT_LE(squares<float>(rest), (1 - share) * squares<float>(x) + 1e-5);
      }
    }
  }
}

TEST(Compressor, TiesGoToTheLowerIndex) {
  std::vector<double> x = {1, -2, 2, -2, 1, 2}, scratch(6);
  compress<double>(TopK{2}, x, {}, scratch);
  EXPECT_EQ(x, (std::vector<double>{0, -2, 2, 0, 0, 0}));
}

// Each of d entries is among k random ones in a share k/d of all turns: over 4000 turns the count
// has a standard deviation below 32, and 12 entries stay within 4.5 of them but for 1e-4.
TEST(Compressor, RandomEntriesAreUniform) {
  constexpr std::size_t kTurns = 4000, kEntries = 12, kChosen = 5;
  std::vector<int> counts(kEntries);
  std::set<std::vector<double>> seen;
  for (std::size_t t = 0; t < kTurns; ++t) {
    std::vector<double> x(kEntries, 1), scratch(kEntries);
    compress<double>(RandomK{kChosen, 3}, x, {t % 4, t / 4}, scratch);
    EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0.0), kChosen);
    for (std::size_t j = 0; j < kEntries; ++j) counts[j] += x[j] != 0 ? 1 : 0;
    seen.insert(x);
  }
  const double expected = static_cast<double>(kTurns * kChosen) / kEntries;
  for (const int count : counts) EXPECT_NEAR(count, expected, 4.5 * 32);
  EXPECT_GT(seen.size(), 700U);  // of 792 sets, each missed with probability e^-5
}

TEST(Compressor, SignsOfAnySize) {
  const double big = std::numeric_limits<double>::max();
  std::vector<double> x = {big, -big, 0, big}, scratch(4);
  compress<double>(ScaledSign{}, x, {}, scratch);
  EXPECT_EQ(x[2], 0);
  EXPECT_NEAR(x[0] / big, 0.75, 1e-15);
  EXPECT_EQ(x[1], -x[0]);
  std::vector<double> tiny = {4e-320, -4e-320};
  compress<double>(ScaledSign{}, tiny, {}, std::span(scratch).first(2));
  EXPECT_EQ(tiny, (std::vector<double>{4e-320, -4e-320}));
}

// Whoever adds up what is sent has the worker's vector, bit for bit.
template <class T>
void sent_is_enough() {
  for (const auto* text : {"ef21-top-k:k=4", "ef21-random-k:k=4", "ef21-sign"}) {
    std::mt19937_64 rng(5);
    const WorkerMethod method = make_worker_method(text);
    Workspace<T> workspace;
    std::vector<T> v(21), server(21), sent(21);
    for (std::uint64_t t = 0; t < 30; ++t) {
      const std::vector<T> g = random_vector<T>(rng, 21, static_cast<int>(t));
      worker_step<T>(method, v, g, {3, t}, {}, workspace, sent);
      for (std::size_t j = 0; j < 21; ++j) server[j] += sent[j];
      EXPECT_TRUE(same_bits(testing::view(v), testing::view(server))) << text;
    }
  }
}
TEST(Worker, WhatIsSentIsEnough) {
  sent_is_enough<float>();
  sent_is_enough<double>();
}

// With gradients that stay, error feedback arrives: EF21 sends in time what it left out.
TEST(Worker, ErrorFeedbackArrives) {
  for (const auto* text :
       {"ef21-top-k:k=1", "ef21-random-k:k=1", "ef21-sign", "clip21:tau=0.3", "gradient"}) {
    std::mt19937_64 rng(6);
    const std::vector<double> g = random_vector<double>(rng, 8, 0);
    Workers<double> workers(make_worker_method(text), 1, 8);
    for (int t = 0; t < 400; ++t) workers.update(Rows<double>(g, 1, 8));
    for (std::size_t j = 0; j < 8; ++j)
      EXPECT_NEAR(workers.vectors().row(0)[j], g[j], 1e-9) << text;
  }
}

TEST(Worker, AnythingAtAllLeavesItFinite) {
  const double big = std::numeric_limits<double>::max();
  const std::vector<double> bad = {kNaN, kInf, -kInf, big, -big, 1e300, 4e-320, 0};
  for (const std::string& text : kMethods) {
    SCOPED_TRACE(text);
    Workers<double> robust(make_worker_method(text), 2, 8, NonFinite::robust);
    std::vector<double> rows(16, 1);
    robust.update(Rows<double>(rows, 2, 8));
    const double before = robust.vectors().row(0)[0];
    for (std::size_t t = 0; t < 16; ++t) {
      for (std::size_t j = 0; j < 8; ++j) rows[j] = bad[(t * j + t) % 8];
      rows[0] = kNaN;
      robust.update(Rows<double>(rows, 2, 8));
      for (std::size_t j = 0; j < 16; ++j) EXPECT_TRUE(std::isfinite(robust.vectors().row(0)[j]));
      EXPECT_EQ(robust.vectors().row(0)[0], before);  // a NaN leaves its component as it was
    }
    Workers<double> strict(make_worker_method(text), 2, 8);
    EXPECT_THROW(strict.update(Rows<double>(rows, 2, 8)), NonFiniteInput);
    for (std::size_t j = 0; j < 16; ++j) EXPECT_EQ(strict.vectors().row(0)[j], 0);
  }
}

template <class T>
void same_for_any_threads() {
  constexpr std::size_t kLength = 100'003;
  ThreadPool pool(3);
  for (const std::string& text : kMethods) {
    Workers<T> alone(make_worker_method(text), 2, kLength),
        together(make_worker_method(text), 2, kLength);
    together.use(&pool);
    std::mt19937_64 rng(7);
    for (int t = 0; t < 2; ++t) {
      const std::vector<T> g = random_vector<T>(rng, 2 * kLength, t);
      alone.update(Rows<T>(g, 2, kLength));
      together.update(Rows<T>(g, 2, kLength));
    }
    EXPECT_TRUE(same_bits(std::span(alone.vectors().row(0), 2 * kLength),
                          std::span(together.vectors().row(0), 2 * kLength)))
        << text;
  }
}
TEST(Worker, SameForAnyThreads) {
  same_for_any_threads<float>();
  same_for_any_threads<double>();
}

TEST(Worker, GoesOnWhereItWas) {
  for (const std::string& text : kMethods) {
    std::mt19937_64 rng(8);
    Workers<double> all(make_worker_method(text), 3, 9), later(make_worker_method(text), 3, 9);
    for (int t = 0; t < 6; ++t) {
      if (t == 3) later.restore(all.vectors(), all.steps());
      const std::vector<double> g = random_vector<double>(rng, 27, t);
      all.update(Rows<double>(g, 3, 9));
      if (t >= 3) later.update(Rows<double>(g, 3, 9));
    }
    EXPECT_TRUE(
        same_bits(std::span(all.vectors().row(0), 27), std::span(later.vectors().row(0), 27)))
        << text;
  }
}

TEST(Worker, SentencesThatHelp) {
  EXPECT_EQ(message_of([] { return make_worker_method("clip12"); }),
            "'clip12' is not a worker's method. Did you mean 'clip21'?");
  EXPECT_EQ(message_of([] { return make_worker_method("ef21-top-k"); }),
            "k is missing; ef21-top-k needs it (a whole number from 1 to 1e9).");
  EXPECT_EQ(message_of([] { return make_worker_method("clip21:tau=0"); }),
            "tau is 0; it must satisfy 0 < tau < inf.");
  EXPECT_EQ(message_of([] {
              Workers<double> workers(SendGradient{}, 2, 3);
              workers.update(Rows<double>(nullptr, 1, 3));
            }),
            "1 gradient of length 3 came where there are 2 workers of length 3.");
}

TEST(Worker, EveryMethodIsDescribed) {
  std::set<std::string> lines;
  for (const auto& entry : worker_methods()) {
    ParameterValues values;
    for (const Parameter& p : entry.parameters)
      if (p.required()) values.emplace(p.name, 3);
    EXPECT_TRUE(lines.insert(describe(entry.make(values))).second) << entry.name;
  }
  EXPECT_EQ(describe(make_worker_method("ef21-top-k:k=3")), "ef21 top-k k=3");
  EXPECT_EQ(describe(make_worker_method("clip21:tau=2"), "tau"), "ef21 clip");
  WorkerMethod clip = make_worker_method("clip21");
  set_worker_tau(clip, 0.25);
  EXPECT_EQ(worker_tau(clip), 0.25);
  EXPECT_EQ(worker_tau(make_worker_method("ema:tau=0.5")), 0.5);
  EXPECT_EQ(worker_tau(SendGradient{}), 0);
}

}  // namespace
}  // namespace medgrad
