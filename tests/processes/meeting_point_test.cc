// The launcher's store: what c10d expects of one, and strangers that cannot hold it up.
#include "torch/dist/meeting_point.h"

#include <gtest/gtest.h>

#include <thread>

#include "medgrad/error.h"
#include "torch/dist/frames.h"
#include "torch/dist/socket.h"

namespace medgrad {
namespace {

using libtorch::MeetingPoint;
using libtorch::Socket;
using libtorch::visit;
using namespace std::chrono_literals;
using Bytes = std::vector<std::uint8_t>;

std::string refusal(const std::string& host) {
  try {
    const MeetingPoint point(host, 0, "token");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

Socket connected(const std::string& host, const std::string& port) {
  const libtorch::Addresses found(host, port);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const addrinfo* const first = found.first();
  return ::connect(socket.handle(), first->ai_addr, first->ai_addrlen) == 0 ? std::move(socket)
                                                                            : Socket();
}

TEST(MeetingPoint, IsAStore) {
  for (const char* const host : {"", "127.0.0.1"}) {
    const MeetingPoint point(host, 0, "token");
    const auto store = visit(point.address(), "token", 10s),
               other = visit(point.address(), "token", 10s);
    const Bytes large(3'000'000, 7), nothing, a = {0, 1, 255}, b = {2};
    store->set("large", large);
    EXPECT_EQ(other->get("large"), large);
    EXPECT_EQ(store->add("count", 5), 5);
    EXPECT_EQ(other->add("count", -7), -2);
    EXPECT_EQ(store->compareSet("agreed", nothing, a), a);
    EXPECT_EQ(other->compareSet("agreed", nothing, b), a) << "the first one counts";
    EXPECT_EQ(other->compareSet("agreed", a, b), b);
    EXPECT_TRUE(store->check({"agreed", "count"}));
    EXPECT_FALSE(store->check({"agreed", "missing"}));
    EXPECT_EQ(store->getNumKeys(), 3);
    EXPECT_TRUE(store->deleteKey("count"));
    EXPECT_FALSE(store->deleteKey("count"));
    EXPECT_THROW(store->wait({"missing"}, 20ms), std::exception);
    std::thread later([&] { other->set("later", b); });
    EXPECT_EQ(store->get("later"), b);
    later.join();
  }
}

TEST(MeetingPoint, AsksForTheToken) {
  const MeetingPoint point("", 0, "right");
  try {
    (void)visit(point.address(), "wrong", 10s);
    ADD_FAILURE() << "let in";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "This worker's token is not that of the run it wants to join.");
  }
}

TEST(MeetingPoint, StrangersHoldUpNobody) {
  const MeetingPoint point("127.0.0.1", 0, "token");
  const std::string port = point.address().substr(point.address().rfind(':') + 1);
  const auto store = visit(point.address(), "token", 10s);
  std::vector<Socket> strangers;
  const std::string whole = libtorch::frame_of({"token", "token"});
  for (const std::string& said :
       {std::string("x"), std::string(5000, '\xff'), std::string(1, '\0'), whole.substr(0, 9),
        std::string(), libtorch::frame_of({"set", "token", "mine"}), libtorch::frame_of({}),
        whole + libtorch::frame_of({"add", "count", "no number"}),
        whole + libtorch::frame_of({"nonsense"}), whole + libtorch::frame_of({"get"})}) {
    for (int k = 0; k < 20; ++k) {
      strangers.push_back(connected("127.0.0.1", port));
      ASSERT_TRUE(strangers.back());
      (void)!::send(strangers.back().handle(), said.data(), said.size(), MSG_NOSIGNAL);
    }
    EXPECT_EQ(store->add("steps", 1), static_cast<std::int64_t>(strangers.size() / 20));
  }
  EXPECT_FALSE(store->check({"token"}));
  EXPECT_EQ(visit(point.address(), "token", 10s)->add("steps", 0), 10) << "others can still come";
}

TEST(MeetingPoint, ListensAtOneAddressOfThisMachine) {
  const MeetingPoint point("127.0.0.1", 0, "token");
  const std::string port = point.address().substr(point.address().rfind(':') + 1);
  EXPECT_TRUE(connected("127.0.0.1", port));
  EXPECT_FALSE(connected("127.0.0.2", port));
  EXPECT_TRUE(
      refusal("nonsense.invalid")
          .starts_with("host is nonsense.invalid; it must be an address of this machine ("));
  EXPECT_TRUE(refusal("203.0.113.7")
                  .starts_with("host is 203.0.113.7; it must be an address of this machine ("));
  EXPECT_TRUE(refusal("0.0.0.0").starts_with("host is 0.0.0.0; it must be the one address"));
}

}  // namespace
}  // namespace medgrad
