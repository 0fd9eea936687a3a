// Workers that break Gloo's own protocol: others lose them like dead ones, and go on.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <exception>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "dist/on_all_ranks.h"
#include "medgrad/torch/crew.h"
#include "processes/processes.h"
#include "torch/failure.h"

namespace medgrad {
namespace {

using dist::Communicator;
using processes_test::in_processes;
using processes_test::Store;
using namespace std::chrono_literals;

constexpr int kTag = 0x6d64'6701;  // of our messages
constexpr auto kLong = 60s;        // nobody waits for that

class Hostile : public ::testing::Test {
  void SetUp() override {
#ifndef MEDGRAD_GUARDS_GLOO
    GTEST_SKIP() << "the Gloo of this libtorch ends every process that a hostile one writes to";
#endif
  }
};

// What a socket of this process is, as the system calls it: SO_ACCEPTCONN, it listens.
int option_of(int socket, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(socket, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

// The sockets of this process for TCP.
std::vector<int> sockets() {
  std::vector<int> all;
  for (int k = 3; k < 256; ++k) {
    if (option_of(k, SO_DOMAIN) == AF_INET && option_of(k, SO_TYPE) == SOCK_STREAM)
      all.push_back(k);
  }
  return all;
}

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

// Says what does not fit, to all others. What it returns is under way as long as it is kept.
using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;
using Offence = std::function<Works(c10d::ProcessGroup&)>;

Works send_too_much(c10d::ProcessGroup& group) {
  std::vector<at::Tensor> much = {at::zeros({1 << 20}, at::kByte)};
  return {group.send(much, 0, kTag), group.send(much, 2, kTag)};
}

// Gloo's messages begin with six words: length, kind (1: data), slot, offset, length of the data.
Works send_what_nobody_expects(c10d::ProcessGroup&) {
  const std::array<std::uint64_t, 6> words = {48 + 1024, 1, 12345, 0, 1024, 0};
  for (const int to : sockets()) (void)!write(to, words.data(), sizeof words);
  return {};
}

Works send_without_end(c10d::ProcessGroup&) {
  const std::array<std::uint64_t, 6> words = {48, 1, kTag, 0, ~std::uint64_t{0}, 0};
  for (const int to : sockets()) (void)!write(to, words.data(), sizeof words);
  return {};
}

// Three workers, of which one breaks the protocol and stays. The others lose it, form a group again
// and aggregate what they have.
void survive(const Offence& offence) {
  const auto said = in_processes(3, [&](const Store& store, int worker) -> std::string {
    if (worker == 1) {  // not a Crew: it shows itself in the first group only
      (void)store->compareSet("token", {}, bytes("."));
      (void)store->compareSet("epoch1/here/1", {}, bytes("anybody"));
      store->wait({"epoch1/members"});
      const auto group = libtorch::gloo_group(
          c10::make_intrusive<c10d::PrefixStore>("epoch1/gloo", store), 1, 3, kLong);
      const Works under_way = offence(*group);
      libtorch::mark_gone(*store, 1);  // nobody waits
      store->wait({"done/0", "done/2"});
      return "";
    }
    libtorch::CrewOptions options;
    options.deadline = kLong;
    libtorch::Crew crew(store, worker, 3, options);
    std::vector<float> mine(1000, static_cast<float>(worker)), out(mine.size());
    const auto began = std::chrono::steady_clock::now();
    for (std::unique_ptr<Communicator> group;;) {
      try {
        group = crew.form();
        (void)dist::aggregate<float>(*group, Mean{}, mine, out);
        break;
      } catch (const dist::Lost&) {
        group.reset();
      }
    }
    store->set("done/" + std::to_string(worker), bytes("1"));
    if (std::chrono::steady_clock::now() - began > kLong) return "at the deadline";
    return std::to_string(crew.members().size()) + " " + std::to_string(out[999]);
  });
  EXPECT_EQ(said, (std::vector<std::string>{"2 1.000000", "", "2 1.000000"}));
}

TEST_F(Hostile, SendsMoreThanIsExpected) { survive(send_too_much); }
TEST_F(Hostile, SendsWhatNobodyExpects) { survive(send_what_nobody_expects); }
TEST_F(Hostile, SendsWithoutEnd) { survive(send_without_end); }

// Somebody connects while a group is formed, and has reset the connection before it is looked at.
TEST_F(Hostile, KnocksAndIsGone) {
  const auto said = in_processes(
      1,
      [](const Store& store, int) -> std::string {
        std::thread([&store = *store, before = sockets()] {
          while (true) {
            for (const int one : sockets()) {
              sockaddr_in address{};
              socklen_t length = sizeof address;
              if (option_of(one, SO_ACCEPTCONN) != 1 || std::ranges::count(before, one) > 0 ||
                  getsockname(one, reinterpret_cast<sockaddr*>(&address), &length) != 0)
                continue;
              store.set("port", bytes(std::to_string(ntohs(address.sin_port))));
              return;
            }
            std::this_thread::sleep_for(1ms);
          }
        }).detach();
        (void)libtorch::gloo_group(c10::make_intrusive<c10d::PrefixStore>("gloo", store), 0, 2, 1s);
        return "formed";
      },
      [](const auto& children, c10d::Store& store) {
        const auto port = store.get("port");
        kill(children[0].process, SIGSTOP);
        const int stranger = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(std::string(port.begin(), port.end()))));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const linger reset{1, 0};
        setsockopt(stranger, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(stranger);
        kill(children[0].process, SIGCONT);
      });
  EXPECT_TRUE(said[0].starts_with("A worker is gone or too late")) << said[0];
}

// Where Gloo's thread cannot be guarded the process ends, and says why.
TEST(UnguardedGloo, EndsWithASentence) {
  const auto offended = [] {
    std::set_terminate(libtorch::end_with_a_sentence);
    std::thread([] {
      throw std::runtime_error("[enforce fail at ./gloo/transport/tcp/pair.cc:510] too long");
    }).join();
  };
  EXPECT_EXIT(offended(), ::testing::ExitedWithCode(1),
              "^medgrad: Another worker has broken the protocol .*pair.cc:510.*--resume; the last "
              "checkpoint counts\\.\n$");
}

}  // namespace
}  // namespace medgrad
