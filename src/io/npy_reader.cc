// NumPy's .npy files, versions 1 to 3, row by row.
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "io/npy_header.h"
#include "io/row_source.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

class NpyRows final : public RowSource {
 public:
  explicit NpyRows(Input input) : RowSource(std::move(input)), shape_(read_header()) {
    type_ = shape_.type;
    dimension_ = shape_.dimension;
    // Where the size is known, better now than after hours of work.
    if (input_.size()) check_size(*input_.size() - offset_);
  }

  std::size_t position() const override { return row_ - 1; }
  std::optional<std::size_t> rows() const override { return shape_.rows; }

  bool next(void* out) override {
    if (row_ == shape_.rows) {
      if (!input_.peek(1).empty()) fail_trailing();
      return false;
    }
    const std::size_t wanted = shape_.row_bytes();
    const std::size_t got = input_.read({static_cast<char*>(out), wanted});
    if (got < wanted) check_size(row_ * wanted + got);
    ++row_;
    return true;
  }

  std::shared_ptr<const void> map() const override {
    const int file = input_.regular_file();
    // NumPy aligns the data to 64 bytes (16 in old versions); other writers may not.
    if (file < 0 || offset_ % sizeof(double) != 0) return nullptr;
    const std::size_t length = offset_ + data_bytes();
    void* const base = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (base == MAP_FAILED) return nullptr;
    const std::shared_ptr<const void> whole(base, [length](void* p) { ::munmap(p, length); });
    return {whole, static_cast<const char*>(base) + offset_};
  }

 private:
  [[nodiscard]] std::size_t data_bytes() const { return shape_.rows * shape_.row_bytes(); }

  void check_size(std::uint64_t there) const {
    const std::uint64_t promised = data_bytes();
    if (there > promised) fail_trailing();
    if (there < promised) {
      throw Error(name() + " is truncated: the header promises " + std::to_string(promised) +
                  " bytes of data, " + std::to_string(there) + " are there.");
    }
  }

  [[noreturn]] void fail_trailing() const {
    throw Error(name() + " goes on after the " + std::to_string(data_bytes()) +
                " bytes of data that its header promises.");
  }

  [[noreturn]] void fail_short() const {
    throw Error(name() + " is truncated: it ends within the NPY header.");
  }

  NpyShape read_header() {
    constexpr std::size_t kPrefix = kNpyMagic.size() + 2;  // magic and version
    const std::string_view prefix = input_.peek(kPrefix);
    if (prefix.empty()) throw Error(name() + " is empty: there are no rows.");
    if (!prefix.starts_with(kNpyMagic)) {
      throw Error(name() +
                  " is not an NPY file, as its name says: it does not begin with \\x93NUMPY.");
    }
    if (prefix.size() < kPrefix) fail_short();
    const int major = static_cast<unsigned char>(prefix[6]);
    const int minor = static_cast<unsigned char>(prefix[7]);
    if (major < 1 || major > 3 || minor != 0) {
      throw Error(name() + " has NPY version " + std::to_string(major) + "." +
                  std::to_string(minor) + "; versions 1.0 to 3.0 can be read.");
    }
    input_.skip(kPrefix);
    const std::size_t width = major == 1 ? 2 : 4;
    const std::string_view bytes = input_.peek(width);
    if (bytes.size() < width) fail_short();
    std::size_t length = 0;
    for (std::size_t i = width; i-- > 0;)
      length = length << 8 | static_cast<unsigned char>(bytes[i]);
    input_.skip(width);
    // Real headers have about a hundred characters; a damaged length must not allocate gigabytes.
    constexpr std::size_t kLongest = 1 << 20;
    if (length > kLongest) {
      throw Error(name() + " has a malformed NPY header: a length of " + std::to_string(length) +
                  " bytes.");
    }
    std::string text(length, '\0');
    if (input_.read(text) < length) fail_short();
    offset_ = kPrefix + width + length;
    return checked_shape(parse_npy_header(text, name()), name());
  }

  std::size_t offset_ = 0;  // of the data
  NpyShape shape_;
  std::size_t row_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> open_npy(Input input) {
  return std::make_unique<NpyRows>(std::move(input));
}

}  // namespace medgrad::internal
