// Gzipped files: what is in them is read, and what is wrong with them is told.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "medgrad/build_info.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

void append_word(std::string& file, std::uint32_t word, int bytes) {
  for (int i = 0; i < bytes; ++i) file += static_cast<char>(word >> (8 * i) & 255);
}

// RFC 1952 by hand: stored blocks of at most `block` bytes, with the checksum of the content.
std::string gzip(std::string_view content, std::size_t block = 65535) {
  std::string file("\x1F\x8B\x08\0\0\0\0\0\0\xFF", 10);
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : content) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  const auto size = static_cast<std::uint32_t>(content.size());
  do {
    const std::string_view part = content.substr(0, block);
    content.remove_prefix(part.size());
    file += content.empty() ? '\1' : '\0';
    const auto length = static_cast<std::uint32_t>(part.size());
    append_word(file, length, 2);
    append_word(file, ~length, 2);
    file += part;
  } while (!content.empty());
  append_word(file, ~crc, 4);
  append_word(file, size, 4);
  return file;
}

// The values of all rows, or what was wrong.
std::string read(const std::string& name, std::string_view bytes, std::size_t chunk = 1 << 16) {
  std::string text;
  try {
    RowReader reader(name, bytes, chunk);
    std::vector<double> row(reader.dimension());
    while (reader.next(std::span(row))) {
      for (const double x : row) {
        append_number(text, x);
        text += ' ';
      }
    }
  } catch (const Error& error) {
    text += error.what();
  }
  return text;
}

class Gzip : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!build_info().gzip) GTEST_SKIP() << "this build has no zlib";
  }
};

TEST_F(Gzip, TextAndNpyAtEverySeamBetweenReads) {
  std::string npy("\x93NUMPY\x01\0\x3a\0", 10);
  npy += "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 2), }";
  npy += "\1\2\3\4";
  for (const std::size_t block : {3U, 65535U}) {
    for (const std::size_t chunk : {1U, 2U, 7U, 1U << 16}) {
      EXPECT_EQ(read("x.csv.gz", gzip("x;y\r\n1;2\r\n3;4\r\n", block), chunk), "1 2 3 4 ");
      EXPECT_EQ(read("x.npy.gz", gzip(npy, block), chunk), "1 3 2 4 ");
      EXPECT_EQ(read("any name", gzip(npy, block), chunk), "1 3 2 4 ");
    }
  }
}

TEST_F(Gzip, SeveralMembersAreOneFile) {
  const std::string file = gzip("1,2\n3") + gzip("") + gzip(",4\n");
  for (const std::size_t chunk : {1U, 7U, 1U << 16})
    EXPECT_EQ(read("x.csv.gz", file, chunk), "1 2 3 4 ");
}

TEST_F(Gzip, MoreThanTheBuffers) {
  std::string text, expected;
  for (int i = 0; i < 300000; ++i) {
    text += std::to_string(i) + ".5\n";
    expected += std::to_string(i) + ".5 ";
  }
  EXPECT_TRUE(read("x.csv.gz", gzip(text)) == expected);  // too long to be printed
}

TEST_F(Gzip, EveryTruncationAndEveryDamagedByteIsTold) {
  const std::string good = gzip("1,2\n3,4\n");
  for (std::size_t length = 3; length < good.size(); ++length) {
    for (const std::size_t chunk : {1U, 1U << 16}) {
      EXPECT_TRUE(read("x.csv.gz", good.substr(0, length), chunk)
                      .ends_with("x.csv.gz is truncated: its gzip data end too early."))
          << length;
    }
  }
  // Behind the header (time, system and the like may be anything) no byte can be another one.
  for (std::size_t i = 10; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    const std::string what = read("x.csv.gz", bad);
    EXPECT_TRUE(what.ends_with('.')) << i << ": " << what;
  }
  std::string wrong = good;
  wrong[wrong.size() - 8] ^= 1;
  EXPECT_EQ(
      read("x.csv.gz", wrong),
      "1 2 3 4 x.csv.gz is damaged: its gzip data cannot be unpacked (incorrect data check).");
  EXPECT_EQ(read("x.csv.gz", good + "rest"),
            "1 2 3 4 x.csv.gz is damaged: something follows its gzip data.");
}

// Compressed data that end where a decoded byte is still to be delivered.
TEST_F(Gzip, WhatComesBeforeTheEndOfTruncatedDataIsTheSameAtEverySeam) {
  const std::string_view file(
      "\x1F\x8B\x08\0\0\0\0\0\xFF\xEF\xBB\xBF\xFF\xFF\xFF\xFF\xFF\x4E\x0E\0\x10\0", 22);
  for (const std::size_t chunk : {1U, 2U, 7U, 1U << 16}) {
    EXPECT_EQ(read("x.csv.gz", file, chunk),
              "x.csv.gz:1: '\\x10' has no place in text; rows are read from .csv and .npy files.");
  }
}

TEST_F(Gzip, WhatIsWrongInsideNamesFileAndLine) {
  EXPECT_EQ(read("x.csv.gz", gzip("x\n1\nabc\n")),
            "1 x.csv.gz:3, column 1 ('x'): 'abc' is not a number.");
  EXPECT_EQ(read("x.npy.gz", gzip("1,2\n")),
            "x.npy.gz is not an NPY file, as its name says: it does not begin with \\x93NUMPY.");
  EXPECT_EQ(read("x.csv.gz", gzip("")), "x.csv.gz is empty: there are no rows.");
}

TEST(Compression, WithoutZlibGzipIsOneSentence) {
  if (build_info().gzip) GTEST_SKIP() << "this build has zlib";
  EXPECT_EQ(read("x.csv.gz", gzip("1\n")),
            "x.csv.gz is compressed with gzip, which this build cannot read (it has no zlib); "
            "decompress it first, as with gunzip.");
}

TEST(Compression, OtherKindsAreOneSentence) {
  const std::string rest = ", which cannot be read; ";
  EXPECT_EQ(read("x", std::string_view("\x28\xB5\x2F\xFD\x04\0", 6)),
            "x is compressed with zstd" + rest + "decompress it first, as with unzstd.");
  EXPECT_EQ(read("x", std::string_view("\xFD\x37zXZ\0\0", 7)),
            "x is compressed with xz" + rest + "decompress it first, as with unxz.");
  EXPECT_EQ(read("x", "BZh91AY&SY"),
            "x is compressed with bzip2" + rest + "decompress it first, as with bunzip2.");
  EXPECT_EQ(read("x.npz", "PK\x03\x04"),
            "x.npz is a zip archive (.npz and .xlsx files are)" + rest +
                "take the file with the rows out of it, or save it as .csv or .npy.");
  EXPECT_EQ(read("x", "BZh\n1\n"), "1 ");  // a name like another
}

}  // namespace
}  // namespace medgrad
