#include "kernels/simd.h"

#include <fmt/format.h>

#include <cstdlib>

#include "hwy/highway.h"
#include "medgrad/error.h"

namespace medgrad::kernels {
namespace {

int64_t find_target(std::string_view name) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) return target;
  }
  throw Error(fmt::format("MEDGRAD_SIMD asks for '{}'; this machine and build have {}.", name,
                          fmt::join(simd_targets(), ", ")));
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

bool choose_simd_target() {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  const char* const wanted = std::getenv("MEDGRAD_SIMD");
  if (wanted != nullptr && *wanted != '\0') hwy::GetChosenTarget().Update(find_target(wanted));
  return true;
}

std::string simd_target() {
  simd_ready();
  const std::size_t index = hwy::GetChosenTarget().GetIndex();
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::ChosenTarget candidate;
    candidate.Update(target);
    if (candidate.GetIndex() == index) return hwy::TargetName(target);
  }
  return "unknown";
}

void force_simd_target(std::string_view name) {
  simd_ready();
  hwy::GetChosenTarget().Update(find_target(name));
}

}  // namespace medgrad::kernels
