#include "dist/deal.h"

#include <algorithm>

#include "dist/wire.h"

namespace medgrad::dist {
namespace {

// What `rank` has of the first `cells` cells: a share that only grows with them.
std::size_t share_of(std::size_t cells, std::size_t rank, std::size_t ranks) {
  return (cells + ranks - 1 - rank) / ranks;
}

}  // namespace

// A piece has some 2^17 columns for each rank: while one is on its way another one is worked on,
// and messages of half a megabyte cost processors little more than their bytes. More than
// kMostPieces would be more checksums than an announcement has room for.
void Deal::cut(std::size_t smallest, std::size_t sharers) {
  const std::size_t columns = sharers << 17;
  const std::size_t most = std::max<std::size_t>(1, cells() / std::max<std::size_t>(1, smallest));
  pieces_ = d_ == 0 ? 0 : std::clamp<std::size_t>(d_ / columns, 1, std::min(most, kMostPieces));
}

Deal Deal::evenly(std::size_t d, std::size_t cell, int ranks) {
  Deal deal(d, cell, static_cast<std::size_t>(ranks));
  deal.cut(deal.ranks_, deal.ranks_);
  const std::size_t cells = deal.cells();
  std::size_t at = 0;  // in cells
  for (std::size_t k = 0; k < deal.pieces_; ++k) {
    const std::size_t before = k * cells / deal.pieces_, after = (k + 1) * cells / deal.pieces_;
    for (std::size_t r = 0; r < deal.ranks_; ++r) {
      deal.bounds_.push_back(std::min(at * cell, d));
      at += share_of(after, r, deal.ranks_) - share_of(before, r, deal.ranks_);
    }
  }
  deal.bounds_.push_back(d);
  return deal;
}

Deal Deal::all_to(int rank, std::size_t d, std::size_t cell, int ranks) {
  Deal deal(d, cell, static_cast<std::size_t>(ranks));
  deal.cut(1, 1);
  for (std::size_t k = 0; k < deal.pieces_; ++k) {
    const std::size_t begin = k * deal.cells() / deal.pieces_ * cell;
    const std::size_t end = std::min((k + 1) * deal.cells() / deal.pieces_ * cell, d);
    for (std::size_t r = 0; r < deal.ranks_; ++r)
      deal.bounds_.push_back(r <= static_cast<std::size_t>(rank) ? begin : end);
  }
  deal.bounds_.push_back(d);
  return deal;
}

std::size_t Deal::columns_of(std::size_t rank) const {
  std::size_t sum = 0;
  for (std::size_t k = 0; k < pieces_; ++k) sum += length(k, rank);
  return sum;
}

}  // namespace medgrad::dist
