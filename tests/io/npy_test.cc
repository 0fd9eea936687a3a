// NPY files: versions, shapes, element types, and everything that can be damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "io/npy_header.h"
#include "io/temporary_folder.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

// A file with that dictionary and that many bytes of data, counting up as float64 1, 2, 3…
std::string npy(const std::string& dictionary, std::size_t bytes, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0'};
  const std::size_t length = dictionary.size();
  file += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  if (version > 1) file += {'\0', '\0'};
  file += dictionary;
  std::string data;
  for (double x = 1; data.size() < bytes; ++x)
    data.append(reinterpret_cast<const char*>(&x), sizeof x);
  return file + data.substr(0, bytes);
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

std::vector<std::vector<double>> read(const std::string& file, std::size_t chunk = 1 << 16) {
  RowReader reader("x.npy", file, chunk);
  std::vector<std::vector<double>> table;
  std::vector<double> row(reader.dimension());
  while (reader.next(std::span(row))) table.push_back(row);
  return table;
}

TEST(Npy, ReadsVersionsOneToThree) {
  for (const char version : {'\x01', '\x02', '\x03'}) {
    for (const std::size_t chunk : {1U, 3U, 1U << 16}) {
      const auto table = read(npy(dictionary("<f8", "(2, 3)"), 48, version), chunk);
      EXPECT_EQ(table, (std::vector<std::vector<double>>{{1, 2, 3}, {4, 5, 6}}));
    }
  }
}

TEST(Npy, NoDimensionIsOneValue) {
  EXPECT_EQ(read(npy(dictionary("<f8", "()"), 8)), (std::vector<std::vector<double>>{{1}}));
}

TEST(Npy, OneDimensionIsOneRow) {
  EXPECT_EQ(read(npy(dictionary("<f8", "(3,)"), 24)),
            (std::vector<std::vector<double>>{{1, 2, 3}}));
}

TEST(Npy, OneRowMayBeAColumn) {
  const auto turned = [](const std::string& file) {
    RowReader reader("x.npy", file);
    reader.turn_row();
    std::vector<std::vector<double>> rows;
    std::vector<double> row(reader.dimension());
    while (reader.next(std::span(row))) rows.push_back(row);
    EXPECT_EQ(reader.rows(), rows.size());
    return rows;
  };
  const std::vector<std::vector<double>> column = {{1}, {2}, {3}};
  EXPECT_EQ(turned(npy(dictionary("<f8", "(3,)"), 24)), column);
  EXPECT_EQ(turned(npy(dictionary("<f8", "(1, 3)"), 24)), column);
  EXPECT_EQ(turned(npy(dictionary("<f8", "(3, 1)"), 24)), column);
  EXPECT_EQ(turned(npy(dictionary("<f8", "(2, 2)"), 32)),
            (std::vector<std::vector<double>>{{1, 2}, {3, 4}}));
  EXPECT_THROW((void)turned(npy(dictionary("<f8", "(4,)"), 24)), Error);
  RowReader text("x.csv", std::string_view("1,2,3\n"));
  text.turn_row();
  EXPECT_EQ(text.dimension(), 3U);
}

TEST(Npy, FortranOrderIsFineWhereItMeansNothing) {
  EXPECT_EQ(read(npy(dictionary("<f8", "(2, 1)", "True"), 16)),
            (std::vector<std::vector<double>>{{1}, {2}}));
  EXPECT_EQ(read(npy(dictionary("<f8", "(1, 2)", "True"), 16)),
            (std::vector<std::vector<double>>{{1, 2}}));
  EXPECT_EQ(read(npy(dictionary("<f8", "(2,)", "True"), 16)),
            (std::vector<std::vector<double>>{{1, 2}}));
}

TEST(Npy, AnyOrderOfKeysAndQuotesAndPythonTwoLongs) {
  const std::string text = R"({"shape":(2L,1L),"fortran_order":False,"descr":"<f8"}   )";
  EXPECT_EQ(read(npy(text, 16)), (std::vector<std::vector<double>>{{1}, {2}}));
}

TEST(Npy, Float32StaysFloat32) {
  std::string file = npy(dictionary("<f4", "(2, 1)"), 0);
  const float values[] = {0.1F, 3e38F};
  file.append(reinterpret_cast<const char*>(values), sizeof values);
  RowReader reader("x.npy", file);
  EXPECT_EQ(reader.element_type(), ElementType::float32);
  EXPECT_EQ(reader.rows(), 2U);
  float x = 0;
  ASSERT_TRUE(reader.next(std::span(&x, 1)));
  EXPECT_EQ(x, 0.1F);
  EXPECT_EQ(reader.where(), "x.npy, row 1");
  EXPECT_EQ(read(file)[1][0], static_cast<double>(3e38F));
}

TEST(Npy, IsKnownByItsFirstBytesUnderAnyName) {
  const std::string file = npy(dictionary("<f8", "(2,)"), 16);
  EXPECT_EQ(RowReader("standard input", file).dimension(), 2U);
}

// The bytes of values, each turned around where the file is to be big-endian.
template <class T>
std::string bytes_of(const std::vector<T>& values, bool big_endian) {
  std::string data;
  for (const T x : values) {
    std::string bytes(reinterpret_cast<const char*>(&x), sizeof x);
    if (big_endian) std::reverse(bytes.begin(), bytes.end());
    data += bytes;
  }
  return data;
}

template <class T>
void expect_values(const std::string& type, const std::vector<T>& values,
                   const std::vector<double>& expected, const std::string& note) {
  for (const char order : {'<', '>'}) {
    const bool big = order == '>' && sizeof(T) > 1;
    const std::string file = npy(dictionary(order + type, "(3,)"), 0) + bytes_of(values, big);
    for (const std::size_t chunk : {1U, 1U << 16}) {
      RowReader reader("x.npy", file, chunk);
      std::vector<double> row(3);
      ASSERT_TRUE(reader.next(std::span(row)));
      EXPECT_EQ(row, expected) << order << type;
      EXPECT_FALSE(reader.next(std::span(row)));
      const bool native = note.starts_with("float") && !big;
      EXPECT_EQ(reader.note(),
                native ? "" : "x.npy holds " + std::string(big ? "big-endian " : "") + note);
    }
  }
}

TEST(Npy, EveryRealTypeInBothByteOrders) {
  const std::string as_double = "; it was read as float64.";
  const std::string as_float = "; it was read as float32.";
  expect_values<std::uint8_t>("b1", {0, 1, 7}, {0, 1, 1}, "bool" + as_double);
  expect_values<std::int8_t>("i1", {-128, 0, 127}, {-128, 0, 127}, "int8" + as_double);
  expect_values<std::uint8_t>("u1", {1, 128, 255}, {1, 128, 255}, "uint8" + as_double);
  expect_values<std::int16_t>("i2", {-32768, 1, 258}, {-32768, 1, 258}, "int16" + as_double);
  expect_values<std::uint16_t>("u2", {1, 258, 65535}, {1, 258, 65535}, "uint16" + as_double);
  expect_values<std::int32_t>("i4", {-2147483647, 1, 258}, {-2147483647, 1, 258},
                              "int32" + as_double);
  expect_values<std::uint32_t>("u4", {1, 258, 4294967295}, {1, 258, 4294967295},
                               "uint32" + as_double);
  expect_values<std::int64_t>("i8", {-(1LL << 53), 1, 1LL << 62}, {-0x1p53, 1, 0x1p62},
                              "int64" + as_double);
  expect_values<std::uint64_t>("u8", {1, 1ULL << 63, 258}, {1, 0x1p63, 258}, "uint64" + as_double);
  expect_values<double>("f8", {0.1, -1e308, 5e-324}, {0.1, -1e308, 5e-324}, "float64" + as_double);
  expect_values<float>("f4", {0.5F, -0x1p127F, 0x1p-149F}, {0.5, -0x1p127, 0x1p-149},
                       "float32" + as_float);
}

TEST(Npy, IntegersThatADoubleCannotHoldAreRoundedAndCounted) {
  const std::string types = "; it was read as float64, and ";
  expect_values<std::int64_t>(
      "i8", {(1LL << 53) + 1, -(1LL << 53) - 1, std::numeric_limits<std::int64_t>::min()},
      {0x1p53, -0x1p53, -0x1p63}, "int64" + types + "2 integers beyond 2^53 had to be rounded.");
  expect_values<std::uint64_t>("u8", {~0ULL, 1, 1ULL << 63}, {0x1p64, 1, 0x1p63},
                               "uint64" + types + "1 integer beyond 2^53 had to be rounded.");
}

// Every half against its definition: (-1)^s 2^(e-15) (1 + f/1024), and 2^-14 f/1024 where e = 0.
TEST(Npy, HalvesAreExact) {
  std::string file = npy(dictionary("<f2", "(65536,)"), 0);
  for (unsigned bits = 0; bits < 65536; ++bits)
    file += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  RowReader reader("x.npy", file);
  EXPECT_EQ(reader.element_type(), ElementType::float32);
  std::vector<float> row(65536);
  ASSERT_TRUE(reader.next(std::span(row)));
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double fraction = (bits & 1023) / 1024.0;
    const double size = exponent == 0   ? std::ldexp(fraction, -14)
                        : exponent < 31 ? std::ldexp(1 + fraction, exponent - 15)
                        : fraction == 0 ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(size)) {
      EXPECT_TRUE(std::isnan(row[bits])) << bits;
    } else {
      EXPECT_EQ(row[bits], size * (bits >> 15 != 0 ? -1 : 1)) << bits;
    }
    EXPECT_EQ(std::signbit(row[bits]), bits >> 15 != 0) << bits;
  }
  EXPECT_EQ(reader.note(), "x.npy holds float16; it was read as float32.");
}

TEST(Npy, FortranOrderIsReadRowByRow) {
  for (const std::size_t chunk : {1U, 3U, 1U << 16}) {
    const std::string file = npy(dictionary("<f8", "(2, 3)", "True"), 48);
    EXPECT_EQ(read(file, chunk), (std::vector<std::vector<double>>{{1, 3, 5}, {2, 4, 6}}));
  }
  const std::string file =
      npy(dictionary(">i2", "(2, 2)", "True"), 0) + bytes_of<std::int16_t>({1, 2, 3, 4}, true);
  RowReader reader("x.npy", file);
  std::vector<double> row(2);
  ASSERT_TRUE(reader.next(std::span(row)));
  EXPECT_EQ(row, (std::vector<double>{1, 3}));
  EXPECT_EQ(reader.where(), "x.npy, row 1");
  EXPECT_EQ(reader.note(),
            "x.npy holds big-endian int16 in Fortran order; it was read as float64.");
}

// From a file, where rows are put together in blocks, and more than one of them.
TEST(Npy, FortranOrderInBlocks) {
  const std::size_t n = 5000, d = 700;  // 28 MB where blocks have 8
  std::string file = npy(dictionary("<f8", "(5000, 700)", "True"), 0);
  std::vector<double> column(n);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i < n; ++i) column[i] = static_cast<double>(i * d + j);
    file += bytes_of(column, false);
  }
  const medgrad::testing::TemporaryFolder folder;
  RowReader reader(folder.file("x.npy", file));
  std::vector<double> row(d);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(reader.next(std::span(row)));
    for (std::size_t j = 0; j < d; ++j) ASSERT_EQ(row[j], static_cast<double>(i * d + j));
  }
  EXPECT_FALSE(reader.next(std::span(row)));
}

struct Bad {
  std::string file, sentence;
};

TEST(Npy, SaysWhatIsWrong) {
  const std::string good = npy(dictionary("<f8", "(2, 5)"), 80);
  const std::string advice = "; save it as float32 or float64.";
  const std::string malformed = "x.npy has a malformed NPY header: ";
  const Bad bad[] = {
      {"", "x.npy is empty: there are no rows."},
      {"1,2\n", "x.npy is not an NPY file, as its name says: it does not begin with \\x93NUMPY."},
      {"\x93NUM", "x.npy is not an NPY file, as its name says: it does not begin with \\x93NUMPY."},
      {"\x93NUMPY\x01", "x.npy is truncated: it ends within the NPY header."},
      {good.substr(0, 9), "x.npy is truncated: it ends within the NPY header."},
      {good.substr(0, 40), "x.npy is truncated: it ends within the NPY header."},
      {good.substr(0, good.size() - 8),
       "x.npy is truncated: the header promises 80 bytes of data, 72 are there."},
      {npy(dictionary("<f8", "(1,)"), 1),
       "x.npy is truncated: the header promises 8 bytes of data, 1 is there."},
      {good + "x", "x.npy goes on after the 80 bytes of data that its header promises."},
      {npy(dictionary("|i1", "(1,)"), 2),
       "x.npy goes on after the 1 byte of data that its header promises."},
      {npy(dictionary("<f8", "(2,)"), 16, 4),
       "x.npy has NPY version 4.0; versions 1.0 to 3.0 can be read."},
      {npy(dictionary("<f16", "(2,)"), 32),
       "x.npy holds long doubles ('<f16'), whose bits depend on the machine" + advice},
      {npy(dictionary(">c16", "(2,)"), 32), "x.npy holds complex numbers ('>c16')" + advice},
      {npy(dictionary("<U3", "(2,)"), 24), "x.npy holds elements of type '<U3'" + advice},
      {npy(dictionary("f8", "(2,)"), 16), "x.npy holds elements of type 'f8'" + advice},
      {npy(dictionary("<i8", "(2, 2)", "True"), 24),
       "x.npy is truncated: the header promises 32 bytes of data, 24 are there."},
      {npy(dictionary("<i2", "(2, 2)", "True"), 9),
       "x.npy goes on after the 8 bytes of data that its header promises."},
      {npy("{'descr': [('a', '<f8'), ('b', '<f8')], 'fortran_order': False, 'shape': (1,)}", 16),
       "x.npy holds elements of type '[('a', '<f8'), ('b', '<f8')]'" + advice},
      {npy(dictionary("<f8", "(1, 1, 1)"), 8),
       "x.npy has shape (1, 1, 1); one dimension (a single row) or two (rows) are needed."},
      {npy(dictionary("<f8", "(0, 3)"), 0), "x.npy is empty: there are no rows in shape (0, 3)."},
      {npy(dictionary("<f8", "(3, 0)"), 0),
       "x.npy is empty: there are no columns in shape (3, 0)."},
      {npy(dictionary("<f8", "(4294967296, 4294967296)"), 8),
       "x.npy has shape (4294967296, 4294967296), which is more than memory can hold."},
      {npy(dictionary("<f8", "(-1, 3)"), 8), malformed + "its shape is not made of whole numbers."},
      {npy(dictionary("<f8", "(2,)", "Maybe"), 16),
       malformed + "'fortran_order' is neither True nor False."},
      {npy("{'descr': '<f8', 'fortran_order': False}", 8), malformed + "'shape' is missing."},
      {npy("{'descr': '<f8', 'x': 1}", 8), malformed + "it has an unknown key 'x'."},
      {npy("{'descr': '<f8", 8), malformed + "a string has no end."},
      {npy("hello", 8), malformed + "a '{' is missing."},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12),
       malformed + "a length of 4294967295 bytes."},
  };
  for (const Bad& b : bad) {
    try {
      read(b.file);
      ADD_FAILURE() << "no error where this was expected: " << b.sentence;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), b.sentence);
    }
  }
}

TEST(Npy, TheWrittenHeaderHasOneSizeAndReadsBack) {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{7}, ~std::size_t{0}}) {
    const std::string header = internal::make_npy_header(ElementType::float32, rows, ~rows);
    ASSERT_EQ(header.size(), internal::kNpyHeaderBytes);
    EXPECT_EQ(header.back(), '\n');
    const auto parsed = internal::parse_npy_header(std::string_view(header).substr(10), "x.npy");
    EXPECT_EQ(parsed.descr, "<f4");
    EXPECT_EQ(parsed.shape, (std::vector<std::uint64_t>{rows, ~rows}));
  }
}

}  // namespace
}  // namespace medgrad
