#include "stop.h"

#include <csignal>

namespace medgrad::app {
namespace {

std::atomic<bool> g_stop = false;  // NOLINT: signal handlers have nothing but globals

void on_signal(int signal) {
  g_stop = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_requested() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  // A terminal that goes away; under nohup it is to be ignored.
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  return g_stop;
}

}  // namespace medgrad::app
