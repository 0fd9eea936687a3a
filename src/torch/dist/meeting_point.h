// Where workers meet: names and what is written under them, in the memory of the launcher, so that
// neither a full disk nor a worker that dies or stands still in the middle of something can spoil
// it.
//
// Workers of one machine come by a socket that has no file (its name is "@medgrad-…"), and only
// processes of the same user are let in; others by a port of the one address that was asked for.
// All have to show the token first. Nobody waits for somebody else: a visitor who says half a
// sentence, or nonsense, or nothing, is not answered, and after a while not kept.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace medgrad::libtorch {

class MeetingPoint {
 public:
  // `host` is an address of this machine, and `port` 0 any that is free; without a host it is for
  // this machine and user alone. Throws Error where the host is not one of this machine or the port
  // is taken.
  MeetingPoint(const std::string& host, int port, std::string token);
  ~MeetingPoint();
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;

  // "@medgrad-0123…", or "10.0.0.1:41234".
  [[nodiscard]] const std::string& address() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

// The meeting point at an address, as c10d's and Gloo's store. Throws Error where the token is
// another one, and where it cannot be reached in time. What waits for a name does so for `timeout`;
// an answer is waited for as long as the launcher lives, which may have been told to stand still.
[[nodiscard]] c10::intrusive_ptr<c10d::Store> visit(const std::string& address,
                                                    const std::string& token,
                                                    std::chrono::milliseconds timeout);

// The host of an address; empty where it is for one machine.
[[nodiscard]] std::string host_of(const std::string& address);

}  // namespace medgrad::libtorch
