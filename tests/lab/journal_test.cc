// Journals: what was written down is restored, whatever happened to the file, and nothing else is.
#include "lab/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/temporary_folder.h"
#include "testing.h"

namespace medgrad::lab {
namespace {

using medgrad::testing::content;
using medgrad::testing::same_bits;
using medgrad::testing::TemporaryFolder;
using medgrad::testing::view;
using Numbers = std::vector<std::vector<double>>;

constexpr std::size_t kTasks = 6;

// Different lengths and odd values; tasks are not written in their order.
Numbers tasks() {
  Numbers numbers(kTasks);
  std::mt19937_64 rng(1);
  for (std::size_t i = 0; i < kTasks; ++i) {
    numbers[i].resize(1 + i % 3);
    for (double& x : numbers[i]) x = std::bit_cast<double>(rng());
  }
  numbers[3][0] = std::numeric_limits<double>::quiet_NaN();
  return numbers;
}
constexpr std::size_t kOrder[kTasks] = {5, 0, 3, 1, 4, 2};

std::string write_journal(const std::string& file, std::string_view identity = "toy") {
  Journal journal(file, identity);
  Numbers none(kTasks);
  EXPECT_EQ(journal.restore(none), 0U);
  const Numbers numbers = tasks();
  for (const std::size_t task : kOrder) journal.add(task, numbers[task]);
  journal.flush();
  return content(file);
}

// Restores; whatever comes back is what was written. Gives how many.
std::size_t expect_truth(const std::string& file, std::string_view identity = "toy") {
  Numbers numbers(kTasks);
  const std::size_t restored = Journal(file, identity).restore(numbers);
  const Numbers all = tasks();
  std::size_t found = 0;
  for (std::size_t i = 0; i < kTasks; ++i) {
    if (numbers[i].empty()) continue;
    ++found;
    EXPECT_TRUE(same_bits(view(numbers[i]), view(all[i]))) << "task " << i;
  }
  EXPECT_EQ(found, restored);
  return restored;
}

TEST(Journal, RestoresEverything) {
  const TemporaryFolder folder;
  write_journal(folder / "j");
  EXPECT_EQ(expect_truth(folder / "j"), kTasks);
  EXPECT_EQ(expect_truth(folder / "j"), kTasks);  // reading it changes nothing
}

TEST(Journal, MissingIsEmpty) {
  const TemporaryFolder folder;
  EXPECT_EQ(expect_truth(folder / "none"), 0U);
  EXPECT_EQ(folder.files(), 0U);
}

// Cut off anywhere: the records before the cut are there, in order, and what is added comes after
// them.
TEST(Journal, EveryPrefixRestoresAPrefix) {
  const TemporaryFolder folder;
  const std::string whole = write_journal(folder / "whole");
  const Numbers all = tasks();
  std::size_t last = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const std::string file = folder.file("j", whole.substr(0, length));
    Numbers numbers(kTasks);
    std::size_t restored = 0;
    {
      Journal journal(file, "toy");
      restored = journal.restore(numbers);
      EXPECT_GE(restored, last);
      EXPECT_LE(restored, last + 1);
      last = restored;
      for (std::size_t k = 0; k < kTasks; ++k) EXPECT_EQ(!numbers[kOrder[k]].empty(), k < restored);
      if (restored == kTasks) break;
      journal.add(kOrder[restored], all[kOrder[restored]]);
      journal.flush();
    }
    EXPECT_EQ(expect_truth(file), restored + 1) << "cut at " << length;
  }
  EXPECT_EQ(last, kTasks);
}

TEST(Journal, DamagedBytesAreNoNumbers) {
  const TemporaryFolder folder;
  const std::string whole = write_journal(folder / "whole");
  std::mt19937_64 rng(2);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1U << (rng() % 8)));
    EXPECT_LT(expect_truth(folder.file("j", damaged)), kTasks) << at;
  }
  for (int i = 0; i < 100; ++i) {  // bytes put in or taken out, or rubbish all over
    std::string damaged = whole;
    const std::size_t at = rng() % whole.size();
    if (i % 3 == 0) damaged.insert(at, 1 + rng() % 40, static_cast<char>(rng()));
    if (i % 3 == 1) damaged.erase(at, 1 + rng() % 40);
    if (i % 3 == 2)
      for (std::size_t k = at; k < damaged.size(); ++k) damaged[k] = static_cast<char>(rng());
    expect_truth(folder.file("j", damaged));
  }
  EXPECT_EQ(expect_truth(folder.file("j", whole + whole)), kTasks);  // a second header is no record
}

TEST(Journal, AnotherIdentityBeginsAnew) {
  const TemporaryFolder folder;
  const std::string toy = write_journal(folder / "j", "toy");
  EXPECT_EQ(expect_truth(folder / "j", "toy with another seed"), 0U);
  EXPECT_EQ(write_journal(folder / "j", "toy"), toy);
  const std::string other = write_journal(folder / "j", "other");
  EXPECT_NE(other, toy);
  EXPECT_EQ(expect_truth(folder / "j", "other"), kTasks);
}

// Records of tasks there are not, and a second one of the same task, change nothing.
TEST(Journal, StrangeTasksAreLeftOut) {
  const TemporaryFolder folder;
  const Numbers all = tasks();
  {
    Journal journal(folder / "j", "toy");
    journal.add(kTasks, all[0]);
    journal.add(std::numeric_limits<std::size_t>::max(), all[0]);
    journal.add(2, all[2]);
    journal.add(2, all[4]);
    journal.flush();
  }
  EXPECT_EQ(expect_truth(folder / "j"), 1U);
}

// A place that cannot be written is no reason to stop.
TEST(Journal, CannotBeWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.file("file", "");
  Journal journal(file + "/j", "toy");
  Numbers numbers(kTasks);
  EXPECT_EQ(journal.restore(numbers), 0U);
  EXPECT_NO_THROW(journal.add(0, tasks()[0]));
  EXPECT_NO_THROW(journal.flush());
}

TEST(Journal, ManyThreadsWriteWholeRecords) {
  const TemporaryFolder folder;
  const Numbers all = tasks();
  {
    Journal journal(folder / "j", "toy");
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 3; ++first) {
      threads.emplace_back([&, first] {
        for (std::size_t task = first; task < kTasks; task += 3) {
          journal.add(task, all[task]);
          journal.flush();
        }
      });
    }
  }
  EXPECT_EQ(expect_truth(folder / "j"), kTasks);
}

}  // namespace
}  // namespace medgrad::lab
