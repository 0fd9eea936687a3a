#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "io/row_source.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

// Columns are told apart by their place; names that contradict it mean that the files do not belong
// together, or have their columns in another order.
void check_names(const RowReader& first, const RowReader& reader) {
  const auto expected = first.columns(), given = reader.columns();
  for (std::size_t i = 0; i < std::min(expected.size(), given.size()); ++i) {
    if (expected[i] == given[i]) continue;
    throw Error(fmt::format("{} names column {} {} where {} has {}; the columns must be the same.",
                            reader.name(), i + 1, internal::quoted(given[i]), first.name(),
                            internal::quoted(expected[i])));
  }
}

}  // namespace

template <Real T>
Matrix<T>::Matrix(std::span<RowReader> readers) {
  const RowReader* named = nullptr;
  for (RowReader& reader : readers) {
    if (d_ == 0) d_ = reader.dimension();
    if (reader.dimension() != d_) {
      throw Error(fmt::format("{} has rows of {} where {} has rows of {}.", reader.name(),
                              counted(reader.dimension(), "value"), readers.front().name(), d_));
    }
    if (named != nullptr) check_names(*named, reader);
    if (named == nullptr && !reader.columns().empty()) {
      named = &reader;
      columns_.assign(reader.columns().begin(), reader.columns().end());
    }
    take(reader);
    if (std::string note = reader.note(); !note.empty()) notes_.push_back(std::move(note));
  }
}

template <Real T>
void Matrix<T>::take(RowReader& reader) {
  Origin origin{.first_row = rows_.size(), .name = reader.name(), .lines = {}};
  if (reader.element_type() == kElementType<T> && reader.rows()) {
    if (std::shared_ptr<const void> mapped = reader.source_->map()) {
      const T* const data = static_cast<const T*>(mapped.get());
      for (std::size_t i = 0; i < *reader.rows(); ++i) rows_.push_back(data + i * d_);
      storage_.push_back(std::move(mapped));
      origins_.push_back(std::move(origin));
      return;
    }
  }
  // Blocks of rows, so that nothing has to be moved when more come than was thought.
  constexpr std::size_t kBlockBytes = 1 << 20;
  const std::size_t per_block = std::max<std::size_t>(1, kBlockBytes / (d_ * sizeof(T)));
  std::size_t used = per_block;
  T* block = nullptr;
  for (;; ++used) {
    if (used == per_block) {
      // Left uninitialised: a large block is only touched where rows arrive.
      const std::shared_ptr<T> memory(new T[per_block * d_], std::default_delete<T[]>());
      block = memory.get();
      storage_.push_back(memory);
      used = 0;
    }
    T* const row = block + used * d_;
    if (!reader.next(std::span<T>(row, d_))) break;
    rows_.push_back(row);
    if (!reader.rows()) origin.lines.push_back(reader.source_->position());
  }
  origins_.push_back(std::move(origin));
}

template <Real T>
std::string Matrix<T>::where(std::size_t i) const {
  auto origin = std::find_if(origins_.rbegin(), origins_.rend(),
                             [i](const Origin& o) { return o.first_row <= i; });
  const std::size_t row = i - origin->first_row;
  return origin->lines.empty() ? internal::row_of(origin->name, row)
                               : internal::line_of(origin->name, origin->lines[row]);
}

AnyMatrix read_matrix(std::span<const std::string> paths) {
  std::vector<RowReader> readers;
  for (const std::string& path : paths) readers.emplace_back(path);
  const bool floats = std::all_of(readers.begin(), readers.end(), [](const RowReader& r) {
    return r.element_type() == ElementType::float32;
  });
  if (floats) return Matrix<float>(readers);
  return Matrix<double>(readers);
}

template <Real T>
std::vector<T> read_vector(const std::string& path, std::size_t expected, std::string_view because,
                           std::vector<std::string>* notes) {
  RowReader reader(path);
  std::vector<T> values;
  std::vector<T> row(reader.dimension());
  std::size_t rows = 0;
  // One row more than can be right is enough to know that it is wrong.
  for (; rows <= expected && reader.next(std::span<T>(row)); ++rows)
    values.insert(values.end(), row.begin(), row.end());
  if (std::string note = reader.note(); notes != nullptr && !note.empty())
    notes->push_back(std::move(note));
  if (rows > 1 && reader.dimension() > 1)
    throw Error(reader.name() + " has several rows; one vector is needed.");
  if (values.size() != expected) {
    const bool cut = rows > expected;  // there may be more that were not read
    throw Error(fmt::format("{} has {}{} where {}.", reader.name(), cut ? "more than " : "",
                            counted(cut ? expected : values.size(), "value"), because));
  }
  return values;
}

template class Matrix<float>;
template class Matrix<double>;
template std::vector<float> read_vector(const std::string&, std::size_t, std::string_view,
                                        std::vector<std::string>*);
template std::vector<double> read_vector(const std::string&, std::size_t, std::string_view,
                                         std::vector<std::string>*);

}  // namespace medgrad
