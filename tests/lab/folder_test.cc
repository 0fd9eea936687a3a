// Result folders appear whole or not at all, and nothing of somebody else's is lost.
#include "lab/folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "io/temporary_folder.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::content;
using medgrad::testing::TemporaryFolder;

std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder))
    found.insert(entry.path().filename().string());
  return found;
}

void make(const std::string& place, const std::string& text) {
  ResultFolder folder(place);
  folder.write("summary.json", text);
  folder.write("results.csv", text);
  folder.commit();
}

using Names = std::set<std::string>;

TEST(ResultFolder, AppearsAtCommit) {
  const TemporaryFolder out;
  {
    ResultFolder folder(out / "toy");
    folder.write("summary.json", "1");
    EXPECT_FALSE(fs::exists(out / "toy"));
    folder.commit();
    EXPECT_EQ(content(out / "toy/summary.json"), "1");
  }
  EXPECT_EQ(names(out / ""), Names{"toy"});
}

TEST(ResultFolder, WithoutCommitNothingIsThere) {
  const TemporaryFolder out;
  {
    ResultFolder folder(out / "toy");
    folder.write("summary.json", "1");
    ResultFolder moved = std::move(folder);
    EXPECT_TRUE(fs::exists(moved.path()));
  }
  EXPECT_EQ(out.files(), 0U);
  make(out / "toy", "old");
  {
    ResultFolder folder(out / "toy");
    folder.write("summary.json", "new");
  }
  EXPECT_EQ(content(out / "toy/summary.json"), "old");
  EXPECT_EQ(names(out / ""), Names{"toy"});
}

TEST(ResultFolder, ReplacesItsOwnFilesAndKeepsAllOthers) {
  const TemporaryFolder out;
  make(out / "toy", "old");
  (void)out.file("toy/old-figure.svg", "drawn before");
  (void)out.file("toy/notes.txt", "mine");
  fs::create_directories(out / "toy/more/deep");
  (void)out.file("toy/more/deep/data.csv", "1,2");
  make(out / "toy", "new");
  EXPECT_EQ(names(out / "toy"), (Names{"summary.json", "results.csv", "notes.txt", "more"}));
  EXPECT_EQ(content(out / "toy/summary.json"), "new");
  EXPECT_EQ(content(out / "toy/notes.txt"), "mine");
  EXPECT_EQ(content(out / "toy/more/deep/data.csv"), "1,2");
  EXPECT_EQ(names(out / ""), Names{"toy"});
}

TEST(ResultFolder, MayBeginInAnEmptyFolder) {
  const TemporaryFolder out;
  fs::create_directory(out / "toy");
  make(out / "toy", "new");
  EXPECT_EQ(names(out / ""), Names{"toy"});
  EXPECT_EQ(content(out / "toy/summary.json"), "new");
}

TEST(ResultFolder, RefusesWhatIsNoResultFolder) {
  const TemporaryFolder out;
  fs::create_directory(out / "photos");
  (void)out.file("photos/a.jpg", "x");
  (void)out.file("file", "some text");
  (void)out.file("empty", "");
  for (const char* name : {"photos", "file", "empty"}) {
    try {
      const ResultFolder folder(out / name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("is not a result folder"), std::string::npos);
    }
  }
  EXPECT_THROW(ResultFolder(out / "file/toy"), Error);
  EXPECT_EQ(names(out / ""), (Names{"photos", "file", "empty"}));
  EXPECT_EQ(content(out / "photos/a.jpg"), "x");
}

TEST(ResultFolder, MakesTheFoldersAbove) {
  const TemporaryFolder out;
  make(out / "a/b/toy", "1");
  EXPECT_EQ(content(out / "a/b/toy/summary.json"), "1");
  EXPECT_EQ(names(out / "a/b"), Names{"toy"});
}

TEST(ResultFolder, CommitToALinkReplacesWhatItPointsTo) {
  const TemporaryFolder out;
  make(out / "real", "old");
  fs::create_directory_symlink(out / "real", out / "toy");
  make(out / "toy", "new");
  EXPECT_EQ(content(out / "toy/summary.json"), "new");
  EXPECT_EQ(names(out / ""), (Names{"real", "toy"}));
}

// A number of a process that has ended, and has been waited for.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return child;
}

TEST(Leftovers, OfDeadProcessesAreRemoved) {
  const TemporaryFolder out;
  const std::string dead = ".making-" + std::to_string(dead_process()) + "-toy",
                    alive = ".making-" + std::to_string(getppid()) + "-toy";
  for (const std::string& name : {dead, alive, std::string("toy"), std::string(".hidden")}) {
    fs::create_directory(out / name);
    (void)out.file(name + "/summary.json", "1");
  }
  remove_leftovers(out / "");
  EXPECT_EQ(names(out / ""), (Names{alive, "toy", ".hidden"}));
  EXPECT_NO_THROW(remove_leftovers(out / "nowhere"));
}

}  // namespace
}  // namespace medgrad::lab
