// Who works on which columns, and in which pieces they travel.
//
// A piece is a range of columns; within it every rank has a range of its own, in the order of the
// ranks: so a vector is sent as it lies in memory, and the result is received where it belongs.
// Ranges are made of cells. Over all pieces ranks have equal numbers of cells, or one more.
#pragma once

#include <cstddef>
#include <vector>

namespace medgrad::dist {

class Deal {
 public:
  // d columns in cells of `cell`, dealt out to all ranks.
  static Deal evenly(std::size_t d, std::size_t cell, int ranks);
  // All of them to one.
  static Deal all_to(int rank, std::size_t d, std::size_t cell, int ranks);

  [[nodiscard]] std::size_t pieces() const { return pieces_; }
  [[nodiscard]] std::size_t begin(std::size_t piece, std::size_t rank) const {
    return bounds_[piece * ranks_ + rank];
  }
  [[nodiscard]] std::size_t end(std::size_t piece, std::size_t rank) const {
    return bounds_[piece * ranks_ + rank + 1];
  }
  [[nodiscard]] std::size_t length(std::size_t piece, std::size_t rank) const {
    return end(piece, rank) - begin(piece, rank);
  }
  // Of all ranks together.
  [[nodiscard]] std::size_t begin(std::size_t piece) const { return begin(piece, 0); }
  [[nodiscard]] std::size_t end(std::size_t piece) const { return end(piece, ranks_ - 1); }
  [[nodiscard]] std::size_t length(std::size_t piece) const { return end(piece) - begin(piece); }
  // Of one rank in all pieces.
  [[nodiscard]] std::size_t columns_of(std::size_t rank) const;

 private:
  Deal(std::size_t d, std::size_t cell, std::size_t ranks) : d_(d), cell_(cell), ranks_(ranks) {}
  [[nodiscard]] std::size_t cells() const { return (d_ + cell_ - 1) / cell_; }
  // Into pieces of at least so many cells, with columns for so many ranks.
  void cut(std::size_t smallest, std::size_t sharers);

  std::size_t d_, cell_, ranks_, pieces_ = 0;
  std::vector<std::size_t> bounds_;  // pieces x ranks, and the end
};

}  // namespace medgrad::dist
