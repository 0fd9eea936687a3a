#include "dist/wire.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "dist/names.h"

namespace medgrad::dist {
namespace {

constexpr std::size_t kLanes = 8;

std::uint64_t own_checksum(const Announcement& announcement) {
  return checksum({reinterpret_cast<const std::byte*>(&announcement), offsetof(Announcement, own)});
}

std::string type_name(std::uint32_t type) { return type == 4 ? "float" : "double"; }

// "has 5 entries where the others have 6"
std::string difference(const Subject& one, const Subject& most, bool many) {
  if (one.magic != most.magic || (one.type != 4 && one.type != 8))
    return "sent what cannot be understood";
  const char* const have = many ? "have" : "has";
  if (one.type != most.type)
    return fmt::format("{} entries of type {} where the others have {}", have, type_name(one.type),
                       type_name(most.type));
  if (one.length != most.length)
    return fmt::format("{} {} where the others have {}", have,
                       counted(one.length, "entry", "entries"), most.length);
  if (one.step != most.step)
    return fmt::format("{} at step {} where the others are at {}", many ? "are" : "is", one.step,
                       most.step);
  return fmt::format("{} another rule, or other settings of it, than the others", have);
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum[kLanes] = {}, places[kLanes] = {}, words[kLanes];
  constexpr std::size_t kRow = sizeof words;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kRow; left -= kRow, at += kRow) {
    std::memcpy(words, at, kRow);
    for (std::size_t l = 0; l < kLanes; ++l) {
      sum[l] += words[l];
      places[l] += sum[l];
    }
  }
  if (left > 0) {
    std::fill_n(words, kLanes, 0);
    std::memcpy(words, at, left);
    for (std::size_t l = 0; l < kLanes; ++l) {
      sum[l] += words[l];
      places[l] += sum[l];
    }
  }
  std::uint64_t hash = bytes.size();
  for (std::size_t l = 0; l < kLanes; ++l) {
    for (const std::uint64_t word : {sum[l], places[l]}) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

void seal(Announcement& announcement) { announcement.own = own_checksum(announcement); }

Agreement agree(std::span<const Announcement> all) {
  // What most say; of as many, the first rank's word counts.
  std::size_t most = 0, said = 0;
  const auto sound = [&](const Announcement& one) {
    return one.own == own_checksum(one) && one.subject.magic == Subject{}.magic;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!sound(all[i])) continue;
    const auto count = static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const Announcement& other) {
          return sound(other) && other.subject == all[i].subject;
        }));
    if (count > said) most = i;
    said = std::max(said, count);
  }
  Agreement agreement;
  Subject odd;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (said > 0 && sound(all[i]) && all[i].subject == all[most].subject) continue;
    if (agreement.unfit.empty()) {
      odd = all[i].subject;
      if (!sound(all[i])) odd.magic = 0;
    }
    agreement.unfit.push_back(static_cast<int>(i));
  }
  if (!agreement.unfit.empty()) {
    // The first one stands for all of them.
    agreement.sentence = fmt::format("{} {}.", workers({agreement.unfit.front()}),
                                     difference(odd, all[most].subject, false));
    if (agreement.unfit.size() > 1)
      agreement.sentence += fmt::format(
          " {} do not fit either.", workers({agreement.unfit.begin() + 1, agreement.unfit.end()}));
  }
  return agreement;
}

}  // namespace medgrad::dist
