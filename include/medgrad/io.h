// Vectors in and out of files: rows are vectors, one after the other, whatever the file's size.
//
// Read are text (CSV with or without a header line) and NumPy's .npy (any real type, byte order and
// memory order), both also gzipped; written are CSV and JSON with the fewest digits that read back
// to the same number, and .npy. A file that is written appears whole or not at all.
//
// What is wrong with a file is an Error of one sentence that names the file and the line, as in
// "data.csv:3, column 2 ('loss'): 'abc' is not a number.".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "medgrad/distance.h"
#include "medgrad/export.h"
#include "medgrad/rows.h"

#pragma GCC visibility push(default)
namespace medgrad {

enum class ElementType : std::uint8_t { float32, float64 };
enum class FileFormat : std::uint8_t { csv, json, npy };

template <Real T>
inline constexpr ElementType kElementType =
    std::is_same_v<T, float> ? ElementType::float32 : ElementType::float64;

// ---- Reading ------------------------------------------------------------------------------------

namespace internal {
class RowSource;
}

// The rows of one file, in the memory of a few rows and a buffer.
//
// What a file is, its first bytes tell: gzip (its content is then looked at in the same way), NPY
// (a name that ends in .npy or .npy.gz must be), and text otherwise.
//
// Text: `#` starts a comment, empty lines count for nothing, lines end as on Unix or Windows,
// numbers may stand in quotes. The first line that is neither empty nor a comment decides two
// things for the whole file:
// - columns are separated by `;` where it has one, else by `,`, else by tabs, else by blanks; there
//   may be blanks around every number;
// - it is a header line, with the names of the columns, where it has words and no number.
// nan and inf in any case are numbers here, what to do with them is for the caller to say. Too
// small a number becomes 0. A number that is too large, one with a decimal comma, or an empty field
// is an Error.
//
// NPY: two dimensions are rows, one is a single row, none a single row of one value. float16 and
// float32 are read as float, float64, integers and bool as double; what is not native float32 or
// float64 in C order is converted, and note() says so. Fortran order takes the memory of a block of
// rows, and of everything where it comes compressed or through a pipe.
class RowReader {
 public:
  // Opens the file ("-" is standard input) and looks at its beginning: a file without rows is an
  // Error here.
  explicit RowReader(const std::string& path);
  // The same on bytes in memory, which must outlive the reader. `chunk` is how many of them one
  // read yields at most: tests use it to put the seams between reads everywhere.
  RowReader(std::string name, std::span<const char> bytes, std::size_t chunk = 1 << 16);
  ~RowReader();
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;

  [[nodiscard]] const std::string& name() const;          // as messages call it
  [[nodiscard]] ElementType element_type() const;         // text is float64
  [[nodiscard]] std::size_t dimension() const;            // of every row; at least 1
  [[nodiscard]] std::optional<std::size_t> rows() const;  // where the file says so up front (NPY)

  // Where rows() is 1, its entries are rows of one number each from now on: however long it is, it
  // need not be held. Before the first row; elsewhere nothing happens.
  void turn_row();

  // The names in the header line; empty where there is none.
  [[nodiscard]] std::span<const std::string> columns() const;

  // The next row into `row`, of dimension() elements; false after the last one. A float64 that no
  // float can hold is an Error where T is float.
  template <Real T>
  bool next(std::span<T> row);

  // `call` comes before a read that has to wait: whoever follows a live stream flushes there.
  void before_waiting(std::function<void()> call);

  // Where the row came from that next() gave last: "data.csv:3" (a line, counted from 1), or
  // "data.npy, row 2" (also counted from 1).
  [[nodiscard]] std::string where() const;

  // One sentence on what was converted so far, for people to see: "x.npy holds int64; it was read
  // as float64, and 3 integers beyond 2^53 had to be rounded."; empty where nothing was.
  [[nodiscard]] std::string note() const;

 private:
  template <Real T>
  friend class Matrix;  // maps files instead of reading them, where it can

  std::unique_ptr<internal::RowSource> source_;
  std::vector<float> floats_;  // a row on its way to the other element type
  std::vector<double> doubles_;
};

// All rows of some files, in memory or mapped from disk.
template <Real T>
class Matrix {
 public:
  // All of the same dimension, and with the same names where they have a header line.
  explicit Matrix(std::span<RowReader> readers);

  [[nodiscard]] std::size_t n() const { return rows_.size(); }
  [[nodiscard]] std::size_t d() const { return d_; }
  [[nodiscard]] Rows<T> rows() const { return Rows<T>(std::span<const T* const>(rows_), d_); }
  [[nodiscard]] std::span<const T> row(std::size_t i) const { return {rows_[i], d_}; }
  // Where row i came from, as RowReader::where().
  [[nodiscard]] std::string where(std::size_t i) const;
  // The names in the header line, and RowReader::note() of the files that have one.
  [[nodiscard]] std::span<const std::string> columns() const { return columns_; }
  [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

 private:
  void take(RowReader& reader);

  std::size_t d_ = 0;
  std::vector<const T*> rows_;
  std::vector<std::shared_ptr<const void>> storage_;  // what rows_ points into
  struct Origin {
    std::size_t first_row;
    std::string name;
    std::vector<std::size_t> lines;  // of text; empty for NPY
  };
  std::vector<Origin> origins_;
  std::vector<std::string> columns_, notes_;
};

using AnyMatrix = std::variant<Matrix<float>, Matrix<double>>;

// The rows of all files, which must agree in length: as float where all files are float32, else as
// double. Plain .npy files in native order are mapped, not read, so they may exceed the memory.
[[nodiscard]] AnyMatrix read_matrix(std::span<const std::string> paths);

// The vector in a file: one row, or one value per row. Its length must be `expected`; `because`
// says why in the Error: "x.csv has 2 values where <there are 4 rows>.". RowReader::note() is added
// to `notes`.
template <Real T>
[[nodiscard]] MEDGRAD_EXPORT std::vector<T> read_vector(const std::string& path,
                                                        std::size_t expected,
                                                        std::string_view because,
                                                        std::vector<std::string>* notes = nullptr);

// ---- Writing ------------------------------------------------------------------------------------

// Bytes to a file that appears under its name, complete and on disk, at commit(), and never if
// commit() is not reached. "-" is standard output; it and what is no regular file (a device, a
// pipe) are written directly.
//
// A place that cannot be written is an Error in the constructor; failures later (a full disk, a
// closed pipe) are std::system_error.
class OutputFile {
 public:
  // `patched`: patch() will be called, so bytes for a pipe are held back until commit().
  explicit OutputFile(const std::string& path, bool patched = false);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throws Error where it is known that so many bytes do not fit on the disk.
  void require(double bytes) const;
  void write(std::string_view bytes);
  void patch(std::size_t offset, std::string_view bytes);  // overwrites what has been written
  void flush();
  void commit();
  [[nodiscard]] bool to_terminal() const { return terminal_; }

 private:
  enum class Kind : std::uint8_t { renamed, direct, spooled };
  void open_for_renaming();
  template <class Make>
  void try_names(Make make);
  void spool();

  std::string path_, temporary_, buffer_;
  Kind kind_ = Kind::renamed;
  int file_ = -1, direct_ = -1;
  bool owns_direct_ = false, terminal_ = false, committed_ = false;
};

// Writes a whole (small) file.
void write_file(const std::string& path, std::string_view bytes);

// "out.csv" -> csv, by the ending; an Error that names the known ones where there is none.
[[nodiscard]] FileFormat format_of(const std::string& path);

// Rows to a file or to standard output ("-"). JSON is an array of arrays; NPY is two-dimensional
// and has the element type of the first row.
class RowWriter {
 public:
  // `dimension`, the length of the rows, matters where none is written: the shape of an empty NPY.
  // `names` are the header line of CSV; other formats have none.
  RowWriter(const std::string& path, FileFormat format, std::size_t dimension = 0,
            std::span<const std::string> names = {});

  // Throws Error where that many rows do not fit on the disk: better now than when it is full. The
  // size of NPY is known, that of text at least 2 characters per number.
  void expect(std::size_t rows, std::size_t dimension, ElementType type) const;

  template <Real T>
  void write(std::span<const T> row);
  void flush() { out_.flush(); }
  void commit();

 private:
  void npy_header(ElementType type, std::size_t dimension);

  FileFormat format_;
  ElementType type_ = ElementType::float64;
  OutputFile out_;
  std::size_t rows_ = 0, dimension_ = 0;
  std::string text_;
};

// The fewest characters that read back to the same number of that type: "0.1", "1e+300", "nan".
template <Real T>
MEDGRAD_EXPORT void append_number(std::string& text, T value);

}  // namespace medgrad
#pragma GCC visibility pop
