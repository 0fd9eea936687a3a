#include "language/run_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "medgrad/error.h"

namespace medgrad::language {

LineFile::~LineFile() { close(); }

void LineFile::close() {
  if (handle_ >= 0) ::close(handle_);
  handle_ = -1;
}

void LineFile::open(const std::filesystem::path& path) {
  close();
  path_ = path.string();
  handle_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (handle_ < 0)
    throw Error(
        fmt::format("{} cannot be written: {}.", path_, std::generic_category().message(errno)));
}

void LineFile::write(std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = ::write(handle_, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw std::system_error(errno, std::generic_category(),
                              fmt::format("{} cannot be written", path_));
    line.remove_prefix(static_cast<std::size_t>(n));
  }
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : handle_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (handle_ >= 0 && ::flock(handle_, LOCK_EX | LOCK_NB) == 0) return;
  const bool taken = errno == EWOULDBLOCK;
  if (handle_ >= 0) ::close(handle_);
  // Some file systems have no locks; that is no reason not to run.
  handle_ = -1;
  if (taken) throw Error(fmt::format("{} is in use by another run.", folder.string()));
}

FolderLock::~FolderLock() {
  if (handle_ >= 0) ::close(handle_);
}

}  // namespace medgrad::language
