#include "dist/flow.h"

#include <algorithm>
#include <utility>

#include "medgrad/dist/aggregate.h"

namespace medgrad::dist {
namespace {

template <Real T>
std::vector<std::size_t> sizes_for(const Deal& deal, std::size_t piece, std::size_t ranks) {
  std::vector<std::size_t> sizes(ranks);
  for (std::size_t r = 0; r < ranks; ++r) sizes[r] = deal.length(piece, r) * sizeof(T);
  return sizes;
}

}  // namespace

template <Real T>
std::vector<Announcement> announce(Communicator& group, const Deal& deal, const Announcement& about,
                                   std::span<const T> mine) {
  const auto n = static_cast<std::size_t>(group.size());
  std::vector<Announcement> said(n, about), heard(n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t k = 0; k < deal.pieces(); ++k) {
      said[r].checksums[k] =
          checksum(std::as_bytes(mine.subspan(deal.begin(k, r), deal.length(k, r))));
    }
    seal(said[r]);
  }
  const std::vector<std::size_t> sizes(n, sizeof(Announcement));
  group
      .start_all_to_all(std::as_bytes(std::span(said)), sizes,
                        std::as_writable_bytes(std::span(heard)), sizes)
      .wait();
  if (const Agreement agreement = agree(heard); !agreement.unfit.empty())
    throw Unfit(agreement.sentence, agreement.unfit);
  return heard;
}

template <Real T>
Flow<T>::Flow(Communicator& group, const Deal& deal, std::span<const T> mine, std::span<T> out)
    : group_(&group), deal_(&deal), mine_(mine), out_(out), room_(kAhead), replies_(kAhead) {
  while (sent_ < deal.pieces() && sent_ + 1 < kAhead) send();
}

template <Real T>
void Flow<T>::send() {
  const std::size_t k = sent_++;
  Room<T>& room = room_[k % kAhead];
  room.resize(ranks() * deal_->length(k, me()));
  const std::vector<std::size_t> received(ranks(), deal_->length(k, me()) * sizeof(T));
  coming_.push_back(group_->start_all_to_all(
      std::as_bytes(mine_.subspan(deal_->begin(k), deal_->length(k))),
      sizes_for<T>(*deal_, k, ranks()), std::as_writable_bytes(room.all()), received));
}

template <Real T>
std::span<T> Flow<T>::next() {
  const std::size_t k = received_++;
  coming_.front().wait();
  coming_.pop_front();
  if (sent_ < deal_->pieces()) send();
  return room_[k % kAhead].all();
}

template <Real T>
void Flow<T>::reply(std::span<const T> result) {
  const std::size_t k = replied_++;
  Reply& reply = replies_[k % kAhead];
  reply.transfer.wait();  // for what was in its place before
  reply.copies.resize(ranks() * result.size());
  for (std::size_t r = 0; r < ranks(); ++r)
    std::copy(result.begin(), result.end(), reply.copies.data() + r * result.size());
  const std::vector<std::size_t> sent(ranks(), result.size_bytes());
  reply.transfer = group_->start_all_to_all(
      std::as_bytes(std::as_const(reply.copies).all()), sent,
      std::as_writable_bytes(out_.subspan(deal_->begin(k), deal_->length(k))),
      sizes_for<T>(*deal_, k, ranks()));
}

template <Real T>
void Flow<T>::finish() {
  for (std::size_t k = replied_; k < replied_ + kAhead; ++k) replies_[k % kAhead].transfer.wait();
}

template std::vector<Announcement> announce(Communicator&, const Deal&, const Announcement&,
                                            std::span<const float>);
template std::vector<Announcement> announce(Communicator&, const Deal&, const Announcement&,
                                            std::span<const double>);
template class Flow<float>;
template class Flow<double>;

}  // namespace medgrad::dist
