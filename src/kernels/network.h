// Sorting networks: Batcher's odd-even merge sort for any n, cut down to the outputs that are
// wanted.
//
// A network does the same comparisons whatever the data, so that one comparator works on a whole
// vector of columns at once, without branches. For a median most of the last stages are not needed:
// pruning walks back from the wanted outputs and keeps what reaches them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace medgrad::kernels {

// (low, high) <- (min, max) of the two; an output that nobody reads is not computed.
struct Comparator {
  std::uint16_t low = 0, high = 0;
  bool keep_low = true, keep_high = true;
};

// Calls visit(low, high) for every comparator of the full sort of n, in order (Knuth, TAOCP 3,
// algorithm 5.2.2M).
template <class Visit>
constexpr void visit_sort_network(std::size_t n, Visit&& visit) {
  for (std::size_t p = 1; p < n; p *= 2) {
    for (std::size_t k = p; k >= 1; k /= 2) {
      for (std::size_t j = k % p; j + k < n; j += 2 * k) {
        for (std::size_t i = j; i < std::min(j + k, n - k); ++i) {
          if (i / (2 * p) == (i + k) / (2 * p)) visit(i, i + k);
        }
      }
    }
  }
}

// Keeps of all[0, count) the comparators that the wanted outputs depend on, in order;
// returns how many.
constexpr std::size_t prune_network(Comparator* all, std::size_t count, bool* wanted) {
  std::size_t kept = count;
  for (std::size_t c = count; c-- > 0;) {
    Comparator comparator = all[c];
    comparator.keep_low = wanted[comparator.low];
    comparator.keep_high = wanted[comparator.high];
    if (!comparator.keep_low && !comparator.keep_high) continue;
    wanted[comparator.low] = wanted[comparator.high] = true;
    all[--kept] = comparator;
  }
  for (std::size_t c = kept; c < count; ++c) all[c - kept] = all[c];
  return count - kept;
}

// Medians of few rows with up to a quarter fewer operations than Batcher's sort leaves: found by
// changing networks at random while all inputs of zeros and ones come out right, which a test
// repeats (select_test.cc). Two letters are a comparator, lines counted from a.
inline constexpr std::string_view kFoundMedians[] = {
    "",
    "",
    "",
    "",
    "",
    "bdacabcdbccebc",
    "",
    "fgceefbdcdceabaebfbedgdebd",
    "",
    "cdghabagbhdhefbfbdegcgfgacdfbccedeeide",
    "abijgicdfjbdehfhacbicjefdjcfagfibeefdhdgcddefgef",
    "cfghaeehdjbkagbefjcdejfkdgbdeiafceefikgidefhfgegef",
    "ehfgijklikabbheffkcddgacjlbdcfdlghfkfjeigjdkaicidgbffigidffg",
    "adjlbcimlmabehfgghijaiefeicdflhmcffldlcifjikbggjbffgdhgkfigidggi",
    "efcdghbjimabbdfhacijegkmfgknbccgjnbfhndhaedfemcjbiikjlcejkfldiejfmfjgkgiijfggihi",
    ("jlikmoijmnimklghkocdeffhabaclnbdjlkmegloakeobljmhnbhcoekfgcgfmgicjdkdjhjbfdffhhmklhk"
     "hifh"),
    ("ikabdfceefmpadghcgnodgjldncmijopgjbhgndibolobeamekmnjpknacelcijlfoimbiflfhgiemeiimfj"
     "fkfikmhjhkhi"),
};

// The network of the median of N, at compile time.
template <std::size_t N>
struct MedianNetwork {
  static constexpr std::size_t kMost = N * N / 2 + 1;
  std::array<Comparator, kMost> comparators{};
  std::size_t count = 0;

  constexpr MedianNetwork() {
    const auto add = [this](std::size_t a, std::size_t b) {
      comparators[count].low = static_cast<std::uint16_t>(a);
      comparators[count++].high = static_cast<std::uint16_t>(b);
    };
    if (N < std::size(kFoundMedians) && !kFoundMedians[N].empty()) {
      const std::string_view pairs = kFoundMedians[N];
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        add(static_cast<std::size_t>(pairs[i] - 'a'), static_cast<std::size_t>(pairs[i + 1] - 'a'));
    } else {
      visit_sort_network(N, add);
    }
    bool wanted[N] = {};
    wanted[(N - 1) / 2] = true;
    wanted[N / 2] = true;
    count = prune_network(comparators.data(), count, wanted);
  }
};

}  // namespace medgrad::kernels
