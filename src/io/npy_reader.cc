// NumPy's .npy files, versions 1 to 3, row by row.
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "io/npy_header.h"
#include "io/row_source.h"
#include "medgrad/error.h"

namespace medgrad::internal {
namespace {

// What both orders have in common: the header, and data as long as it says.
class NpyFile : public RowSource {
 public:
  NpyFile(Input input, const NpyStart& start)
      : RowSource(std::move(input)), shape_(start.shape), offset_(start.offset) {
    type_ = shape_.type.element_type();
    dimension_ = shape_.dimension;
    // Where the size is known, better now than after hours of work.
    if (input_.size()) check_size(*input_.size() - offset_);
  }

  std::size_t position() const override { return row_ - 1; }
  std::optional<std::size_t> rows() const override { return shape_.rows; }
  void turn_row() override {
    if (shape_.rows == 1) std::swap(shape_.rows, shape_.dimension);
    dimension_ = shape_.dimension;
  }

  std::string note() const override {
    if (shape_.type.is_native() && !shape_.by_columns) return {};
    std::string text = fmt::format("{} holds {}", name(), shape_.type.name());
    if (shape_.by_columns) text += " in Fortran order";
    text += type_ == ElementType::float32 ? "; it was read as float32" : "; it was read as float64";
    if (rounded_ > 0)
      text += fmt::format(", and {} beyond 2^53 had to be rounded", counted(rounded_, "integer"));
    return text + ".";
  }

 protected:
  void check_size(std::uint64_t there) const {
    const std::uint64_t promised = shape_.bytes();
    if (there > promised) fail_trailing();
    if (there < promised) {
      throw Error(fmt::format("{} is truncated: the header promises {} of data, {} there.", name(),
                              counted(promised, "byte"), counted(there, "is", "are")));
    }
  }

  [[noreturn]] void fail_trailing() const {
    throw Error(fmt::format("{} goes on after the {} of data that its header promises.", name(),
                            counted(shape_.bytes(), "byte")));
  }

  template <Real T>
  void convert_to(std::span<T> out, const char* in) {
    rounded_ += convert(shape_.type, in, out);
  }

  NpyShape shape_;
  const std::size_t offset_;  // of the data
  std::size_t row_ = 0;

 private:
  std::size_t rounded_ = 0;
};

class NpyRows final : public NpyFile {
 public:
  using NpyFile::NpyFile;

  bool next(void* out) override {
    if (row_ == shape_.rows) {
      if (!input_.peek(1).empty()) fail_trailing();
      return false;
    }
    const std::size_t wanted = shape_.row_bytes();
    const bool native = shape_.type.is_native();
    if (!native) raw_.resize(wanted);
    const std::size_t got = input_.read({native ? static_cast<char*>(out) : raw_.data(), wanted});
    if (got < wanted) check_size(row_ * wanted + got);
    if (!native && type_ == ElementType::float32)
      convert_to(std::span(static_cast<float*>(out), dimension_), raw_.data());
    if (!native && type_ == ElementType::float64)
      convert_to(std::span(static_cast<double*>(out), dimension_), raw_.data());
    ++row_;
    return true;
  }

  std::shared_ptr<const void> map() const override {
    const int file = input_.regular_file();
    // NumPy aligns the data to 64 bytes (16 in old versions); other writers may not.
    if (file < 0 || offset_ % sizeof(double) != 0 || !shape_.type.is_native()) return nullptr;
    const std::size_t length = offset_ + shape_.bytes();
    void* const base = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (base == MAP_FAILED) return nullptr;
    const std::shared_ptr<const void> whole(base, [length](void* p) { ::munmap(p, length); });
    return {whole, static_cast<const char*>(base) + offset_};
  }

 private:
  std::vector<char> raw_;  // a row on its way to another type
};

// Fortran order: one column after the other. Rows are put together in blocks, so that a file takes
// the memory of a block; what comes compressed or through a pipe has to be held as a whole.
class NpyColumns final : public NpyFile {
 public:
  NpyColumns(Input input, const NpyStart& start) : NpyFile(std::move(input), start) {
    if (input_.regular_file() < 0) hold();
    // Pieces of columns long enough that reading each costs little.
    constexpr std::size_t kBlockBytes = 1 << 23, kFewest = 64;
    per_block_ = std::max(kBlockBytes / sizeof(double) / dimension_, kFewest);
    per_block_ = std::min(per_block_, shape_.rows);
    piece_.resize(per_block_ * shape_.type.size);
  }

  bool next(void* out) override {
    if (row_ == shape_.rows) return false;
    if (type_ == ElementType::float32) {
      take(floats_, static_cast<float*>(out));
    } else {
      take(doubles_, static_cast<double*>(out));
    }
    ++row_;
    return true;
  }

 private:
  void hold() {
    // Grown as the data come: a header that promises too much must not take memory for it.
    constexpr std::size_t kStep = 1 << 20;
    const std::size_t promised = shape_.bytes();
    while (held_.size() < promised) {
      const std::size_t before = held_.size(), wanted = std::min(kStep, promised - before);
      held_.resize(before + wanted);
      const std::size_t got = input_.read(std::span(held_).subspan(before));
      if (got < wanted) check_size(before + got);
    }
    if (!input_.peek(1).empty()) fail_trailing();
  }

  template <Real T>
  struct Block {
    std::vector<T> rows, column;
  };

  template <Real T>
  void take(Block<T>& block, T* out) {
    const std::size_t in_block = row_ % per_block_, d = dimension_;
    if (in_block == 0) {
      const std::size_t count = std::min(per_block_, shape_.rows - row_);
      block.rows.resize(count * d);
      block.column.resize(count);
      for (std::size_t j = 0; j < d; ++j) {
        convert_to(std::span(block.column), piece_of_column(j, count));
        for (std::size_t i = 0; i < count; ++i) block.rows[i * d + j] = block.column[i];
      }
    }
    std::copy_n(block.rows.data() + in_block * d, d, out);
  }

  // `count` elements of column j from the current row on.
  const char* piece_of_column(std::size_t j, std::size_t count) {
    const std::size_t first = (j * shape_.rows + row_) * shape_.type.size;
    if (!held_.empty()) return held_.data() + first;
    const std::size_t wanted = count * shape_.type.size;
    for (std::size_t got = 0; got < wanted;) {
      const ssize_t n = ::pread(input_.regular_file(), piece_.data() + got, wanted - got,
                                static_cast<off_t>(offset_ + first + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        throw Error(
            fmt::format("{} cannot be read: {}.", name(), std::generic_category().message(errno)));
      }
      if (n == 0) check_size(first + got);  // it was longer when we opened it
      got += static_cast<std::size_t>(n);
    }
    return piece_.data();
  }

  std::size_t per_block_ = 1;
  std::vector<char> held_, piece_;
  Block<float> floats_;
  Block<double> doubles_;
};

}  // namespace

std::unique_ptr<RowSource> open_npy(Input input) {
  const NpyStart start = read_npy_start(input);
  if (start.shape.by_columns) return std::make_unique<NpyColumns>(std::move(input), start);
  return std::make_unique<NpyRows>(std::move(input), start);
}

}  // namespace medgrad::internal
