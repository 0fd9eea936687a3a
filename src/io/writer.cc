#include <cassert>
#include <charconv>
#include <cmath>

#include "io/csv_dialect.h"
#include "io/npy_header.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {

FileFormat format_of(const std::string& path) {
  if (path.ends_with(".csv") || path.ends_with(".txt")) return FileFormat::csv;
  if (path.ends_with(".json")) return FileFormat::json;
  if (path.ends_with(".npy")) return FileFormat::npy;
  throw Error(path + " does not say what format to write; it has to end in .csv, .json or .npy.");
}

template <Real T>
void append_number(std::string& text, T value) {
  char digits[32];  // the longest float64 has 24
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  assert(error == std::errc());
  text.append(digits, end);
}

RowWriter::RowWriter(const std::string& path, FileFormat format, std::size_t dimension,
                     std::span<const std::string> names)
    : format_(format), out_(path, format == FileFormat::npy), dimension_(dimension) {
  if (names.empty() || format != FileFormat::csv) return;
  for (std::size_t i = 0; i < names.size(); ++i)
    out_.write((i > 0 ? "," : "") + internal::header_field(names[i]));
  out_.write("\n");
}

void RowWriter::npy_header(ElementType type, std::size_t dimension) {
  const std::string header = internal::make_npy_header(type, rows_, dimension);
  if (rows_ == 0) {
    out_.write(header);
  } else {
    out_.patch(0, header);
  }
}

void RowWriter::expect(std::size_t rows, std::size_t dimension, ElementType type) const {
  const double least = format_ != FileFormat::npy     ? 2
                       : type == ElementType::float32 ? sizeof(float)
                                                      : sizeof(double);
  out_.require(static_cast<double>(rows) * static_cast<double>(dimension) * least);
}

template <Real T>
void RowWriter::write(std::span<const T> row) {
  assert(rows_ == 0 || row.size() == dimension_);
  dimension_ = row.size();
  if (format_ == FileFormat::npy) {
    if (rows_ == 0) npy_header(kElementType<T>, dimension_);
    type_ = kElementType<T>;
    out_.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  } else {
    const bool json = format_ == FileFormat::json;
    if (json) out_.write(rows_ == 0 ? "[[" : ",\n [");
    for (std::size_t i = 0; i < row.size(); ++i) {
      text_.clear();
      if (i > 0) text_ += ',';
      if (json && !std::isfinite(row[i])) {
        text_ += "null";  // JSON has no other word for it
      } else {
        append_number(text_, row[i]);
      }
      out_.write(text_);
    }
    out_.write(json ? "]" : "\n");
  }
  ++rows_;
  if (out_.to_terminal()) out_.flush();  // someone is watching
}

void RowWriter::commit() {
  if (format_ == FileFormat::npy) npy_header(type_, dimension_);
  if (format_ == FileFormat::json) out_.write(rows_ == 0 ? "[]\n" : "]\n");
  out_.commit();
}

template void append_number(std::string&, float);
template void append_number(std::string&, double);
template void RowWriter::write(std::span<const float>);
template void RowWriter::write(std::span<const double>);

}  // namespace medgrad
