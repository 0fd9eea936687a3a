// Gradients at fixed weights, stopped and gone on with: the files, and whole studies.
#include "language/measurement_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/temporary_folder.h"
#include "lab/report/figure.h"
#include "lab/runner.h"
#include "language/experiments.h"
#include "language/gradient_study.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::content;
using medgrad::testing::TemporaryFolder;

constexpr auto kNow = MeasurementFile::Clock::duration::zero();
constexpr auto kNever = std::chrono::hours(1);

// Four gradients for the full one, five that are followed.
struct Setting {
  std::unique_ptr<Task> task =
      open_task("synthetic",
                {.size = Size::small, .batch = 4, .dropout = 0.0, .drop_last = true, .limit = 4});
  std::shared_ptr<libtorch::Model> model = task->make_model(3);
  BatchGradients gradients{*task, *model, true};

  Measurement begin() {
    return {gradients, {.tracking = {.methods = {tracking_method("vclip", 0.1)}, .steps = 5}}};
  }
  // Where a new measurement gets with the file.
  std::size_t restored(const fs::path& file, std::string_view identity = "these settings") {
    Measurement measurement = begin();
    MeasurementFile(file, identity).restore(measurement);
    return measurement.position();
  }
};

TEST(MeasurementFile, IsWrittenNowAndThen) {
  Setting s;
  const TemporaryFolder folder;
  const fs::path often = folder / "a/often", seldom = folder / "b/seldom";
  Measurement measurement = s.begin();
  MeasurementFile rarely(seldom, "these settings", kNever);
  for (std::size_t k = 1; k <= 9; ++k) {
    measurement.advance();
    MeasurementFile(often, "these settings", kNow).save_now_and_then(measurement);
    rarely.save_now_and_then(measurement);
    EXPECT_EQ(s.restored(often), k);
    EXPECT_EQ(s.restored(seldom), k == 9 ? 9U : k >= 4 ? 4U : 0U) << "only at the end of a stage";
  }
  MeasurementFile nowhere({}, "these settings", kNow);
  nowhere.save(measurement);
  EXPECT_EQ(s.restored({}), 0U);
}

TEST(MeasurementFile, CountsForNothingUnlessItIsWholeAndItsOwn) {
  Setting s;
  const TemporaryFolder folder;
  const fs::path file = folder / "file";
  Measurement measurement = s.begin();
  while (measurement.position() < 6) measurement.advance();
  MeasurementFile(file, "these settings").save(measurement);
  ASSERT_EQ(s.restored(file), 6U);
  EXPECT_EQ(s.restored(file, "other settings"), 0U);
  const std::string good = content(file.string());
  const std::size_t middle = good.size() / 2;
  for (const std::size_t place : {std::size_t{0}, std::size_t{40}, middle, good.size() - 2}) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 4);
    (void)folder.file("file", bad);
    EXPECT_EQ(s.restored(file), 0U) << place;
  }
  for (const std::string& bad : {std::string(), std::string("\n"), good.substr(0, middle),
                                 good.substr(0, good.size() - 1), good + "\n"}) {
    (void)folder.file("file", bad);
    EXPECT_EQ(s.restored(file), 0U) << bad.size();
  }
  (void)folder.file("file", good);
  EXPECT_EQ(s.restored(file), 6U);
}

TEST(MeasurementFile, AFolderThatCannotBeWrittenCostsNothingElse) {
  Setting s;
  const TemporaryFolder folder;
  const fs::path file = folder / "work/file";
  fs::create_directories(file / "taken");
  Measurement measurement = s.begin();
  measurement.advance();
  MeasurementFile to(file, "these settings", kNow);
  to.save_now_and_then(measurement);
  EXPECT_THROW(to.save(measurement), Error);
  EXPECT_EQ(s.restored(file), 0U);
  // Where another study of that name had a file, there is a folder now.
  const fs::path below = fs::path(folder.file("journal", "of tasks")) / "file";
  MeasurementFile(below, "these settings").save(measurement);
  EXPECT_EQ(s.restored(below), 1U);
}

// ---- Studies ------------------------------------------------------------------------------------

lab::Experiment experiment(const std::string& keys) {
  Node document = parse_document(R"({"experiment": "mine", "kind": "gradients", "task": "synthetic",
      "size": "small", "batch": [4, 6], "limit": 3, "steps": 5, "tau": [0.1],
      "methods": ["ema", "cclip"]})",
                                 "x.json");
  const Node over = parse_document("{" + keys + "}", "x.json");
  for (const auto& [key, value] : *over.object()) put(document, key, value);
  return lab::read_experiment(std::move(document), "x.json", catalogue());
}

// Every byte that becomes a file.
std::string files_of(const lab::Finished& finished) {
  return finished.config + lab::results_csv(finished.results) +
         lab::summary_json(finished.results) + lab::to_json_text(finished.results.figures);
}

// Runs, and stops after so many runs of the model, until nothing is left to do.
struct Stopped {
  std::string files;
  std::vector<std::string> kept;  // as every stop says it
};
Stopped run_in_parts(const lab::Experiment& experiment, const fs::path& work, std::size_t length,
                     std::size_t memory = 0) {
  Stopped stopped;
  for (;;) {
    std::atomic<bool> stop = false;
    std::size_t runs = 0;
    const auto count = [&](double) { stop = ++runs == length; };
    try {
      stopped.files = files_of(lab::run_experiment(
          experiment, {.work = work, .memory = memory, .progress = count, .stop = &stop}));
      return stopped;
    } catch (const lab::Interrupted& interrupted) {
      stopped.kept.push_back(interrupted.kept);
    }
  }
}

// Dropout is another one for every gradient, in every stage.
TEST(GradientStudy, GoesOnAsIfNeverStopped) {
  const std::pair<const char*, std::size_t> ways[] = {{R"("noise": true, "dropout": 0.2)", 1},
                                                      {R"("dropout": 0.2, "order": "random")", 3},
                                                      {R"("noise": true)", 4},
                                                      {R"("noise": true, "methods": [])", 5}};
  for (const auto& [keys, length] : ways) {
    const lab::Experiment one = experiment(keys);
    const TemporaryFolder folder;
    const Stopped stopped = run_in_parts(one, folder / "work", length);
    EXPECT_EQ(stopped.files, files_of(lab::run_experiment(one))) << keys;
    EXPECT_GE(stopped.kept.size(), 2U);
  }
}

// Gradients that were in memory are computed again, and change nothing.
TEST(GradientStudy, GoesOnWithGradientsThatWereKept) {
  const lab::Experiment one = experiment(R"("noise": true, "order": "random")");
  const TemporaryFolder folder;
  const Stopped stopped = run_in_parts(one, folder / "work", 2, lab::StudyContext().memory);
  EXPECT_EQ(stopped.files, files_of(lab::run_experiment(one)));
  EXPECT_GE(stopped.kept.size(), 3U);
}

TEST(GradientStudy, SaysWhatIsKept) {
  const TemporaryFolder folder;
  const Stopped two = run_in_parts(experiment(R"("noise": true)"), folder / "two", 7);
  EXPECT_EQ(two.kept, (std::vector<std::string>{
                          "0 of 2 batch sizes and 7 of 11 gradients of the next are done",
                          "1 of 2 batch sizes and 3 of 11 gradients of the next are done",
                          "1 of 2 batch sizes and 10 of 11 gradients of the next are done"}));
  const Stopped one = run_in_parts(experiment(R"("batch": 4)"), folder / "one", 5);
  EXPECT_EQ(one.kept, std::vector<std::string>{"5 of 8 gradients are done"});
  const std::atomic<bool> stop = true;
  const auto stopped_at_once = [&](const fs::path& work) -> std::string {
    try {
      (void)lab::run_experiment(experiment(R"("noise": true)"), {.work = work, .stop = &stop});
    } catch (const lab::Interrupted& interrupted) {
      return interrupted.kept;
    }
    return "it went on";
  };
  EXPECT_EQ(stopped_at_once({}), "nothing is kept");
  EXPECT_EQ(stopped_at_once(folder / "none"), "nothing is done yet");
}

// Batch sizes that are done stay so when others join them; other settings begin anew, and damage
// costs what it damages.
TEST(GradientStudy, GoesOnFromWhatIsItsOwn) {
  const TemporaryFolder folder;
  const fs::path work = folder / "work";
  const auto runs_of = [&](const lab::Experiment& one) {
    std::size_t runs = 0;
    const std::string files = files_of(
        lab::run_experiment(one, {.work = work, .memory = 0, .progress = [&](double) { ++runs; }}));
    EXPECT_EQ(files, files_of(lab::run_experiment(one)));
    return runs;
  };
  EXPECT_EQ(runs_of(experiment(R"("batch": 4)")), 8U);
  EXPECT_EQ(runs_of(experiment(R"("title": "Mine")")), 8U) << "those of batch 6";
  EXPECT_EQ(runs_of(experiment(R"("title": "Mine")")), 0U);
  const std::string path = (work / "batch-6").string();
  std::string bytes = content(path);
  bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
  (void)folder.file("work/batch-6", bytes);
  EXPECT_EQ(runs_of(experiment(R"("title": "Mine")")), 8U);
  EXPECT_EQ(runs_of(experiment(R"("seed": 1)")), 16U);
  EXPECT_EQ(runs_of(experiment(R"("seed": 1, "tau": [0.2])")), 16U);
}

}  // namespace
}  // namespace medgrad::language
