#include "lab/folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "base/remedy.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".making-";

bool is_ours(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "config.json" || name == "results.csv" || name == "summary.json" ||
         name == "figures.json" || file.extension() == ".svg" || file.extension() == ".pdf";
}

// Swaps two folders in one step. Some file systems cannot; then the old one is moved aside first,
// and is never lost.
void exchange(const fs::path& a, const fs::path& b) {
  if (syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0)
    return;
  const fs::path aside = b.string() + ".old";
  fs::rename(b, aside);
  fs::rename(a, b);
  fs::rename(aside, a);
}

}  // namespace

ResultFolder::ResultFolder(fs::path place) : place_(std::move(place)) {
  std::error_code failed;
  if (fs::is_symlink(place_, failed) && fs::exists(place_, failed)) place_ = fs::canonical(place_);
  const bool ours = fs::is_directory(place_, failed) &&
                    (fs::is_empty(place_, failed) || fs::exists(place_ / "summary.json", failed));
  if (fs::exists(fs::symlink_status(place_, failed)) && !ours)
    throw WithRemedy<Error>([place = place_.string()](const auto& name) {
      return fmt::format("{} exists already and is not a result folder; choose another {}.", place,
                         name("out"));
    });
  making_ =
      place_.parent_path() / fmt::format("{}{}-{}", kPrefix, getpid(), place_.filename().string());
  fs::create_directories(making_, failed);
  if (failed)
    throw Error(fmt::format("{} cannot be created: {}.", making_.string(), failed.message()));
}

ResultFolder::ResultFolder(ResultFolder&& other) noexcept
    : place_(std::move(other.place_)), making_(std::move(other.making_)) {
  other.making_.clear();
}

ResultFolder::~ResultFolder() {
  std::error_code ignored;
  if (!making_.empty()) fs::remove_all(making_, ignored);
}

void ResultFolder::write(const std::string& name, std::string_view bytes) const {
  std::ofstream file(making_ / name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), (making_ / name).string());
}

void ResultFolder::commit() {
  if (!fs::exists(place_)) {
    std::error_code failed;
    fs::rename(making_, place_, failed);
    if (!failed) {
      making_.clear();
      return;
    }
    // Where it is there by now, another process was faster by a moment.
    if (!fs::exists(place_)) throw fs::filesystem_error("rename", making_, place_, failed);
  }
  exchange(making_, place_);
  for (const auto& entry : fs::directory_iterator(making_)) {
    std::error_code ignored;
    if (!is_ours(entry.path())) fs::rename(entry.path(), place_ / entry.path().filename(), ignored);
  }
}

void remove_leftovers(const fs::path& out) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(out, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    long process = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), process);
    const bool running =
        process > 0 && (kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
    if (!running) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace medgrad::lab
