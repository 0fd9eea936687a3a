#include "io/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

// Large enough that system calls cost nothing, small enough to stay in the second-level cache.
constexpr std::size_t kBuffer = 1 << 20;

int open_or_throw(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return file;
  const int why = errno;
  if (path.empty()) throw Error("The name of a file is empty.");
  if (why == ENOENT) throw Error(path + " does not exist.");
  throw Error(path + " cannot be opened: " + std::generic_category().message(why) + ".");
}

}  // namespace

Input::Input(const std::string& path)
    : name_(path == "-" ? "standard input" : path),
      file_(path == "-" ? STDIN_FILENO : open_or_throw(path)),
      chunk_(kBuffer),
      capacity_(kBuffer) {
  struct stat status = {};
  const bool known = ::fstat(file_, &status) == 0;
  if (known && S_ISDIR(status.st_mode)) {
    if (file_ != STDIN_FILENO) ::close(file_);
    throw Error(name_ + " is a folder; a file with rows is needed.");
  }
  // Standard input may be a regular file of which a part has been read already.
  if (known && S_ISREG(status.st_mode) && file_ != STDIN_FILENO)
    size_ = static_cast<std::uint64_t>(status.st_size);
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
}

Input::Input(std::string name, std::span<const char> bytes, std::size_t chunk)
    : name_(std::move(name)),
      memory_(bytes),
      chunk_(std::max<std::size_t>(chunk, 1)),
      size_(bytes.size()),
      capacity_(2 * kLongestPeek),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

Input::~Input() {
  if (file_ > STDIN_FILENO) ::close(file_);
}

Input::Input(Input&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::exchange(other.file_, -1)),
      memory_(other.memory_),
      chunk_(other.chunk_),
      size_(other.size_),
      capacity_(other.capacity_),
      begin_(other.begin_),
      end_(other.end_),
      buffer_(std::move(other.buffer_)),
      before_waiting_(std::move(other.before_waiting_)) {}

std::size_t Input::read_some(char* out, std::size_t n) {
  n = std::min(n, chunk_);
  if (file_ < 0) {
    n = std::min(n, memory_.size());
    std::copy_n(memory_.data(), n, out);
    memory_ = memory_.subspan(n);
    return n;
  }
  struct pollfd ready = {file_, POLLIN, 0};
  if (before_waiting_ && ::poll(&ready, 1, 0) == 0) before_waiting_();
  for (;;) {
    const ssize_t got = ::read(file_, out, n);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw Error(name_ + " cannot be read: " + std::generic_category().message(errno) + ".");
  }
}

bool Input::more() {
  assert(end_ - begin_ < capacity_);
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t got = read_some(buffer_.get() + end_, capacity_ - end_);
  end_ += got;
  return got > 0;
}

std::string_view Input::peek(std::size_t n) {
  assert(n <= kLongestPeek);
  while (end_ - begin_ < n && more()) {
  }
  return peek().substr(0, n);
}

std::size_t Input::read(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = out.size() - done;
    if (begin_ < end_) {
      const std::size_t n = std::min(wanted, end_ - begin_);
      std::memcpy(out.data() + done, buffer_.get() + begin_, n);
      begin_ += n;
      done += n;
    } else if (wanted >= capacity_) {
      const std::size_t n = read_some(out.data() + done, wanted);
      if (n == 0) break;
      done += n;
    } else if (!more()) {
      break;
    }
  }
  return done;
}

}  // namespace medgrad::internal
