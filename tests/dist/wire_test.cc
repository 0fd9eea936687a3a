// What is on the wire, and who works on what.
#include "dist/wire.h"

#include <gtest/gtest.h>

#include <random>

#include "dist/deal.h"
#include "dist/watch.h"

namespace medgrad::dist {
namespace {

TEST(Wire, AnyChangeOfAWordShows) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1u, 7u, 8u, 63u, 64u, 65u, 1000u}) {
    std::vector<std::byte> bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const std::uint64_t before = checksum(bytes);
    for (std::size_t at = 0; at < size; ++at) {
      bytes[at] ^= std::byte{0x10};
      EXPECT_NE(checksum(bytes), before);
      bytes[at] ^= std::byte{0x10};
    }
    EXPECT_EQ(checksum(bytes), before);
    EXPECT_NE(checksum(std::span(bytes).first(size - 1)), before);
  }
  std::vector<std::uint64_t> words(64);
  for (std::uint64_t& w : words) w = random();
  const std::uint64_t before = checksum(std::as_bytes(std::span(words)));
  std::swap(words[3], words[11]);  // of one lane
  EXPECT_NE(checksum(std::as_bytes(std::span(words))), before);
}

TEST(Wire, GarbageIsNoAnnouncement) {
  std::vector<Announcement> all(4);
  for (Announcement& one : all) {
    one.subject.type = 4;
    seal(one);
  }
  EXPECT_TRUE(agree(all).unfit.empty());
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Announcement> bad = all;
    for (std::size_t at = 0; at < sizeof(Announcement); ++at)
      reinterpret_cast<unsigned char*>(&bad[1])[at] = static_cast<unsigned char>(random());
    const Agreement agreement = agree(bad);
    EXPECT_EQ(agreement.unfit, std::vector<int>{1});
    EXPECT_EQ(agreement.sentence, "Worker 1 sent what cannot be understood.");
  }
  for (Announcement& one : all) one.own ^= 1;
  EXPECT_EQ(agree(all).unfit.size(), 4u);
}

// What was changed on the way is missing, not wrong.
TEST(Wire, DamageIsMissing) {
  const std::size_t n = 3, d = 10;
  std::vector<float> rows(n * d, 1.0f);
  std::vector<Announcement> announced(n);
  for (std::size_t i = 0; i < n; ++i)
    announced[i].checksums[5] = checksum(std::as_bytes(std::span(rows).subspan(i * d, d)));
  rows[d + 4] = 1.25f;
  Watch<float> watch(n, NonFinite::robust, 8);
  watch.inspect({.first = rows.data(), .length = d, .stride = d}, 0, 5, announced);
  for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_EQ(std::isnan(rows[k]), k / d == 1);
}

TEST(Deal, GivesEveryoneAsMuch) {
  for (const std::size_t d : {0u, 1u, 100u, 5000u, 1u << 20, 5'000'000u}) {
    for (const std::size_t cell : {1u, 256u, 19712u}) {
      for (const int ranks : {1, 2, 3, 8, 20}) {
        const Deal deal = Deal::evenly(d, cell, ranks);
        ASSERT_LE(deal.pieces(), kMostPieces);
        std::size_t at = 0, least = d, most = 0;
        for (std::size_t k = 0; k < deal.pieces(); ++k) {
          for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
            ASSERT_EQ(deal.begin(k, r), at);
            ASSERT_TRUE(deal.begin(k, r) % cell == 0 || deal.length(k, r) == 0);
            at = deal.end(k, r);
          }
        }
        ASSERT_EQ(at, d);
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
          least = std::min(least, deal.columns_of(r));
          most = std::max(most, deal.columns_of(r));
        }
        EXPECT_LE(most - least, 2 * cell) << d << " " << cell << " " << ranks;
      }
    }
  }
}

TEST(Length, TakesAnySize) {
  Length length;
  for (const double x : {3e300, 4e300, 0.0, 1e-300}) length.add(x);
  EXPECT_DOUBLE_EQ(length.value(), 5e300);
  Length small;
  for (const double x : {3e-300, 4e-300}) small.add(x);
  EXPECT_DOUBLE_EQ(small.value(), 5e-300);
  EXPECT_EQ(Length().value(), 0);
}

}  // namespace
}  // namespace medgrad::dist
