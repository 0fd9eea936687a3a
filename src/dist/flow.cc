#include "dist/flow.h"

#include <algorithm>

#include "medgrad/dist/aggregate.h"

namespace medgrad::dist {

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
Flow<T>::Flow(Communicator& group, const Deal& deal, std::span<const T> mine, std::span<T> out,
              T* room, bool kept)
    : group_(&group),
      deal_(&deal),
      mine_(mine),
      out_(out),
      room_(room),
      kept_(kept),
      replies_(kAhead) {
  while (sent_ < deal.pieces() && sent_ + 1 < kAhead) send();
}

template <Real T>
std::size_t Flow<T>::room_for(const Communicator& group, const Deal& deal) {
  std::size_t longest = 0;
  for (std::size_t k = 0; k < deal.pieces(); ++k)
    longest = std::max(longest, deal.length(k, static_cast<std::size_t>(group.rank())));
  return kAhead * static_cast<std::size_t>(group.size()) * longest;
}

template <Real T>
Columns<T> Flow<T>::place_for(std::size_t k) {
  const std::size_t length = deal_->length(k, me());
  if (!kept_) return {room_ + k % kAhead * (room_for(*group_, *deal_) / kAhead), length, length};
  T* const first = room_ + used_;
  used_ += length;
  return {first, length, deal_->columns_of(me())};
}

template <Real T>
void Flow<T>::send() {
  const std::size_t k = sent_++;
  const Columns<T> columns = place_for(k);
  std::vector<std::span<const std::byte>> sent(ranks());
  std::vector<std::span<std::byte>> received(ranks());
  for (std::size_t r = 0; r < ranks(); ++r) {
    sent[r] = std::as_bytes(mine_.subspan(deal_->begin(k, r), deal_->length(k, r)));
    received[r] = std::as_writable_bytes(columns.row(r));
  }
  coming_.push_back({columns, group_->start_exchange(sent, received)});
}

template <Real T>
Columns<T> Flow<T>::next() {
  ++received_;
  coming_.front().transfer.wait();
  const Columns<T> columns = coming_.front().columns;
  coming_.pop_front();
  if (sent_ < deal_->pieces()) send();
  return columns;
}

template <Real T>
std::span<T> Flow<T>::place(std::size_t k) const {
  return out_.subspan(deal_->begin(k, me()), deal_->length(k, me()));
}

template <Real T>
void Flow<T>::reply(std::span<const T> result) {
  const std::size_t k = replied_++;
  const std::vector<std::span<const std::byte>> sent(ranks(), std::as_bytes(result));
  std::vector<std::span<std::byte>> received(ranks());
  for (std::size_t r = 0; r < ranks(); ++r)
    received[r] = std::as_writable_bytes(out_.subspan(deal_->begin(k, r), deal_->length(k, r)));
  Transfer& reply = replies_[k % kAhead];
  reply.wait();  // for what was there before
  reply = group_->start_exchange(sent, received);
}

template <Real T>
void Flow<T>::finish() {
  for (std::size_t k = replied_; k < replied_ + kAhead; ++k) replies_[k % kAhead].wait();
}

template std::vector<Announcement> announce(Communicator&, const Deal&, const Announcement&,
                                            std::span<const float>);
template std::vector<Announcement> announce(Communicator&, const Deal&, const Announcement&,
                                            std::span<const double>);
template class Flow<float>;
template class Flow<double>;

}  // namespace medgrad::dist
