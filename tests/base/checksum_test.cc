#include "base/checksum.h"

#include <gtest/gtest.h>

#include <random>

namespace medgrad::text {
namespace {

std::uint64_t checksum_of(std::string_view bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

TEST(Checksum, SeesEveryBitAndTheLength) {
  std::string bytes(101, 'x');
  std::mt19937_64 rng(1);
  for (char& c : bytes) c = static_cast<char>(rng());
  const std::uint64_t whole = checksum_of(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(checksum_of(other), whole) << bit;
  }
  for (std::size_t size = 0; size < 20; ++size)
    EXPECT_NE(checksum_of(std::string(size, '\0')), checksum_of(std::string(size + 1, '\0')));
}

TEST(Checksum, DoesNotDependOnTheCuts) {
  const std::string bytes = "The quick brown fox jumps over the lazy dog.";
  for (std::size_t step = 1; step < bytes.size(); ++step) {
    Checksum sum;
    for (std::size_t at = 0; at < bytes.size(); at += step)
      sum.add(std::string_view(bytes).substr(at, step));
    EXPECT_EQ(sum.value(), checksum_of(bytes)) << step;
    EXPECT_EQ(sum.text().size(), 16U);
  }
}

}  // namespace
}  // namespace medgrad::text
