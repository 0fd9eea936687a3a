#include "medgrad/dist/communicator.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace medgrad::dist {

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

Transfer Communicator::start_all_to_all(std::span<const std::byte> send,
                                        std::span<const std::size_t> send_sizes,
                                        std::span<std::byte> receive,
                                        std::span<const std::size_t> receive_sizes) {
  assert(send_sizes.size() == static_cast<std::size_t>(size_));
  assert(receive_sizes.size() == static_cast<std::size_t>(size_));
  assert(std::accumulate(send_sizes.begin(), send_sizes.end(), std::size_t{0}) == send.size());
  assert(std::accumulate(receive_sizes.begin(), receive_sizes.end(), std::size_t{0}) ==
         receive.size());
  const auto me = static_cast<std::size_t>(rank_);
  traffic_.sent += send.size() - send_sizes[me];
  traffic_.received += receive.size() - receive_sizes[me];
  return Transfer(exchange(send, send_sizes, receive, receive_sizes));
}

// As an all-to-all of copies: those that engines have for it are no faster, or much slower.
void Communicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto n = static_cast<std::size_t>(size_);
  assert(all.size() == n * mine.size());
  std::vector<std::byte> copies(n * mine.size());
  for (std::size_t r = 0; r < n; ++r)
    std::copy(mine.begin(), mine.end(),
              copies.begin() + static_cast<std::ptrdiff_t>(r * mine.size()));
  const std::vector<std::size_t> sizes(n, mine.size());
  start_all_to_all(copies, sizes, all, sizes).wait();
}

void Communicator::all_reduce(std::span<float> values) { sum(values); }

void Communicator::barrier() {
  const std::byte mine{};
  std::vector<std::byte> all(static_cast<std::size_t>(size_));
  all_gather({&mine, 1}, all);
}

}  // namespace medgrad::dist
