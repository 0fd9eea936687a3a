#include <fmt/core.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <thread>

#include "medgrad/error.h"
#include "torch/dist/frames.h"
#include "torch/dist/meeting_point.h"
#include "torch/dist/socket.h"

namespace medgrad::libtorch {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::uint8_t>;
using std::chrono::milliseconds;

constexpr milliseconds kPause(2);  // between two looks at a name that is waited for

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// A name and its port: after the last colon.
std::pair<std::string, std::string> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

Socket try_to_reach(const std::string& address, milliseconds timeout) {
  const auto reach = [&](int family, const sockaddr* where, socklen_t length) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const timeval most{seconds.count(),
                       static_cast<suseconds_t>(1000 * (timeout - seconds).count())};
    (void)::setsockopt(socket.handle(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    return socket && ::connect(socket.handle(), where, length) == 0 ? std::move(socket) : Socket();
  };
  if (address.starts_with('@')) {
    const auto [where, length] = local_address(address);
    return reach(AF_UNIX, reinterpret_cast<const sockaddr*>(&where), length);
  }
  const auto [host, port] = split(address);
  const Addresses found(host, port);
  if (!found.failure().empty()) throw std::runtime_error(found.failure());
  Socket socket;
  for (const addrinfo* one = found.first(); one != nullptr && !socket; one = one->ai_next)
    socket = reach(one->ai_family, one->ai_addr, one->ai_addrlen);
  return socket;
}

// Those of other hosts may be started before the launcher.
Socket reach(const std::string& address, milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    Socket socket = try_to_reach(address, std::max(left, milliseconds(1)));
    const int failed = errno;
    if (socket) return socket;
    if (address.starts_with('@') || Clock::now() > until)
      throw std::system_error(failed, std::generic_category());
    std::this_thread::sleep_for(milliseconds(100));
  }
}

class MeetingStore final : public c10d::Store {
 public:
  MeetingStore(const std::string& address, const std::string& token, milliseconds timeout)
      : c10d::Store(timeout), address_(address), token_(token), socket_(reach(address, timeout)) {
    keep_alive(socket_.handle());
    if (ask({"token", token}) != Texts{"1"})
      throw Error("This worker's token is not that of the run it wants to join.");
  }

  void set(const std::string& key, const Bytes& value) override {
    (void)ask({"set", key, text_of(value)});
  }
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    return bytes_of(ask({"compare and set", key, text_of(expected), text_of(desired)}).at(0));
  }
  Bytes get(const std::string& key) override {
    wait({key});
    return bytes_of(ask({"get", key}).at(1));
  }
  std::int64_t add(const std::string& key, std::int64_t value) override {
    return std::stoll(ask({"add", key, std::to_string(value)}).at(0));
  }
  bool deleteKey(const std::string& key) override { return ask({"delete", key}).at(0) == "1"; }
  bool check(const std::vector<std::string>& keys) override {
    Texts question = {"check"};
    question.insert(question.end(), keys.begin(), keys.end());
    return ask(question).at(0) == "1";
  }
  std::int64_t getNumKeys() override { return std::stoll(ask({"keys"}).at(0)); }
  void wait(const std::vector<std::string>& keys) override { wait(keys, getTimeout()); }
  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    const auto until = Clock::now() + timeout;
    while (!check(keys)) {
      if (Clock::now() > until) throw std::runtime_error("waited too long for the others");
      std::this_thread::sleep_for(kPause);
    }
  }
  // Later versions of c10d ask for it.
  c10::intrusive_ptr<c10d::Store> clone() {
    return c10::make_intrusive<MeetingStore>(address_, token_, getTimeout());
  }

 private:
  Texts ask(const Texts& question) {
    const std::lock_guard<std::mutex> one_by_one(mutex_);
    const std::string frame = frame_of(question);
    for (std::size_t done = 0; done < frame.size();) {
      const ssize_t sent =
          ::send(socket_.handle(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
      if (sent > 0) done += static_cast<std::size_t>(sent);
    }
    auto texts = texts_of(receive(length_at(receive(kLengthBytes))));
    if (!texts || texts->empty()) throw std::runtime_error("it does not make sense");
    return *texts;
  }

  std::string receive(std::size_t bytes) {
    std::string all(bytes, '\0');
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t got = ::recv(socket_.handle(), all.data() + done, bytes - done, 0);
      if (got == 0) throw std::runtime_error("it has ended");
      if (got < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
      if (got > 0) done += static_cast<std::size_t>(got);
    }
    return all;
  }

  std::string address_, token_;
  Socket socket_;
  std::mutex mutex_;
};

}  // namespace

c10::intrusive_ptr<c10d::Store> visit(const std::string& address, const std::string& token,
                                      std::chrono::milliseconds timeout) {
  return c10::make_intrusive<MeetingStore>(address, token, timeout);
}

std::string host_of(const std::string& address) {
  return address.starts_with('@') ? "" : split(address).first;
}

}  // namespace medgrad::libtorch
