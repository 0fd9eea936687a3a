// What a rank says to another before data: what it is about, and the checksums of what will come.
//
// Everything is little-endian as in memory (c10d and MPI do not convert either). A message that
// comes from another program, version or machine is recognised by its first bytes and refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace medgrad::dist {

inline constexpr std::size_t kMostPieces = 64;

// What has to be the same for all ranks.
struct Subject {
  std::uint32_t magic = 0x6d64'6701;  // and the version of all this
  std::uint32_t type = 0;             // bytes of an entry: 4 float, 8 double
  std::uint64_t length = 0;           // of the vectors
  std::uint64_t step = 0;
  std::uint64_t rule = 0;  // a digest of rule, options and centre
  bool operator==(const Subject&) const = default;
};

struct Announcement {
  Subject subject;
  double seconds = 0;
  std::uint64_t word = 0;
  std::array<std::uint64_t, kMostPieces> checksums = {};  // of the pieces for the one who reads it
  std::uint64_t own = 0;                                  // the checksum of what is above
};
static_assert(sizeof(Announcement) == 32 + 16 + 8 * kMostPieces + 8);

// Fast enough for every byte that is sent. Sums over eight lanes of 64-bit words, and sums of those
// sums, so that places count: a change of a single word always shows. It finds damage, not an
// attacker.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes);

void seal(Announcement& announcement);

// Which ranks say something else than most do, or nothing that can be understood.
struct Agreement {
  std::vector<int> unfit;
  std::string sentence;  // about them
};
[[nodiscard]] Agreement agree(std::span<const Announcement> all);

}  // namespace medgrad::dist
