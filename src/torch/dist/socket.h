// Sockets of the meeting point of workers and of its visitors.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace medgrad::libtorch {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Socket() {
    if (handle_ >= 0) ::close(handle_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] explicit operator bool() const { return handle_ >= 0; }
  [[nodiscard]] int handle() const { return handle_; }

 private:
  int handle_ = -1;
};

// What a host and a port mean.
class Addresses {
 public:
  Addresses(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    if (const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &first_))
      failure_ = ::gai_strerror(failed);
  }
  ~Addresses() {
    if (first_ != nullptr) ::freeaddrinfo(first_);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  [[nodiscard]] const addrinfo* first() const { return first_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  addrinfo* first_ = nullptr;
  std::string failure_;
};

// Of a name without a file, "@…": it is there as long as somebody listens.
inline std::pair<sockaddr_un, socklen_t> local_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, name.data(), length);
  address.sun_path[0] = '\0';
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length)};
}

// 0.0.0.0 or ::
inline bool is_any(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == INADDR_ANY;
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

inline int port_of(int handle) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  (void)::getsockname(handle, reinterpret_cast<sockaddr*>(&own), &length);
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

// A host that is gone is noticed within a minute. (Of no use, and no harm, within one machine.)
inline void keep_alive(int handle) {
  const int yes = 1, idle = 20, pause = 10, times = 4, most = 60'000;
  (void)::setsockopt(handle, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  (void)::setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  (void)::setsockopt(handle, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  (void)::setsockopt(handle, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof pause);
  (void)::setsockopt(handle, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  (void)::setsockopt(handle, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most);
}

}  // namespace medgrad::libtorch
