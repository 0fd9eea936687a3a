#include "torch/dist/meeting_point.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <list>
#include <map>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "medgrad/error.h"
#include "torch/dist/frames.h"
#include "torch/dist/socket.h"

namespace medgrad::libtorch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOfStranger = 4096, kOfMember = std::size_t{1} << 24;  // bytes of a frame
constexpr std::size_t kStrangers = 64;                // that may be there at once
constexpr auto kPatience = std::chrono::seconds(10);  // with one that does not show a token

struct Visitor {
  Socket socket;
  Clock::time_point since = Clock::now();
  bool is_member = false;  // has shown the token
  std::string said = {}, answer = {};
};

std::string random_name() {
  std::random_device random;
  return fmt::format("@medgrad-{:08x}{:08x}{:08x}", random(), random(), random());
}

Socket listen_here(const std::string& name) {
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto [address, length] = local_address(name);
  if (!socket ||
      ::bind(socket.handle(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket.handle(), SOMAXCONN) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket for the workers");
  return socket;
}

Socket listen_at(const std::string& host, int port) {
  const Addresses found(host, std::to_string(port));
  if (!found.failure().empty())
    throw Error("host", host,
                fmt::format("it must be an address of this machine ({})", found.failure()));
  int failed = 0;
  for (const addrinfo* one = found.first(); one != nullptr; one = one->ai_next) {
    if (is_any(*one->ai_addr))
      throw Error("host", host,
                  "it must be the one address of this machine where the others reach it");
    Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    (void)::setsockopt(socket.handle(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (socket && ::bind(socket.handle(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(socket.handle(), SOMAXCONN) == 0)
      return socket;
    failed = errno;
  }
  const std::string why = std::generic_category().message(failed);
  if (failed == EADDRNOTAVAIL)
    throw Error("host", host, fmt::format("it must be an address of this machine ({})", why));
  throw Error("port", std::to_string(port), fmt::format("nobody can listen there ({})", why));
}

// Is it a process of this user, or of root? True for those of other hosts, who have a token.
bool may_come(int handle, bool local) {
  ucred who{};
  socklen_t length = sizeof who;
  return !local || (::getsockopt(handle, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
                    (who.uid == ::geteuid() || who.uid == 0));
}

}  // namespace

class MeetingPoint::Server {
 public:
  Server(const std::string& host, int port, std::string token)
      : token_(std::move(token)), local_(host.empty()), wake_(::eventfd(0, EFD_CLOEXEC)) {
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
    if (local_) {
      address_ = random_name();
      listener_ = listen_here(address_);
    } else {
      listener_ = listen_at(host, port);
      address_ = fmt::format("{}:{}", host, port_of(listener_.handle()));
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.handle(), &one, sizeof one);
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  void serve() {
    std::vector<pollfd> all;
    while (true) {
      all.assign({{wake_.handle(), POLLIN, 0}, {listener_.handle(), POLLIN, 0}});
      // One that does not take its answer is not listened to.
      for (const Visitor& one : visitors_)
        all.push_back(
            {one.socket.handle(), static_cast<short>(one.answer.empty() ? POLLIN : POLLOUT), 0});
      const bool strangers = !std::ranges::all_of(visitors_, &Visitor::is_member);
      if (::poll(all.data(), all.size(), strangers ? 1000 : -1) < 0 && errno != EINTR) return;
      if (all[0].revents != 0) return;
      auto now = all.begin() + 2;
      for (auto one = visitors_.begin(); one != visitors_.end(); ++now) {
        const bool stays = (now->revents == 0 || attend(*one)) &&
                           (one->is_member || Clock::now() - one->since < kPatience);
        one = stays ? std::next(one) : visitors_.erase(one);
      }
      if (all[1].revents != 0) let_in();
    }
  }

  void let_in() {
    Socket socket(::accept4(listener_.handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool full = !socket && (errno == EMFILE || errno == ENFILE);
    if (full || std::ranges::count(visitors_, false, &Visitor::is_member) >=
                    static_cast<std::ptrdiff_t>(kStrangers)) {
      const auto first = std::ranges::find(visitors_, false, &Visitor::is_member);
      if (first != visitors_.end()) {
        visitors_.erase(first);
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    if (!socket || !may_come(socket.handle(), local_)) return;
    keep_alive(socket.handle());
    visitors_.push_back({std::move(socket)});
  }

  // False where it is over with that one.
  bool attend(Visitor& one) {
    if (one.answer.empty()) {
      char buffer[65536];
      const ssize_t got = ::recv(one.socket.handle(), buffer, sizeof buffer, 0);
      if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
      one.said.append(buffer, static_cast<std::size_t>(got));
      if (!hear(one)) return false;
    }
    return send_answer(one);
  }

  bool send_answer(Visitor& one) {
    while (!one.answer.empty()) {
      const ssize_t sent =
          ::send(one.socket.handle(), one.answer.data(), one.answer.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      one.answer.erase(0, static_cast<std::size_t>(sent));
      if (one.answer.empty() && !hear(one)) return false;
    }
    return true;
  }

  // Answers the first whole frame of what one has said.
  bool hear(Visitor& one) {
    if (one.said.size() < kLengthBytes) return true;
    const std::size_t length = length_at(one.said);
    if (length > (one.is_member ? kOfMember : kOfStranger)) return false;
    if (one.said.size() < kLengthBytes + length) return true;
    const auto texts = texts_of(std::string_view(one.said).substr(kLengthBytes, length));
    if (!texts || texts->empty()) return false;
    Texts answer;
    if (one.is_member) {
      try {
        answer = respond(*texts);
      } catch (const std::exception&) {
        return false;
      }
    } else {
      if (texts->size() != 2 || texts->front() != "token") return false;
      one.is_member = texts->back() == token_;
      answer = {one.is_member ? "1" : "0"};
    }
    one.said.erase(0, kLengthBytes + length);
    one.answer = frame_of(answer);
    return true;
  }

  // `at` throws where something is missing.
  Texts respond(const Texts& asked) {
    const std::string& what = asked.front();
    if (what == "check") {
      const bool all = std::all_of(asked.begin() + 1, asked.end(),
                                   [&](const std::string& key) { return kept_.contains(key); });
      return {all ? "1" : "0"};
    }
    if (what == "keys") return {std::to_string(kept_.size())};
    const std::string& key = asked.at(1);
    if (what == "get") {
      const auto found = kept_.find(key);
      return found == kept_.end() ? Texts{"0", ""} : Texts{"1", found->second};
    }
    if (what == "delete") return {std::to_string(kept_.erase(key))};
    if (what == "set") {
      kept_[key] = asked.at(2);
      return {"1"};
    }
    if (what == "compare and set") {
      const auto found = kept_.find(key);
      // As c10d's: one that is not there is made where nothing is expected.
      if (found == kept_.end()) {
        if (!asked.at(2).empty()) return {asked.at(2)};
        return {kept_[key] = asked.at(3)};
      }
      if (found->second == asked.at(2)) found->second = asked.at(3);
      return {found->second};
    }
    if (what == "add") {
      const auto found = kept_.find(key);
      const std::int64_t sum =
          (found == kept_.end() ? 0 : std::stoll(found->second)) + std::stoll(asked.at(2));
      return {kept_[key] = std::to_string(sum)};
    }
    throw std::invalid_argument(what);
  }

  std::string token_, address_;
  bool local_;
  Socket wake_, listener_;
  std::list<Visitor> visitors_;
  std::map<std::string, std::string> kept_;
  std::thread thread_;
};

MeetingPoint::MeetingPoint(const std::string& host, int port, std::string token)
    : server_(std::make_unique<Server>(host, port, std::move(token))) {}
MeetingPoint::~MeetingPoint() = default;

const std::string& MeetingPoint::address() const { return server_->address(); }

}  // namespace medgrad::libtorch
