// Text files: what is read, and the sentence for each way a file can be wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

using Table = std::vector<std::vector<double>>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Table read(std::string_view text, std::size_t chunk = 1 << 16) {
  RowReader reader("data.csv", text, chunk);
  EXPECT_EQ(reader.element_type(), ElementType::float64);
  Table table;
  std::vector<double> row(reader.dimension());
  while (reader.next(std::span(row))) table.push_back(row);
  return table;
}

std::string error_of(std::string_view text, std::size_t chunk = 1 << 16) {
  try {
    read(text, chunk);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Good {
  std::string_view text;
  Table table;
};

const Good kGood[] = {
    {"1,2,3\n4,5,6\n", {{1, 2, 3}, {4, 5, 6}}},
    {"1 2\t3\n4\t 5  6", {{1, 2, 3}, {4, 5, 6}}},
    {"1 , 2\t,3\n", {{1, 2, 3}}},
    {"  1,2  \n", {{1, 2}}},
    {"1;2\n3 ; 4", {{1, 2}, {3, 4}}},
    {"1\t2\n 3 \t4\n", {{1, 2}, {3, 4}}},
    {"\t1\t\n2\n", {{1}, {2}}},
    {"\xEF\xBB\xBF"
     "1,2\n",
     {{1, 2}}},
    {"1,2\r\n3,4\r\n", {{1, 2}, {3, 4}}},
    {"1,2\r3,4\r", {{1, 2}, {3, 4}}},
    {"# a\n\n  \n1,2 # b\n#c\n\n3,4#d", {{1, 2}, {3, 4}}},
    {"# 5\" long; or so\n1,2 # \"\n3,4", {{1, 2}, {3, 4}}},
    {"+1.5,-2.5e3,.5,7.\n", {{1.5, -2500, 0.5, 7}}},
    {"1e-400,-1e-400,4.9e-324,0.0000e999\n", {{0, -0.0, 4.9e-324, 0}}},
    {"inf,-INF,+Infinity\n", {{kInf, -kInf, kInf}}},
    {"1.7976931348623157e308\n", {{std::numeric_limits<double>::max()}}},
    {"0.1\n", {{0.1}}},
    {"\"1\",\" 2.5 \"\n3,\"4\"", {{1, 2.5}, {3, 4}}},
    {"\"1\" \"2\"\n", {{1, 2}}},
    {"x,y\n1,2\n", {{1, 2}}},
    {"\xEF\xBB\xBFx;y\r\n1;2\r\n", {{1, 2}}},
    {"# made by hand\r\n\r\nx\ty z\r\n1\t2\r\n", {{1, 2}}},
    {"x y\n1 2", {{1, 2}}},
    {",a,b\n0,1,2\n", {{0, 1, 2}}},
    {"\"x, \"\"in\"\" m\r\n(second line)\",y # c\n1,2", {{1, 2}}},
    {"loss\n1\n\n2", {{1}, {2}}},
};

TEST(Csv, ReadsEveryFormAtEverySeamBetweenReads) {
  for (const Good& good : kGood) {
    for (const std::size_t chunk : {1U, 2U, 3U, 5U, 1U << 16})
      EXPECT_EQ(read(good.text, chunk), good.table) << good.text << " in chunks of " << chunk;
  }
}

TEST(Csv, NanIsANumberInAnyCase) {
  const Table table = read("nan,NaN,-nan,+NAN\n");
  for (const double x : table[0]) EXPECT_TRUE(std::isnan(x));
}

TEST(Csv, KeepsTheSignOfZero) { EXPECT_TRUE(std::signbit(read("-1e-400\n")[0][0])); }

struct Bad {
  std::string_view text, sentence;
};

const Bad kBad[] = {
    {"", "data.csv is empty: there are no rows."},
    {"\n# only a comment\n", "data.csv is empty: there are no rows."},
    {"x,y\n# nothing\n", "data.csv has a header but no rows below it."},
    {"1,2\n3,4\n5,abc\n", "data.csv:3, column 2: 'abc' is not a number."},
    {"1,2,3\n# c\r\n\n\n4,5\n", "data.csv:5: the row has 2 values where the rows before have 3."},
    {"1,2\n3,4,5\n", "data.csv:2: the row has 3 values where the rows before have 2."},
    {"1,2\r\n3\r\n", "data.csv:2: the row has 1 value where the rows before have 2."},
    {"x\r\n\r\n1,2\r\n",
     "data.csv:3, column 1 ('x'): '1,2' is not a number; decimals need a point "
     "instead of the comma."},
    {"x,y\n1\n", "data.csv:2: the row has 1 value where the header has 2 names."},
    {"1,,2\n", "data.csv:1, column 2: the value is missing; nan can stand for it."},
    {"1,2,\n", "data.csv:1, column 3: the value is missing; nan can stand for it."},
    {"1,2, # c", "data.csv:1, column 3: the value is missing; nan can stand for it."},
    {",1\n", "data.csv:1, column 1: the value is missing; nan can stand for it."},
    {"x;y\n1;\n", "data.csv:2, column 2 ('y'): the value is missing; nan can stand for it."},
    {"x;y\n1;\"\"\n", "data.csv:2, column 2 ('y'): the value is missing; nan can stand for it."},
    {"1\t\t2\n", "data.csv:1, column 2: the value is missing; nan can stand for it."},
    {"1\n1e999\n", "data.csv:2, column 1: '1e999' is too large for a float64."},
    {"1\n-1e99999999999999999999\n",
     "data.csv:2, column 1: '-1e99999999999999999999' is too large for a float64."},
    {"1\n0x10\n", "data.csv:2, column 1: '0x10' is not a number."},
    {"1\n1.2.3\n", "data.csv:2, column 1: '1.2.3' is not a number."},
    {"1\n1;2\n", "data.csv:2, column 1: '1;2' is not a number."},
    {"1,2\n1;2\n", "data.csv:2, column 1: '1;2' is not a number."},
    {"1\n+-1\n", "data.csv:2, column 1: '+-1' is not a number."},
    {"1\n+\n", "data.csv:2, column 1: '+' is not a number."},
    {"1.5x\n1\n", "data.csv:1, column 1: '1.5x' is not a number."},
    {"1,2,abc\n1,2,3\n",
     "data.csv:1, column 3: 'abc' is not a number; a header line has names only, "
     "or begins with #."},
    {"x,y\n1,NA\n",
     "data.csv:2, column 2 ('y'): 'NA' is not a number; nan can stand for a missing value."},
    // Decimal commas, between every separator.
    {"1,5;2,5\n",
     "data.csv:1, column 1: '1,5' is not a number; decimals need a point instead of the comma."},
    {"a;b\n1;-2,5e3\n",
     "data.csv:2, column 2 ('b'): '-2,5e3' is not a number; decimals need a point "
     "instead of the comma."},
    {"1,\"2,5\"\n",
     "data.csv:1, column 2: '2,5' is not a number; decimals need a point instead of the comma."},
    {"1,5\t2,5\n",
     "data.csv:1, column 2: only blanks stand between two values; this file separates "
     "columns by commas, and decimals need a point."},
    {"1\t2\n3 4\n",
     "data.csv:2, column 1: only blanks stand between two values; this file separates "
     "columns by tabs, and decimals need a point."},
    {"1\n\"1\n", "data.csv:2, column 1: a quotation mark has no second one in the same line."},
    {"1\n\"1\"2\n", "data.csv:2, column 1: something follows a quotation mark."},
    {"x,\"y\n1,2\n", "data.csv:1: a quotation mark of the header line has no second one."},
    {"1\n\xff\x01z\n", "data.csv:2, column 1: '\\xff\\x01z' is not a number."},
    {"gr\xC3\xB6\xC3\x9F"
     "e\nabc\n",
     "data.csv:2, column 1 ('gr\xC3\xB6\xC3\x9F"
     "e'): 'abc' is not a number."},
    {{"\x7f"
      "ELF\x02\0\n",
      7},
     "data.csv:1: '\\x02' has no place in text; rows are read from .csv and .npy files."},
    {{"\xFF\xFE\x31\0", 4}, "data.csv is text in UTF-16; save it as UTF-8."},
};

TEST(Csv, SaysWhatIsWrongAndWhere) {
  for (const Bad& bad : kBad) {
    for (const std::size_t chunk : {1U, 2U, 1U << 16})
      EXPECT_EQ(error_of(bad.text, chunk), bad.sentence) << bad.text;
  }
}

TEST(Csv, LongWordsAreCutInTheMessage) {
  const std::string sentence = error_of("1\n" + std::string(100000, 'z'));
  EXPECT_EQ(sentence, "data.csv:2, column 1: '" + std::string(40, 'z') + "...' is not a number.");
}

TEST(Csv, NumbersThatStraddleReadsAreWhole) {
  std::string text;
  std::vector<double> expected;
  for (int i = 0; i < 5000; ++i) {
    expected.push_back(std::ldexp(1.0 + i, i % 200 - 100));
    text += i == 0 ? "" : ",";
    append_number(text, expected.back());
  }
  for (const std::size_t chunk : {1U, 7U, 4096U, 1U << 16})
    EXPECT_EQ(read(text, chunk), Table{expected}) << chunk;
}

TEST(Csv, WhereNamesTheLineOfTheRow) {
  const std::string_view text = "# head\n1\n\n2\n";
  RowReader reader("data.csv", text);
  double x = 0;
  ASSERT_TRUE(reader.next(std::span(&x, 1)));
  EXPECT_EQ(reader.where(), "data.csv:2");
  ASSERT_TRUE(reader.next(std::span(&x, 1)));
  EXPECT_EQ(reader.where(), "data.csv:4");
  EXPECT_FALSE(reader.next(std::span(&x, 1)));
  EXPECT_FALSE(reader.next(std::span(&x, 1)));
}

std::vector<std::string> names(std::string_view text) {
  const RowReader reader("data.csv", text);
  return {reader.columns().begin(), reader.columns().end()};
}

TEST(Csv, AFirstLineOfWordsNamesTheColumns) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("x,y\n1,2\n"), (Names{"x", "y"}));
  EXPECT_EQ(names(" x ; \"y;z\" ;25%\n1;2;3\n"), (Names{"x", "y;z", "25%"}));
  EXPECT_EQ(names("learning rate\tloss\n1\t2\n"), (Names{"learning rate", "loss"}));
  EXPECT_EQ(names(",a\n0,1\n"), (Names{"", "a"}));
  EXPECT_EQ(names("\"a \"\"b\"\"\r\nc\",d\r\n1,2"), (Names{"a \"b\"\r\nc", "d"}));
  for (const std::string_view none : {"1,2\n", "# x,y\n1,2\n", "nan,inf\n1,2\n", "\"1\",\"2\"\n"})
    EXPECT_EQ(names(none), Names()) << none;
}

TEST(Csv, AHeaderLineMayBeLong) {
  std::string text, row;
  for (int i = 0; i < 20000; ++i) {
    text += (i == 0 ? "" : ",") + ("column" + std::to_string(i));
    row += i == 0 ? "1" : ",1";
  }
  for (const std::size_t chunk : {7U, 1U << 16}) {
    const std::string file = text + "\n" + row + "\n";
    RowReader reader("data.csv", file, chunk);
    ASSERT_EQ(reader.dimension(), 20000U);
    EXPECT_EQ(reader.columns()[19999], "column19999");
  }
}

TEST(Csv, LinesAfterAHeaderWithWindowsEndsAreCountedOnce) {
  const std::string_view text = "\r\n# c\r\nx\r\n\r\n7\r\n";
  RowReader reader("data.csv", text, 1);
  double x = 0;
  ASSERT_TRUE(reader.next(std::span(&x, 1)));
  EXPECT_EQ(reader.where(), "data.csv:5");
}

TEST(Csv, AsFloatWhatDoesNotFitIsAnError) {
  const std::string_view text = "0.1\n1e39\n";
  RowReader reader("data.csv", text);
  float x = 0;
  ASSERT_TRUE(reader.next(std::span(&x, 1)));
  EXPECT_EQ(x, 0.1F);
  try {
    reader.next(std::span(&x, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "data.csv:2, column 1: 1e+39 is too large for a float32.");
  }
}

}  // namespace
}  // namespace medgrad
