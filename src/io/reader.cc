#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "io/row_source.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace internal {

namespace {

std::unique_ptr<RowSource> open(Input input) {
  const bool named_npy = input.name().ends_with(".npy") || input.name().ends_with(".npy.gz");
  // A first byte that is not the magic's settles it: whoever types at a terminal need not fill six.
  const bool is_npy = input.peek(1) == kNpyMagic.substr(0, 1);
  return named_npy || is_npy ? open_npy(std::move(input)) : open_csv(std::move(input));
}

}  // namespace
}  // namespace internal

RowReader::RowReader(const std::string& path) : source_(internal::open(internal::Input(path))) {}
RowReader::RowReader(std::string name, std::span<const char> bytes, std::size_t chunk)
    : source_(internal::open(internal::Input(std::move(name), bytes, chunk))) {}
RowReader::~RowReader() = default;
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;

const std::string& RowReader::name() const { return source_->name(); }
ElementType RowReader::element_type() const { return source_->element_type(); }
std::size_t RowReader::dimension() const { return source_->dimension(); }
std::optional<std::size_t> RowReader::rows() const { return source_->rows(); }

void RowReader::turn_row() { source_->turn_row(); }

std::span<const std::string> RowReader::columns() const { return source_->columns(); }
std::string RowReader::note() const { return source_->note(); }

void RowReader::before_waiting(std::function<void()> call) {
  source_->before_waiting(std::move(call));
}

std::string RowReader::where() const {
  return source_->rows() ? internal::row_of(name(), source_->position())
                         : internal::line_of(name(), source_->position());
}

template <Real T>
bool RowReader::next(std::span<T> row) {
  assert(row.size() == dimension());
  if (element_type() == kElementType<T>) return source_->next(row.data());
  if constexpr (std::is_same_v<T, double>) {
    floats_.resize(row.size());
    if (!source_->next(floats_.data())) return false;
    std::copy(floats_.begin(), floats_.end(), row.begin());
  } else {
    doubles_.resize(row.size());
    if (!source_->next(doubles_.data())) return false;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double x = doubles_[i];
      row[i] = static_cast<float>(x);
      if (std::isinf(row[i]) && !std::isinf(x)) {
        std::string value;
        append_number(value, x);
        throw Error(fmt::format("{}, {}: {} is too large for a float32.", where(),
                                internal::column_of(i, columns()), value));
      }
    }
  }
  return true;
}

template bool RowReader::next<float>(std::span<float>);
template bool RowReader::next<double>(std::span<double>);

}  // namespace medgrad
