#include "base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "medgrad/error.h"

namespace medgrad {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0 && errno == ENOENT) throw Error(fmt::format("{} does not exist.", path));
    if (file_ < 0) fail("opened");
    struct stat status = {};
    if (::fstat(file_, &status) != 0) fail("read");
    if (S_ISDIR(status.st_mode)) {
      ::close(file_);
      throw Error(fmt::format("{} is a folder; it must be a file.", path));
    }
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::size_t>(status.st_size);
  }
  ~Descriptor() { ::close(file_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] std::size_t size() const { return size_; }  // 0 where it is no regular file

  [[noreturn]] void fail(const char* what) const {
    throw Error(
        fmt::format("{} cannot be {}: {}.", path_, what, std::generic_category().message(errno)));
  }

 private:
  const std::string& path_;
  int file_;
  std::size_t size_ = 0;
};

}  // namespace

std::string read_whole(const std::filesystem::path& path) {
  const std::string name = path.string();
  const Descriptor in(name);
  std::string content(in.size() + 1, '\0');  // one more, to see the end without another turn
  std::size_t length = 0;
  for (;;) {
    const ssize_t got = ::read(in.file(), content.data() + length, content.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) in.fail("read");
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (length == content.size()) content.resize(2 * content.size());
  }
  content.resize(length);
  return content;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const std::string name = path.string();
  const Descriptor in(name);
  size_ = in.size();
  if (size_ == 0) return;
  void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, in.file(), 0);
  if (memory == MAP_FAILED) in.fail("mapped into memory");
  data_ = static_cast<const char*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

}  // namespace medgrad
