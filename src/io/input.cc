#include "io/input.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "io/gunzip.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

// Large enough that system calls cost nothing, small enough to stay in the second-level cache.
constexpr std::size_t kBuffer = 1 << 20;
// From here on a system call costs less than copying what it brings out of the buffer.
constexpr std::size_t kDirect = 1 << 16;

int open_or_throw(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return file;
  const int why = errno;
  if (path.empty()) throw Error("The name of a file is empty.");
  if (why == ENOENT) throw Error(path + " does not exist.");
  throw Error(fmt::format("{} cannot be opened: {}.", path, std::generic_category().message(why)));
}

// Compressed files that are no gzip: their first bytes, and what undoes them.
struct Packed {
  std::string_view magic, format, remedy;
};
constexpr Packed kPacked[] = {
    {"\x28\xB5\x2F\xFD", "compressed with zstd", "decompress it first, as with unzstd"},
    {{"\xFD\x37zXZ\0", 6}, "compressed with xz", "decompress it first, as with unxz"},
    {"BZh91AY&SY", "compressed with bzip2", "decompress it first, as with bunzip2"},
    {"PK\x03\x04", "a zip archive (.npz and .xlsx files are)",
     "take the file with the rows out of it, or save it as .csv or .npy"}};

}  // namespace

Input::Input(std::string name, int file, std::span<const char> bytes, std::size_t chunk,
             std::size_t capacity)
    : name_(std::move(name)),
      file_(file),
      memory_(bytes),
      chunk_(std::max<std::size_t>(chunk, 1)),
      capacity_(capacity),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity)) {}

// Delegating, so that the file is closed where the rest throws.
Input::Input(const std::string& path)
    : Input(path == "-" ? "standard input" : path, path == "-" ? STDIN_FILENO : open_or_throw(path),
            {}, kBuffer, kBuffer) {
  struct stat status = {};
  const bool known = ::fstat(file_, &status) == 0;
  if (known && S_ISDIR(status.st_mode))
    throw Error(name_ + " is a folder; a file with rows is needed.");
  // Standard input may be a regular file of which a part has been read already.
  if (known && S_ISREG(status.st_mode) && file_ != STDIN_FILENO)
    size_ = static_cast<std::uint64_t>(status.st_size);
  look_for_compression();
}

Input::Input(std::string name, std::span<const char> bytes, std::size_t chunk)
    : Input(std::move(name), -1, bytes, chunk, 2 * kLongestPeek) {
  size_ = bytes.size();
  look_for_compression();
}

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
      gunzip_(std::move(other.gunzip_)),
      before_waiting_(std::move(other.before_waiting_)) {}

void Input::look_for_compression() {
  // Byte by byte: whoever types at a terminal need not type more than it takes to see a difference.
  const auto begins_with = [this](std::string_view magic) {
    for (std::size_t n = 1; n <= magic.size(); ++n)
      if (peek(n) != magic.substr(0, n)) return false;
    return true;
  };
  for (const Packed& packed : kPacked) {
    if (!begins_with(packed.magic)) continue;
    throw Error(
        fmt::format("{} is {}, which cannot be read; {}.", name_, packed.format, packed.remedy));
  }
  if (!begins_with(kGzipMagic)) return;
  gunzip_ = std::make_unique<Gunzip>(name_, peek());
  begin_ = end_ = 0;
  size_.reset();
}

std::size_t Input::read_some(char* out, std::size_t n) {
  if (!gunzip_) return read_raw(out, n);
  return gunzip_->read({out, std::min(n, chunk_)},
                       [this](std::span<char> raw) { return read_raw(raw.data(), raw.size()); });
}

std::size_t Input::read_raw(char* out, std::size_t n) {
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
    throw Error(
        fmt::format("{} cannot be read: {}.", name_, std::generic_category().message(errno)));
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
    } else if (wanted >= std::min(capacity_, kDirect)) {
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
