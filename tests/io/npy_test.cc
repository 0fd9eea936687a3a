// NPY files: versions, shapes, element types, and everything that can be damaged.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "io/npy_header.h"
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

TEST(Npy, OneDimensionIsOneRow) {
  EXPECT_EQ(read(npy(dictionary("<f8", "(3,)"), 24)),
            (std::vector<std::vector<double>>{{1, 2, 3}}));
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

struct Bad {
  std::string file, sentence;
};

TEST(Npy, SaysWhatIsWrong) {
  const std::string good = npy(dictionary("<f8", "(2, 5)"), 80);
  const std::string advice = "; save it as little-endian float32 or float64.";
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
      {good + "x", "x.npy goes on after the 80 bytes of data that its header promises."},
      {npy(dictionary("<f8", "(2,)"), 16, 4),
       "x.npy has NPY version 4.0; versions 1.0 to 3.0 can be read."},
      {npy(dictionary(">f8", "(2,)"), 16), "x.npy is big-endian ('>f8')" + advice},
      {npy(dictionary("<i8", "(2,)"), 16), "x.npy holds elements of type '<i8'" + advice},
      {npy(dictionary("<f2", "(2,)"), 4), "x.npy holds elements of type '<f2'" + advice},
      {npy("{'descr': [('a', '<f8'), ('b', '<f8')], 'fortran_order': False, 'shape': (1,)}", 16),
       "x.npy holds elements of type '[('a', '<f8'), ('b', '<f8')]'" + advice},
      {npy(dictionary("<f8", "(2, 2)", "True"), 32),
       "x.npy is in Fortran order; save it in C order (numpy.ascontiguousarray)."},
      {npy(dictionary("<f8", "()"), 8),
       "x.npy has shape (); one dimension (a single row) or two (rows) are needed."},
      {npy(dictionary("<f8", "(1, 1, 1)"), 8),
       "x.npy has shape (1, 1, 1); one dimension (a single row) or two (rows) are needed."},
      {npy(dictionary("<f8", "(0, 3)"), 0), "x.npy is empty: there are no rows in shape (0, 3)."},
      {npy(dictionary("<f8", "(3, 0)"), 0), "x.npy is empty: there are no rows in shape (3, 0)."},
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
