// A training run on disk: its position, model, optimiser and schedule in one file that is replaced
// in one step. It is a safetensors file with a checksum (base/safetensors_writer.h): the tensors
// are "model.<name>" and "optimizer.<group>.<parameter>.m", the texts, in JSON, "config",
// "position", "optimizer" and "schedule"; where workers train together also the tensor "centre" of
// a rule that keeps one, and the text "blame". Python reads it too: medgrad.load_checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "language/team.h"
#include "language/training.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/schedule.h"

namespace medgrad::language {

inline constexpr const char* kCheckpointName = "checkpoint.safetensors";
// Whether a folder has one, be it of an earlier version, which load_checkpoint() refuses.
[[nodiscard]] bool has_checkpoint(const std::filesystem::path& folder);

// Where a run is, beside its tensors.
struct Position {
  std::size_t epoch = 0;  // finished ones
  std::size_t batch = 0;  // of the epoch, the next one
  std::size_t step = 0;
  std::uint64_t dropout_step = 0;
  std::uint64_t metrics_bytes = 0;             // of metrics.jsonl that belong to it
  double running_loss = 0;                     // of training, over the last fifty steps or so
  double seconds = 0, evaluation_seconds = 0;  // of the run, of an evaluation
  std::vector<Evaluation> evaluations;
};

[[nodiscard]] Json json_of(const std::vector<Evaluation>& evaluations);
[[nodiscard]] std::vector<Evaluation> evaluations_of(const Json& json);

// All that goes on where a checkpoint was taken.
struct Trainee {
  ::torch::nn::Module& model;
  libtorch::TrackingOptimizer& optimizer;
  libtorch::Scheduler& scheduler;
  TeamState* team = nullptr;  // where workers train together
};

// `config` is everything the run depends on; load_checkpoint() throws Error where it differs, and
// where the file is missing or damaged. save_checkpoint() throws std::system_error where the file
// cannot be written; the one that was there is still there then.
void save_checkpoint(const std::filesystem::path& file, const Json& config,
                     const Position& position, const Trainee& trainee);
[[nodiscard]] Position load_checkpoint(const std::filesystem::path& file, const Json& config,
                                       const Trainee& trainee);

// How far a run was then, without the rest.
[[nodiscard]] std::size_t step_of_checkpoint(const std::filesystem::path& file);

// The same as text, for one who comes to where others are; `from` is what messages call it.
[[nodiscard]] std::string checkpoint_text(const Json& config, const Position& position,
                                          const Trainee& trainee);
[[nodiscard]] Position read_checkpoint(std::string_view text, const std::string& from,
                                       const Json& config, const Trainee& trainee);

// As JSON: what became of whose gradients.
[[nodiscard]] Json json_of(const std::vector<dist::Record>& records);
[[nodiscard]] std::vector<dist::Record> records_of(const Json& json);

}  // namespace medgrad::language
