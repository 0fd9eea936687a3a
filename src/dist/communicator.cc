#include "medgrad/dist/communicator.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace medgrad::dist {
namespace {

template <class Byte>
std::vector<std::span<Byte>> parts_of(std::span<Byte> all, std::span<const std::size_t> sizes) {
  std::vector<std::span<Byte>> parts;
  parts.reserve(sizes.size());
  for (const std::size_t size : sizes) {
    parts.push_back(all.first(size));
    all = all.subspan(size);
  }
  return parts;
}

// Parts that may lie anywhere, as one piece of memory: theirs, where they lie together.
template <class Byte>
class Together {
 public:
  explicit Together(std::span<const std::span<Byte>> parts) {
    std::size_t size = 0;
    Byte* end = nullptr;
    bool together = true;
    for (const std::span<Byte>& part : parts) {
      sizes_.push_back(part.size());
      size += part.size();
      if (part.empty()) continue;
      if (end == nullptr) all_ = part;
      together = together && (end == nullptr || end == part.data());
      end = part.data() + part.size();
    }
    if (together) {
      all_ = {all_.data(), size};
      return;
    }
    copy_.resize(size);
    all_ = copy_;
  }
  [[nodiscard]] bool is_copy() const { return !copy_.empty(); }
  [[nodiscard]] std::span<Byte> all() const { return all_; }
  [[nodiscard]] std::span<const std::size_t> sizes() const { return sizes_; }
  [[nodiscard]] std::span<std::byte> copy() { return copy_; }

 private:
  std::vector<std::size_t> sizes_;
  std::vector<std::byte> copy_;
  std::span<Byte> all_;
};

// What was sent as a copy stays until it has arrived; what arrives in one piece is put where it
// belongs.
class Packed : public Transfer::Pending {
 public:
  Packed(Outgoing send, Incoming receive)
      : send_(send), receive_(receive), parts_(receive.begin(), receive.end()) {
    std::byte* at = send_.copy().data();
    for (std::size_t r = 0; send_.is_copy() && r < send.size(); ++r)
      at = std::copy(send[r].begin(), send[r].end(), at);
  }
  [[nodiscard]] const Together<const std::byte>& send() const { return send_; }
  [[nodiscard]] const Together<std::byte>& receive() const { return receive_; }
  void start(std::unique_ptr<Transfer::Pending> pending) {
    under_way_ = Transfer(std::move(pending));
  }
  void wait() override {
    under_way_.wait();
    const std::byte* at = receive_.all().data();
    for (std::size_t r = 0; receive_.is_copy() && r < parts_.size(); ++r) {
      std::copy_n(at, parts_[r].size(), parts_[r].data());
      at += parts_[r].size();
    }
  }

 private:
  Together<const std::byte> send_;
  Together<std::byte> receive_;
  std::vector<std::span<std::byte>> parts_;
  Transfer under_way_;
};

}  // namespace

void Transfer::wait() {
  if (pending_ == nullptr) return;
  const std::unique_ptr<Pending> pending = std::move(pending_);
  pending->wait();
}

void Transfer::give_up() noexcept {
  try {
    wait();
  } catch (...) {  // whoever gives up has been told why
  }
}

Transfer Communicator::start_exchange(Outgoing send, Incoming receive) {
  assert(send.size() == static_cast<std::size_t>(size_) && receive.size() == send.size());
  for (std::size_t r = 0; r < send.size(); ++r) {
    if (r == static_cast<std::size_t>(rank_)) continue;
    traffic_.sent += send[r].size();
    traffic_.received += receive[r].size();
  }
  return Transfer(exchange(send, receive));
}

Transfer Communicator::start_all_to_all(std::span<const std::byte> send,
                                        std::span<const std::size_t> send_sizes,
                                        std::span<std::byte> receive,
                                        std::span<const std::size_t> receive_sizes) {
  assert(std::accumulate(send_sizes.begin(), send_sizes.end(), std::size_t{0}) == send.size());
  assert(std::accumulate(receive_sizes.begin(), receive_sizes.end(), std::size_t{0}) ==
         receive.size());
  return start_exchange(parts_of(send, send_sizes), parts_of(receive, receive_sizes));
}

// As an exchange: what engines have for it is no faster, or much slower.
void Communicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto n = static_cast<std::size_t>(size_);
  assert(all.size() == n * mine.size());
  const std::vector<std::span<const std::byte>> sent(n, mine);
  start_exchange(sent, parts_of(all, std::vector<std::size_t>(n, mine.size()))).wait();
}

void Communicator::take_own(Outgoing send, Incoming receive) const {
  const std::span<const std::byte> mine = send[static_cast<std::size_t>(rank_)];
  std::byte* const to = receive[static_cast<std::size_t>(rank_)].data();
  if (to != mine.data()) std::copy(mine.begin(), mine.end(), to);
}

void Communicator::all_reduce(std::span<float> values) { sum(values); }

void Communicator::barrier() {
  const std::byte mine{};
  std::vector<std::byte> all(static_cast<std::size_t>(size_));
  all_gather({&mine, 1}, all);
}

std::byte* Communicator::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset();  // never both at once
    scratch_bytes_ = 0;
    scratch_.reset(static_cast<std::byte*>(allocate_large(bytes)));
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

std::unique_ptr<Transfer::Pending> Packing::exchange(Outgoing send, Incoming receive) {
  auto packed = std::make_unique<Packed>(send, receive);
  packed->start(all_to_all(packed->send().all(), packed->send().sizes(), packed->receive().all(),
                           packed->receive().sizes()));
  return packed;
}

}  // namespace medgrad::dist
