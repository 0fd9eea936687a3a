// Workers of one machine as children: started, watched, restarted, stopped.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace medgrad::libtorch {

struct LaunchOptions {
  int workers = 1;                   // to be started here, the first ones
  int world = 0;                     // of all hosts together; 0: these are all
  std::vector<std::string> command;  // a program and its arguments
  std::filesystem::path folder;      // for logs, worker-0.log …; it exists
  std::string host;                  // where they meet, as in meeting_point.h
  int port = 0;                      // of that; 0: any that is free
  int quorum = 1;                    // so many have to finish
  int restarts = 0;                  // how often one that died is started again
  std::string token;                 // empty: one is made
  std::function<void()> watch = {};  // called some times a second
};

// Runs until all children have ended. When `stop` is set they are asked to end (SIGTERM), and
// killed after a minute; so are those that stand still (SIGSTOP) where all others have ended, at
// once. `tell` is called with a sentence for everything that happens to a child.
// Throws std::runtime_error where it was stopped and where fewer than the quorum have finished
// well, with what the first of them said last; Error where all have ended with exit code 2, where
// the program cannot be started, and as MeetingPoint does; and std::system_error where nothing can
// be started or written.
void launch(const LaunchOptions& options, const std::atomic<bool>& stop,
            const std::function<void(const std::string&)>& tell);

}  // namespace medgrad::libtorch
