// Checkpoints on disks that are full, and checkpoints that are damaged.
#include "language/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <csignal>
#include <map>
#include <system_error>

#include "base/safetensors_writer.h"
#include "language/made_up.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "testing.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::message_of;
using testing::bytes_of;
using testing::lines_of;
using testing::made_up;
using testing::options_for;
using testing::path_of;
using testing::TemporaryFolder;

// Files of this process may not grow beyond so many bytes: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &was_);
    const rlimit now{size, was_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &was_);
    std::signal(SIGXFSZ, before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit was_ = {};
  void (*before_)(int);
};

// All that a checkpoint is made of.
struct Parts {
  std::shared_ptr<libtorch::Model> model = made_up().make_model(0);
  std::unique_ptr<libtorch::TrackingOptimizer> optimizer =
      libtorch::make_optimizer(parse_method("vclip").gradient, model->parameters(), 0.1);
  libtorch::Scheduler scheduler{*optimizer, {}};

  void save(const fs::path& file, const Json& config, const Position& position = {}) {
    save_checkpoint(file, config, position, {*model, *optimizer, scheduler});
  }
  Position load(const fs::path& file, const Json& config) {
    return load_checkpoint(file, config, {*model, *optimizer, scheduler});
  }
};

const Json kConfig = {{"task", "none"}};

std::string damaged(const fs::path& file) {
  return file.string().append(" is not a checkpoint of a training run, or is damaged.");
}

TEST(Checkpoint, ADiskThatIsFullIsAnOrdinaryFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  try {
    Parts().save("/dev/full", kConfig);
    ADD_FAILURE() << "it was written";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_space_on_device);
    EXPECT_NE(std::string(error.what()).find("/dev/full cannot be written"), std::string::npos)
        << error.what();
  }
}

// A disk that is full when a checkpoint is due: the one before is still good.
TEST(Checkpoint, TheOldOneStaysWhereThereIsNoRoom) {
  const TemporaryFolder folder;
  const fs::path whole = path_of(folder) / "whole", parts = path_of(folder) / "parts";
  TrainingOptions options = options_for("vclip", whole);
  train(made_up(), options);
  options.folder = parts;
  std::optional<FullDisk> full;
  const auto fill = [&](const TrainingProgress& p) {
    if (p.step == 4) full.emplace(1 << 16);
  };
  EXPECT_THROW(train(made_up(), options, fill), std::system_error);
  full.reset();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(parts))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{kCheckpointName, "config.json", "metrics.jsonl"}));
  options.resume = true;
  train(made_up(), options);
  EXPECT_EQ(lines_of(parts), lines_of(whole));
}

// No line of the metrics is lost unnoticed, be there room again for the next one or not.
TEST(Checkpoint, ARunStopsWhereItsMetricsCannotBeWritten) {
  const TemporaryFolder folder;
  const fs::path whole = path_of(folder) / "whole", parts = path_of(folder) / "parts";
  TrainingOptions options = options_for("vclip", whole);
  train(made_up(), options);
  options.folder = parts;
  options.checkpoint_every = 100;  // the last one is that before training
  std::optional<FullDisk> full;
  const auto fill = [&](const TrainingProgress& p) {
    if (p.evaluated) return;
    full.reset();
    if (p.step == 3) full.emplace(fs::file_size(parts / "metrics.jsonl") + 20);
  };
  try {
    train(made_up(), options, fill);
    ADD_FAILURE() << "the run went on";
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("metrics.jsonl cannot be written"), std::string::npos)
        << error.what();
  }
  full.reset();
  options.resume = true;
  train(made_up(), options);
  EXPECT_EQ(lines_of(parts), lines_of(whole));
}

TEST(Checkpoint, EveryDamageIsSeen) {
  const TemporaryFolder folder;
  const fs::path file = path_of(folder) / kCheckpointName;
  Parts parts;
  Position position;
  position.step = 7;
  parts.save(file, kConfig, position);
  EXPECT_EQ(parts.load(file, kConfig).step, 7U);
  const std::string good = bytes_of(file);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 150; ++i) {
    places.push_back(good.size() * i / 150);
    places.push_back(i);  // the header, which begins with the checksum
  }
  for (const std::size_t at : places) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    write_file(file.string(), bad);
    EXPECT_EQ(message_of([&] { return parts.load(file, kConfig); }), damaged(file)) << at;
  }
  for (const std::string& bad : {good.substr(0, good.size() / 2), good + "\n", std::string()}) {
    write_file(file.string(), bad);
    EXPECT_EQ(message_of([&] { return parts.load(file, kConfig); }), damaged(file));
  }
}

// Texts that are no JSON, or not what they should be, in a file that is whole.
TEST(Checkpoint, TextsThatMakeNoSenseAreDamageToo) {
  const TemporaryFolder folder;
  const fs::path file = path_of(folder) / kCheckpointName;
  Parts parts;
  parts.save(file, kConfig);
  const std::string good = bytes_of(file);
  const SafeTensors whole("good", good);
  const std::vector<StoredTensor> tensors(whole.tensors().begin(), whole.tensors().end());
  const auto load_with = [&](const std::map<std::string, std::string>& changes) {
    StoredTexts texts;
    for (const auto& [key, value] : whole.metadata())
      if (key != "checksum")
        texts.emplace_back(key, changes.contains(key) ? changes.at(key) : value);
    write_safetensors(file, tensors, texts);
    return message_of([&] { return parts.load(file, kConfig); });
  };
  EXPECT_EQ(load_with({}), "no error");
  for (const std::string position : {"{", "[]", "{}", R"({"epoch": "x"})"})
    EXPECT_EQ(load_with({{"position", position}}), damaged(file)) << position;
  EXPECT_EQ(load_with({{"config", "{\"task\":"}}), damaged(file));
  EXPECT_EQ(load_with({{"medgrad", "optimizer"}}), damaged(file));
  EXPECT_EQ(load_with({{"format", "2"}}),
            file.string() + " has the format 2; this version reads only format 1.");
  EXPECT_NE(load_with({{"config", "{\"task\": \"other\"}"}}).find("another 'task'"),
            std::string::npos);
  EXPECT_NE(load_with({{"optimizer", "{}"}}).find("the saved optimiser is damaged"),
            std::string::npos);
  EXPECT_EQ(load_with({{"schedule", "7"}}), "the saved scheduler is damaged.");
}

// Nobody's run is overwritten, and nothing is read wrongly.
TEST(Checkpoint, ThoseOfEarlierVersionsAreRefused) {
  const TemporaryFolder folder;
  const fs::path old = folder.file("checkpoint.pt", "PK");
  TrainingOptions options = options_for("vclip", path_of(folder));
  EXPECT_NE(message_of([&] { return train(made_up(), options).steps; }).find("already has a run"),
            std::string::npos);
  options.resume = true;
  EXPECT_EQ(
      message_of([&] { return train(made_up(), options).steps; }),
      old.string() +
          " was written by an earlier version of medgrad, and this one cannot resume from it.");
}

// A run of another model has other tensors.
TEST(Checkpoint, OfAnotherModel) {
  const TemporaryFolder folder;
  const fs::path file = path_of(folder) / kCheckpointName;
  Parts parts;
  parts.save(file, kConfig);
  const auto net = std::make_shared<::torch::nn::Linear>(2, 1);
  libtorch::MedianSGD optimizer((*net)->parameters(), libtorch::MedianSGDOptions(0.1));
  libtorch::Scheduler scheduler(optimizer, {});
  EXPECT_EQ(message_of([&] {
              return load_checkpoint(file, kConfig, {**net, optimizer, scheduler}).step;
            }),
            file.string() + " belongs to another model.");
}

}  // namespace
}  // namespace medgrad::language
