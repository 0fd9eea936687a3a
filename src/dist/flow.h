// The pieces of everybody's vectors on their way to those who work on them, and the results on
// their way back.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "dist/deal.h"
#include "dist/wire.h"
#include "medgrad/dist/communicator.h"
#include "medgrad/distances.h"

namespace medgrad::dist {

// The announcements of all ranks; this one says `about`, with the checksums of its pieces. Throws
// Unfit.
template <Real T>
[[nodiscard]] std::vector<Announcement> announce(Communicator& group, const Deal& deal,
                                                 const Announcement& about,
                                                 std::span<const T> mine);

// Some columns of all workers.
template <Real T>
struct Columns {
  T* first = nullptr;
  std::size_t length = 0, stride = 0;  // of a row; from one worker's to the next one's
  [[nodiscard]] std::span<T> row(std::size_t worker) const {
    return {first + worker * stride, length};
  }
};

template <Real T>
class Flow {
 public:
  // Pieces that arrive in `room` stay there as long as it takes to work on them, or are all `kept`:
  // a row for each worker then, with all columns of this rank.
  Flow(Communicator& group, const Deal& deal, std::span<const T> mine, std::span<T> out, T* room,
       bool kept);
  // How much room it takes where pieces are not kept.
  [[nodiscard]] static std::size_t room_for(const Communicator& group, const Deal& deal);

  // The columns of this rank in the next piece. Where they are not kept they are valid until the
  // call after the next. The piece after it is under way then.
  [[nodiscard]] Columns<T> next();
  // Where the results for the columns of this rank in piece k are to be in the end.
  [[nodiscard]] std::span<T> place(std::size_t k) const;
  // What became of the columns of this rank in a piece, in the order of the pieces; to be left
  // alone until finish().
  void reply(std::span<const T> result);
  // Waits for all results.
  void finish();

 private:
  void send();
  [[nodiscard]] Columns<T> place_for(std::size_t k);
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(group_->rank()); }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(group_->size()); }

  // Pieces that are under way or being worked on.
  static constexpr std::size_t kAhead = 3;

  Communicator* group_;
  const Deal* deal_;
  std::span<const T> mine_;
  std::span<T> out_;
  T* room_;
  bool kept_;
  std::size_t used_ = 0;  // columns, of pieces that are kept
  std::size_t sent_ = 0, received_ = 0, replied_ = 0;
  struct Coming {
    Columns<T> columns;
    Transfer transfer;
  };
  std::deque<Coming> coming_;
  std::vector<Transfer> replies_;
};

}  // namespace medgrad::dist
