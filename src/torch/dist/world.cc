#include "medgrad/torch/world.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "medgrad/error.h"
#include "torch/dist/meeting_point.h"

namespace medgrad::libtorch {
namespace {

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

int whole(const char* name, int least, int most) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size() || value < least ||
      value > most)
    throw Error(fmt::format("The variable {} is '{}'; it must be a whole number from {} to {}.",
                            name, text, least, most));
  return value;
}

// The address of this machine on the way to a host; empty where there is none. A host's own name
// may well mean the loopback address, which is no use to others.
std::string address_towards(const std::string& host, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;  // connecting one sends nothing
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return "";
  std::string address;
  for (const addrinfo* one = found; one != nullptr && address.empty(); one = one->ai_next) {
    const int handle = ::socket(one->ai_family, one->ai_socktype, one->ai_protocol);
    if (handle < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    char text[NI_MAXHOST] = {};
    if (::connect(handle, one->ai_addr, one->ai_addrlen) == 0 &&
        ::getsockname(handle, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), length, text, sizeof text, nullptr,
                      0, NI_NUMERICHOST) == 0)
      address = text;
    ::close(handle);
  }
  ::freeaddrinfo(found);
  return address;
}

// c10d's own: in torchrun's process, or in that of worker 0.
c10::intrusive_ptr<c10d::Store> master_store(const std::string& host, bool is_server,
                                             std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(whole("MASTER_PORT", 1, 65535));
  options.timeout = timeout;
  options.isServer = is_server;
  options.waitWorkers = false;
  const auto store = c10::make_intrusive<c10d::TCPStore>(host, options);
  const std::string times = variable("TORCHELASTIC_RESTART_COUNT");
  if (times.empty()) return store;
  return c10::make_intrusive<c10d::PrefixStore>("restart" + times, store);
}

}  // namespace

std::string token_from_environment() {
  const std::string file = variable("MEDGRAD_TOKEN_FILE");
  if (file.empty()) return variable("MEDGRAD_TOKEN");
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line))
    throw Error(fmt::format("{}, which MEDGRAD_TOKEN_FILE names, cannot be read.", file));
  return line;
}

std::optional<World> world_from_environment(std::chrono::milliseconds timeout) {
  const std::string point = variable("MEDGRAD_STORE"), host = variable("MASTER_ADDR");
  if (point.empty() && (host.empty() || variable("RANK").empty())) return std::nullopt;
  constexpr int kMost = 1'000'000;
  World world;
  world.workers = whole("WORLD_SIZE", 1, kMost);
  world.worker = whole("RANK", 0, kMost);
  if (world.worker >= world.workers)
    throw Error(fmt::format("The variable RANK is {}; it must be below WORLD_SIZE, {}.",
                            world.worker, world.workers));
  world.token = token_from_environment();
  try {
    if (!point.empty()) {
      const std::string at = host_of(point);
      world.address = at.empty() ? "127.0.0.1" : address_towards(at, "1");
      world.store = visit(point, world.token, timeout);
    } else {
      world.address = address_towards(host, variable("MASTER_PORT"));
      world.store_is_in_worker_0 = variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
      world.store = master_store(host, world.store_is_in_worker_0 && world.worker == 0, timeout);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    throw Error(fmt::format("The meeting point of the workers, {}, cannot be reached ({}).",
                            point.empty() ? host : point, text.substr(0, text.find('\n'))));
  }
  return world;
}

}  // namespace medgrad::libtorch
