#include "lab/report/origin.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "base/text.h"
#include "medgrad/build_info.h"

namespace medgrad::lab {
namespace {

std::string time_now() {
  std::time_t now = std::time(nullptr);
  if (const char* const epoch = std::getenv("SOURCE_DATE_EPOCH")) {
    char* end = nullptr;
    const long long seconds = std::strtoll(epoch, &end, 10);
    if (end != epoch && *end == '\0') now = static_cast<std::time_t>(seconds);
  }
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&now, &parts) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

// "model name" as x86 has it, "Model" and "Hardware" as some ARM systems do; empty where the
// system does not tell.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (name != "model name" && name != "Model" && name != "Hardware") continue;
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return {};
}

}  // namespace

Origin origin_here() {
  const BuildInfo build = build_info();
  const std::string name = processor();
  return {.created = time_now(),
          .machine = fmt::format("{} ({})", name.empty() ? "an unknown processor" : name,
                                 counted(build.cores, "thread")),
          .build = fmt::format("medgrad {} ({}, {}, {})", build.version, build.compiler,
                               build.build_type, build.simd)};
}

}  // namespace medgrad::lab
