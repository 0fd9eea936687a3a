#include "medgrad/dist/catch_up.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "dist/names.h"
#include "dist/wire.h"

namespace medgrad::dist {
namespace {

template <class T>
std::vector<T> gathered(Communicator& group, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::uint64_t digest(std::string_view text) {
  return checksum(std::as_bytes(std::span(text.data(), text.size())));
}

// Digests of settings, and of them all together. Beyond the last place they count only there.
struct Digests {
  std::uint64_t whole = 0;
  std::array<std::uint64_t, 64> each = {};
  [[nodiscard]] bool has(std::uint64_t one) const {
    return std::find(each.begin(), each.end(), one) != each.end();
  }
};

Digests digests_of(std::span<const Setting> settings) {
  Digests all;
  std::string whole;
  for (std::size_t k = 0; k < settings.size(); ++k) {
    const std::string text = settings[k].name + '\0' + settings[k].value + '\0';
    whole += text;
    if (k < all.each.size()) all.each[k] = digest(text);
  }
  all.whole = digest(whole);
  return all;
}

// More than the state of another worker of the same run may be: moments of an optimiser that has
// not taken a step yet, and results so far.
constexpr std::uint64_t kTimes = 8, kMore = 16 << 20;

// Was what `from` gave to some of them good? Throws Unfit on the side that is in the minority.
void judge(Communicator& group, std::size_t from, bool asked, bool good) {
  enum Verdict : std::uint64_t { none, fine, bad };
  const bool sends = static_cast<std::size_t>(group.rank()) == from;
  const std::vector<std::uint64_t> all = gathered<std::uint64_t>(group, sends    ? fine
                                                                        : !asked ? none
                                                                        : good   ? fine
                                                                                 : bad);
  std::vector<int> content, others;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (r == from || all[r] == fine) {
      content.push_back(static_cast<int>(r));
    } else if (all[r] != none) {
      others.push_back(static_cast<int>(r));
    }
  }
  if (others.empty()) return;
  const bool sound = content.size() > others.size() ||
                     (content.size() == others.size() && content.front() < others.front());
  const std::vector<int> sender = {static_cast<int>(from)};
  if (!sound)
    throw Unfit(fmt::format("{} sent a state that cannot be used.", workers(sender)), sender);
  throw Unfit(fmt::format("{} cannot use the state that {} can.", workers(others),
                          counted(content.size(), "other", "others")),
              others);
}

}  // namespace

void check_settings(Communicator& group, std::span<const Setting> mine) {
  const Digests own = digests_of(mine);
  const std::vector<Digests> all = gathered(group, own);
  const auto as_many = [&](std::uint64_t whole) {
    return std::count_if(all.begin(), all.end(),
                         [&](const Digests& one) { return one.whole == whole; });
  };
  // The first of the largest.
  const Digests& most = *std::max_element(
      all.begin(), all.end(),
      [&](const Digests& a, const Digests& b) { return as_many(a.whole) < as_many(b.whole); });
  std::vector<int> odd;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].whole != most.whole) odd.push_back(static_cast<int>(r));
  if (odd.empty()) return;
  // The first one stands for all of them. Names are known here of settings of this rank's own.
  const Digests& other =
      own.whole == most.whole ? all[static_cast<std::size_t>(odd.front())] : most;
  std::string what = "other settings";
  for (std::size_t k = std::min(mine.size(), own.each.size()); k-- > 0;)
    if (!other.has(own.each[k])) what = fmt::format("another '{}'", mine[k].name);
  throw Unfit(fmt::format("{} {} {} than the others.", workers(odd),
                          odd.size() == 1 ? "has" : "have", what),
              odd);
}

bool catch_up(Communicator& group, std::optional<std::uint64_t> steps,
              const std::function<std::string()>& save,
              const std::function<void(const std::string&)>& load) {
  const auto n = static_cast<std::size_t>(group.size()),
             me = static_cast<std::size_t>(group.rank());
  // 0: no state; else one more than the steps.
  const std::vector<std::uint64_t> all = gathered<std::uint64_t>(group, steps ? *steps + 1 : 0);
  const auto from =
      static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
  const auto gets = [&](std::size_t r) {
    return r != from && (all[r] < all[from] || all[from] == 0);
  };
  bool anybody = false;
  for (std::size_t r = 0; r < n; ++r) anybody = anybody || gets(r);
  if (!anybody) return false;

  // The length and a checksum first, to all; then the state, to those who need it.
  struct About {
    std::uint64_t length, checksum;
  } about{};
  const std::string own = me == from || gets(me) ? save() : std::string();
  if (me == from) about = {own.size(), digest(own)};
  about = gathered(group, about)[from];
  judge(group, from, gets(me), about.length <= kTimes * own.size() + kMore);

  std::vector<std::span<const std::byte>> sent(n);
  std::vector<std::span<std::byte>> received(n);
  for (std::size_t r = 0; r < n && me == from; ++r) {
    if (gets(r)) sent[r] = std::as_bytes(std::span(own));
  }
  std::string got;
  if (gets(me)) {
    got.resize(about.length);
    received[from] = std::as_writable_bytes(std::span(got));
  }
  if (about.length > 0) group.start_exchange(sent, received).wait();

  std::exception_ptr failure;
  if (gets(me)) {
    try {
      if (digest(got) != about.checksum)
        throw Error("The state that another worker sent was damaged on its way.");
      load(got);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  try {
    judge(group, from, gets(me), failure == nullptr);
  } catch (const Unfit& unfit) {
    if (failure && std::ranges::count(unfit.ranks(), group.rank()) > 0)
      std::rethrow_exception(failure);
    throw;
  }
  return gets(me);
}

}  // namespace medgrad::dist
