#include "medgrad/dist/catch_up.h"

#include <algorithm>
#include <vector>

#include "dist/wire.h"

namespace medgrad::dist {

std::optional<std::string> catch_up(Communicator& group, std::optional<std::uint64_t> steps,
                                    const std::function<std::string()>& save) {
  const auto n = static_cast<std::size_t>(group.size()),
             me = static_cast<std::size_t>(group.rank());
  // 0: no state; else one more than the steps.
  const std::uint64_t mine = steps ? *steps + 1 : 0;
  std::vector<std::uint64_t> all(n);
  group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  const auto from =
      static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
  const auto needs = [&](std::size_t r) { return r != from && all[r] < all[from]; };
  bool anybody = false;
  for (std::size_t r = 0; r < n; ++r)
    anybody = anybody || needs(r) || (all[from] == 0 && r != from);
  if (!anybody) return std::nullopt;

  // The length and a checksum first, to all; then the state, to those who need it.
  struct About {
    std::uint64_t length, checksum;
  } about{};
  std::string state;
  if (me == from) {
    state = save();
    about = {state.size(), checksum(std::as_bytes(std::span(state)))};
  }
  std::vector<About> abouts(n);
  group.all_gather(std::as_bytes(std::span(&about, 1)), std::as_writable_bytes(std::span(abouts)));
  about = abouts[from];
  const auto gets = [&](std::size_t r) { return needs(r) || (all[from] == 0 && r != from); };
  std::vector<std::span<const std::byte>> sent(n);
  std::vector<std::span<std::byte>> received(n);
  for (std::size_t r = 0; r < n && me == from; ++r) {
    if (gets(r)) sent[r] = std::as_bytes(std::span(state));
  }
  std::string got;
  if (gets(me)) {
    got.resize(about.length);
    received[from] = std::as_writable_bytes(std::span(got));
  }
  if (about.length > 0) group.start_exchange(sent, received).wait();
  if (!gets(me)) return std::nullopt;
  if (checksum(std::as_bytes(std::span(got))) != about.checksum)
    throw Error("The state that another worker sent was damaged on its way.");
  return got;
}

}  // namespace medgrad::dist
