// The pieces of everybody's vectors on their way to those who work on them, and the results on
// their way back.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "dist/deal.h"
#include "dist/room.h"
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

template <Real T>
class Flow {
 public:
  Flow(Communicator& group, const Deal& deal, std::span<const T> mine, std::span<T> out);

  // The columns of this rank in the next piece, a row for each worker, one after the other; valid
  // until the call after the next. The piece after it is under way then.
  [[nodiscard]] std::span<T> next();
  // What became of the columns of this rank in a piece, in the order of the pieces.
  void reply(std::span<const T> result);
  // Waits for all results.
  void finish();

 private:
  void send();
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(group_->rank()); }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(group_->size()); }

  // Pieces that are under way or being worked on.
  static constexpr std::size_t kAhead = 3;
  struct Reply {
    Room<T> copies;
    Transfer transfer;
  };

  Communicator* group_;
  const Deal* deal_;
  std::span<const T> mine_;
  std::span<T> out_;
  std::size_t sent_ = 0, received_ = 0, replied_ = 0;
  std::vector<Room<T>> room_;
  std::deque<Transfer> coming_;
  std::vector<Reply> replies_;
};

}  // namespace medgrad::dist
