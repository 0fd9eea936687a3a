// Files on disk: matrices of several files, and output that is there whole or not at all.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "io/temporary_folder.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

using medgrad::testing::content;
using medgrad::testing::TemporaryFolder;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

template <Real T>
void write_rows(const std::string& path, const std::vector<std::vector<T>>& table) {
  RowWriter writer(path, format_of(path));
  for (const auto& row : table) writer.write(std::span<const T>(row));
  writer.commit();
}

template <Real T>
std::vector<std::vector<T>> table_of(const Matrix<T>& matrix) {
  std::vector<std::vector<T>> table;
  for (std::size_t i = 0; i < matrix.n(); ++i)
    table.emplace_back(matrix.row(i).begin(), matrix.row(i).end());
  return table;
}

template <class T>
class RoundTrip : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RoundTrip, Reals);

TYPED_TEST(RoundTrip, CsvAndNpyGiveBackTheSameBits) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<std::vector<TypeParam>> table = {
      {TypeParam(0.1), Limits::max(), Limits::lowest(), TypeParam(-0.0)},
      {Limits::denorm_min(), Limits::min(), Limits::epsilon(), TypeParam(1) / 3}};
  const TemporaryFolder folder;
  for (const std::string name : {"x.csv", "x.npy"}) {
    const std::string path = folder / name;
    write_rows(path, table);
    RowReader reader(path);
    std::vector<TypeParam> row(4);
    for (const auto& expected : table) {
      ASSERT_TRUE(reader.next(std::span(row)));
      EXPECT_EQ(row, expected) << name;
    }
    EXPECT_FALSE(reader.next(std::span(row)));
  }
}

TEST(RowWriter, JsonIsAnArrayOfArrays) {
  const TemporaryFolder folder;
  write_rows<double>(folder / "x.json", {{1, 0.5}, {-1e300, 0}});
  EXPECT_EQ(content(folder / "x.json"), "[[1,0.5],\n [-1e+300,0]]\n");
}

TEST(RowWriter, FloatsHaveFewDigits) {
  const TemporaryFolder folder;
  write_rows<float>(folder / "x.csv", {{0.1F, 16777216.F}});
  EXPECT_EQ(content(folder / "x.csv"), "0.1,16777216\n");
}

TEST(RowWriter, ManyRowsGoThroughTheBuffer) {
  const TemporaryFolder folder;
  std::vector<std::vector<double>> table(3000, std::vector<double>(100));
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i][i % 100] = 1.0 / static_cast<double>(i + 1);
  for (const std::string name : {"x.csv", "x.npy"}) {
    write_rows(folder / name, table);
    const std::string paths[] = {folder / name};
    EXPECT_EQ(table_of(std::get<Matrix<double>>(read_matrix(paths))), table);
  }
}

TEST(RowWriter, WithoutCommitThereIsNoFileAndTheOldOneStays) {
  const TemporaryFolder folder;
  const std::string old = folder.file("old.csv", "old\n");
  {
    RowWriter a(old, FileFormat::csv), b(folder / "new.csv", FileFormat::csv);
    const double x = 1;
    a.write(std::span(&x, 1));
    b.write(std::span(&x, 1));
  }
  EXPECT_EQ(content(old), "old\n");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(RowWriter, ReplacesTheFileBehindALinkAndKeepsItsMode) {
  const TemporaryFolder folder;
  const std::string target = folder.file("target.csv", "old\n");
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  std::filesystem::create_symlink(target, folder / "link.csv");
  write_rows<double>(folder / "link.csv", {{1}});
  EXPECT_EQ(content(target), "1\n");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.csv"));
  struct stat status = {};
  ASSERT_EQ(::stat(target.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(RowWriter, DevicesAreWrittenNotReplaced) {
  RowWriter null("/dev/null", FileFormat::npy);
  const double x = 1;
  null.write(std::span(&x, 1));
  null.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(RowWriter, AFullDiskIsNotTheUsersMistake) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  RowWriter writer("/dev/full", FileFormat::csv);
  const double x = 1;
  writer.write(std::span(&x, 1));
  EXPECT_THROW(writer.commit(), std::system_error);
}

TEST(RowWriter, PlacesThatCannotBeWrittenAreErrorsAtOnce) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      error_of([&] { RowWriter(folder / "no/x.csv", FileFormat::csv); }),
      folder / "no/x.csv" + " cannot be written: there is no folder " + (folder / "no/") + ".");
  EXPECT_EQ(error_of([&] { RowWriter(folder / "", FileFormat::csv); }),
            folder / "" + " cannot be written: it is a folder.");
  EXPECT_EQ(error_of([] { (void)format_of("x.xls"); }),
            "x.xls does not say what format to write; it has to end in .csv, .json or .npy.");
}

TEST(RowWriter, NamesAreWrittenSoThatTheyReadBack) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"",           "loss", "a b",       "x,y",
                                          "say \"hi\"", "#1",   "two\nlines"};
  const std::vector<double> row(names.size(), 1);
  {
    RowWriter writer(folder / "x.csv", FileFormat::csv, 0, names);
    writer.write(std::span<const double>(row));
    writer.commit();
  }
  EXPECT_EQ(content(folder / "x.csv"),
            ",loss,\"a b\",\"x,y\",\"say \"\"hi\"\"\",\"#1\",\"two\nlines\"\n1,1,1,1,1,1,1\n");
  const RowReader reader(folder / "x.csv");
  EXPECT_EQ(std::vector<std::string>(reader.columns().begin(), reader.columns().end()), names);
}

TEST(RowWriter, WhatCannotFitOnTheDiskIsAnErrorAtOnce) {
  const TemporaryFolder folder;
  const std::size_t rows = 1'000'000'000'000'000;
  const auto expect = [&](const std::string& name, std::size_t n, std::size_t d, ElementType type) {
    return error_of([&] { RowWriter(folder / name, format_of(name)).expect(n, d, type); });
  };
  const std::string begin = " cannot be written: it takes at least ",
                    end = " are free on that disk.";
  for (const auto& [name, type, size] : {std::tuple{"x.npy", ElementType::float64, "80 PB"},
                                         std::tuple{"x.npy", ElementType::float32, "40 PB"},
                                         std::tuple{"x.csv", ElementType::float64, "20 PB"}}) {
    const std::string sentence = expect(name, rows, 10, type);
    EXPECT_TRUE(sentence.starts_with(folder / name + begin + size + ", and ")) << sentence;
    EXPECT_TRUE(sentence.ends_with(end)) << sentence;
    EXPECT_EQ(expect(name, 1000, 10, type), "no error");
  }
  // Products beyond 64 bits are as impossible as others; what is no file has no limit.
  EXPECT_NE(expect("x.npy", ~std::size_t{0}, ~std::size_t{0}, ElementType::float64), "no error");
  RowWriter("/dev/null", FileFormat::csv).expect(rows, 10, ElementType::float64);
  EXPECT_EQ(folder.files(), 0U);
}

TEST(RowReader, FilesThatCannotBeReadAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { RowReader r(folder / "none.csv"); }),
            folder / "none.csv" + " does not exist.");
  EXPECT_EQ(error_of([&] { RowReader r(folder / ""); }),
            folder / "" + " is a folder; a file with rows is needed.");
  const std::string secret = folder.file("secret.csv", "1\n");
  ASSERT_EQ(::chmod(secret.c_str(), 0), 0);
  if (::geteuid() != 0) {
    EXPECT_EQ(error_of([&] { RowReader r(secret); }),
              secret + " cannot be opened: Permission denied.");
  }
}

TEST(ReadMatrix, JoinsFilesAndRemembersWhereRowsCameFrom) {
  const TemporaryFolder folder;
  write_rows<float>(folder / "a.npy", {{1, 2}, {3, 4}});
  write_rows<float>(folder / "b.npy", {{5, 6}});
  const std::string c = folder.file("c.csv", "# head\n7,8\n\n9,10\n");
  const std::string floats[] = {folder / "a.npy", folder / "b.npy"};
  const AnyMatrix of_floats = read_matrix(floats);
  EXPECT_EQ(table_of(std::get<Matrix<float>>(of_floats)),
            (std::vector<std::vector<float>>{{1, 2}, {3, 4}, {5, 6}}));

  const std::string mixed[] = {folder / "a.npy", c, folder / "b.npy"};
  const AnyMatrix any = read_matrix(mixed);
  const auto& matrix = std::get<Matrix<double>>(any);
  EXPECT_EQ(table_of(matrix),
            (std::vector<std::vector<double>>{{1, 2}, {3, 4}, {7, 8}, {9, 10}, {5, 6}}));
  EXPECT_EQ(matrix.where(1), folder / "a.npy" + ", row 2");
  EXPECT_EQ(matrix.where(3), c + ":4");
  EXPECT_EQ(matrix.where(4), folder / "b.npy" + ", row 1");
}

TEST(ReadMatrix, RowsOfDifferentLengthAreAnError) {
  const TemporaryFolder folder;
  const std::string paths[] = {folder.file("a.csv", "1,2\n"), folder.file("b.csv", "1\n")};
  EXPECT_EQ(error_of([&] { (void)read_matrix(paths); }),
            paths[1] + " has rows of 1 value where " + paths[0] + " has rows of 2.");
}

TEST(ReadMatrix, NamesMustAgree) {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.csv", "x,y\n1,2\n"), b = folder.file("b.csv", "3,4\n"),
                    c = folder.file("c.csv", "x;y\n5;6\n"), d = folder.file("d.csv", "y,x\n7,8\n");
  const std::string same[] = {b, a, c};
  const auto matrix = std::get<Matrix<double>>(read_matrix(same));
  EXPECT_EQ(table_of(matrix), (std::vector<std::vector<double>>{{3, 4}, {1, 2}, {5, 6}}));
  EXPECT_EQ(matrix.columns()[1], "y");
  const std::string different[] = {b, a, d};
  EXPECT_EQ(error_of([&] { (void)read_matrix(different); }),
            d + " names column 1 'y' where " + a + " has 'x'; the columns must be the same.");
}

TEST(ReadVector, TakesARowOrAColumnOfTheRightLength) {
  const TemporaryFolder folder;
  const std::vector<double> expected = {1, 2, 3};
  const std::string row = folder.file("row.csv", "1,2,3\n");
  EXPECT_EQ(read_vector<double>(row, 3, "it"), expected);
  EXPECT_EQ(read_vector<double>(folder.file("column.csv", "1\n2\n3\n"), 3, "it"), expected);
  EXPECT_EQ(error_of([&] { (void)read_vector<double>(row, 2, "there are 2 rows"); }),
            row + " has 3 values where there are 2 rows.");
  const std::string column = folder.file("column.csv", "1\n2\n3\n4\n");
  EXPECT_EQ(error_of([&] { (void)read_vector<double>(column, 2, "there are 2 rows"); }),
            column + " has more than 2 values where there are 2 rows.");
  const std::string table = folder.file("table.csv", "1,2\n3,4\n");
  EXPECT_EQ(error_of([&] { (void)read_vector<double>(table, 2, "it has"); }),
            table + " has several rows; one vector is needed.");
}

}  // namespace
}  // namespace medgrad
