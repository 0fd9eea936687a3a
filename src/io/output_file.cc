// Files that appear whole or not at all: written beside their final place, then renamed.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

constexpr std::size_t kBuffer = 1 << 16;

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(),
                          (path == "-" ? "standard output" : path) + " cannot be written");
}

void write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Where a symbolic link points: the file is to be replaced, not the link.
std::string followed(const std::string& path) {
  char* const resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result = resolved;
  std::free(resolved);
  return result;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// "3.2 GB", in the powers of ten that disks are sold by.
std::string bytes_text(double bytes) {
  constexpr std::string_view kUnits[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  std::array<char, 32> digits = {};
  std::snprintf(digits.data(), digits.size(), "%.3g ", bytes);
  return digits.data() + std::string(kUnits[unit]);
}

// The name under which the system knows an open file that has none.
std::string link_to(int file) { return "/proc/self/fd/" + std::to_string(file); }

}  // namespace

OutputFile::OutputFile(const std::string& path, bool patched) : path_(path) {
  struct stat status = {};
  if (path == "-") {
    direct_ = STDOUT_FILENO;
  } else if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw Error(fmt::format("{} cannot be written: it is a folder.", path));
  } else if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    direct_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    owns_direct_ = true;
    if (direct_ < 0)
      throw Error(
          fmt::format("{} cannot be written: {}.", path, std::generic_category().message(errno)));
  }
  if (direct_ < 0) {
    open_for_renaming();
  } else if (patched) {
    spool();
  } else {
    kind_ = Kind::direct;
    file_ = direct_;
    terminal_ = ::isatty(file_) == 1;
  }
}

void OutputFile::open_for_renaming() {
  path_ = followed(path_);
  struct stat status = {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  // A file without a name, where the file system has that: if we are killed nothing is left.
  file_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (file_ >= 0 && ::access(link_to(file_).c_str(), F_OK) != 0) ::close(std::exchange(file_, -1));
  if (file_ < 0) {
    try_names([this](const std::string& name) {
      file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return file_ >= 0;
    });
  }
  if (file_ < 0) {
    const int why = errno;
    if (why == ENOENT)
      throw Error(
          fmt::format("{} cannot be written: there is no folder {}.", path_, folder_of(path_)));
    throw Error(
        fmt::format("{} cannot be written: {}.", path_, std::generic_category().message(why)));
  }
  if (exists && ::fchmod(file_, status.st_mode & 07777) != 0) {
    // A file system without modes; the content matters more.
  }
}

// Calls make(name) with names beside the final one until it succeeds, which sets temporary_, or
// fails for another reason than that the name is taken.
template <class Make>
void OutputFile::try_names(Make make) {
  for (unsigned attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), attempt);
    if (make(name)) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) return;
  }
}

void OutputFile::spool() {
  kind_ = Kind::spooled;
  const char* const folder = std::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp");
  name += "/medgrad-XXXXXX";
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) fail(name);
  ::unlink(name.c_str());  // lives on until it is closed
}

OutputFile::~OutputFile() {
  if (file_ >= 0 && file_ != direct_) ::close(file_);
  if (owns_direct_ && direct_ >= 0) ::close(direct_);
  if (!temporary_.empty() && !committed_) ::unlink(temporary_.c_str());
}

void OutputFile::require(double bytes) const {
  struct statvfs disk = {};
  // File systems that do not know how large they are say 0 blocks.
  if (kind_ != Kind::renamed || ::fstatvfs(file_, &disk) != 0 || disk.f_blocks == 0) return;
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (bytes <= free) return;
  throw Error(
      fmt::format("{} cannot be written: it takes at least {}, and {} are free on that disk.",
                  path_, bytes_text(bytes), bytes_text(free)));
}

void OutputFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() > kBuffer) {
    write_all(file_, bytes, path_);
  } else {
    buffer_ += bytes;
  }
}

void OutputFile::flush() {
  write_all(file_, buffer_, path_);
  buffer_.clear();
}

void OutputFile::patch(std::size_t offset, std::string_view bytes) {
  assert(kind_ != Kind::direct);
  flush();
  const ssize_t n = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (n != static_cast<ssize_t>(bytes.size())) fail(path_);
}

void OutputFile::commit() {
  flush();
  switch (kind_) {
    case Kind::renamed:
      // On disk before it has its name: after a power cut there is the old file or the new one.
      if (::fsync(file_) != 0 && errno != EINVAL) fail(path_);
      if (temporary_.empty()) {
        try_names([this](const std::string& name) {
          return ::linkat(AT_FDCWD, link_to(file_).c_str(), AT_FDCWD, name.c_str(),
                          AT_SYMLINK_FOLLOW) == 0;
        });
        if (temporary_.empty()) fail(path_);
      }
      if (::close(std::exchange(file_, -1)) != 0) fail(path_);
      if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_);
      break;
    case Kind::spooled: {
      std::string bytes(kBuffer, '\0');
      if (::lseek(file_, 0, SEEK_SET) != 0) fail(path_);
      for (;;) {
        const ssize_t n = ::read(file_, bytes.data(), bytes.size());
        if (n < 0) fail(path_);
        if (n == 0) break;
        write_all(direct_, std::string_view(bytes).substr(0, static_cast<std::size_t>(n)), path_);
      }
      break;
    }
    case Kind::direct:
      break;
  }
  committed_ = true;
}

void write_file(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace medgrad
