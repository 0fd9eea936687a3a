// Real processes that talk over Gloo: children of the test, forked before libtorch has started any
// thread, which meet in the parent. (Not at c10d's TCPStore: a child that is stopped in the middle
// of a question would hold up all of it.)
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <vector>

#include "medgrad/dist/communicator.h"
#include "medgrad/torch/process_group.h"
#include "torch/dist/meeting_point.h"

namespace medgrad::processes_test {

using Store = c10::intrusive_ptr<c10d::Store>;
using namespace std::chrono_literals;

struct Child {
  pid_t process = 0;
  int said = -1;  // a pipe
};

// What happens in the parent while children run. They can wait for each other at the store.
using Meanwhile = std::function<void(const std::vector<Child>&, c10d::Store&)>;

// All that is written until the other end is closed.
inline std::string read_all(int from) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(from);
  return text;
}

// What each of n children returned from body(store, rank); of one that threw the sentence, of one
// that was killed "killed", and of one that ended by another signal "signal N".
inline std::vector<std::string> in_processes(
    int n, const std::function<std::string(const Store&, int)>& body,
    const Meanwhile& meanwhile = {}) {
  std::vector<Child> children;
  std::vector<int> tell;
  for (int rank = 0; rank < n; ++rank) {
    int address_pipe[2], said_pipe[2];
    if (pipe(address_pipe) != 0 || pipe(said_pipe) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
      for (const int to : tell) close(to);  // of those before it
      close(address_pipe[1]);
      std::string said;
      try {
        said = body(libtorch::visit(read_all(address_pipe[0]), "", 120s), rank);
      } catch (const std::exception& error) {
        said = error.what();
      }
      const auto written = write(said_pipe[1], said.data(), said.size());
      _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    close(address_pipe[0]);
    close(said_pipe[1]);
    tell.push_back(address_pipe[1]);
    children.push_back({child, said_pipe[0]});
  }
  const libtorch::MeetingPoint point("", 0, "");
  for (const int to : tell) {
    (void)!write(to, point.address().data(), point.address().size());
    close(to);
  }
  if (meanwhile) {
    try {
      meanwhile(children, *libtorch::visit(point.address(), "", 120s));
    } catch (const std::exception&) {  // none of them is left behind
      for (const Child& child : children) kill(child.process, SIGKILL);
      throw;
    }
  }
  std::vector<std::string> said;
  for (const Child& child : children) {
    std::string text = read_all(child.said);
    int status = 0;
    waitpid(child.process, &status, 0);
    if (WIFSIGNALED(status))
      text = WTERMSIG(status) == SIGKILL ? "killed" : "signal " + std::to_string(WTERMSIG(status));
    said.push_back(text);
  }
  return said;
}

// The same with a communicator. What happens meanwhile begins when all are connected: a barrier
// tells nobody that the others know it, too.
inline std::vector<std::string> with_gloo(
    int n, const std::function<std::string(dist::Communicator&)>& body,
    std::chrono::milliseconds timeout = 30s, const Meanwhile& meanwhile = {}) {
  return in_processes(
      n,
      [&](const Store& store, int rank) {
        const auto group = libtorch::communicate(libtorch::gloo_group(store, rank, n, timeout));
        group->barrier();
        store->set(std::to_string(rank), std::vector<std::uint8_t>{1});
        return body(*group);
      },
      !meanwhile ? Meanwhile() : [&](const auto& children, auto& store) {
        for (int rank = 0; rank < n; ++rank) store.wait({std::to_string(rank)});
        meanwhile(children, store);
      });
}

}  // namespace medgrad::processes_test
