#include "language/checkpoint.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "language/run_config.h"
#include "medgrad/error.h"
#include "medgrad/version.h"
#include "torch/tensor_file.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;

// What the file says it is, and how its tensors are named.
const std::string kKind = "training", kFormat = "1", kModel = "model.", kOptimizer = "optimizer.",
                  kCentre = "centre";
constexpr const char* kEarlierName = "checkpoint.pt";  // an archive of libtorch

std::string text_of(const Position& position) {
  const Json json = {{"epoch", position.epoch},
                     {"batch", position.batch},
                     {"step", position.step},
                     {"dropout_step", position.dropout_step},
                     {"metrics_bytes", position.metrics_bytes},
                     {"running_loss", json_number(position.running_loss)},
                     {"seconds", position.seconds},
                     {"evaluation_seconds", position.evaluation_seconds},
                     {"evaluations", json_of(position.evaluations)}};
  return json.dump();
}

Position position_of(const std::string& text) {
  const Json json = Json::parse(text);
  Position position;
  position.epoch = json.at("epoch");
  position.batch = json.at("batch");
  position.step = json.at("step");
  position.dropout_step = json.at("dropout_step");
  position.metrics_bytes = json.at("metrics_bytes");
  position.running_loss = number_of(json.at("running_loss"));
  position.seconds = json.at("seconds");
  position.evaluation_seconds = json.at("evaluation_seconds");
  position.evaluations = evaluations_of(json.at("evaluations"));
  return position;
}

Error damaged(const std::string& file) {
  return Error(fmt::format("{} is not a checkpoint of a training run, or is damaged.", file));
}

void check_there(const fs::path& file) {
  if (fs::exists(file)) return;
  const fs::path old = file.parent_path() / kEarlierName;
  if (fs::exists(old))
    throw Error(fmt::format(
        "{} was written by an earlier version of medgrad, and this one cannot resume from it.",
        old.string()));
  throw Error(
      fmt::format("there is no checkpoint to resume from: {} does not exist.", file.string()));
}

// The saved weights in the order of the model's.
std::vector<at::Tensor> weights_of(const SafeTensors& saved, const ::torch::nn::Module& model) {
  std::vector<at::Tensor> weights;
  for (const auto& item : model.named_parameters()) {
    const StoredTensor* const found = saved.find(kModel + item.key());
    if (found != nullptr) weights.push_back(libtorch::tensor_of(*found));
    if (found == nullptr || weights.back().sizes() != item.value().sizes() ||
        weights.back().scalar_type() != item.value().scalar_type())
      throw Error(fmt::format("{} belongs to another model.", saved.file()));
  }
  return weights;
}

}  // namespace

Json json_of(const std::vector<Evaluation>& evaluations) {
  Json json = Json::array();
  for (const Evaluation& one : evaluations) {
    Json scores = Json::object();
    for (const auto& [name, value] : one.scores) scores[name] = json_number(value);
    json.push_back({{"epoch", one.epoch}, {"step", one.step}, {"scores", scores}});
  }
  return json;
}

std::vector<Evaluation> evaluations_of(const Json& json) {
  std::vector<Evaluation> evaluations;
  for (const Json& one : json) {
    Evaluation evaluation{one.at("epoch"), one.at("step"), {}};
    for (const auto& [name, value] : one.at("scores").items())
      evaluation.scores.emplace_back(name, number_of(value));
    evaluations.push_back(std::move(evaluation));
  }
  return evaluations;
}

bool has_checkpoint(const fs::path& folder) {
  return fs::exists(folder / kCheckpointName) || fs::exists(folder / kEarlierName);
}

Json json_of(const std::vector<dist::Record>& records) {
  Json json = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const dist::Record& one = records[i];
    if (one.steps == 0) continue;
    json.push_back({{"worker", i},
                    {"steps", one.steps},
                    {"distance", json_number(one.distance)},
                    {"weight", json_number(one.weight)},
                    {"kept", json_number(one.kept)},
                    {"cut", one.cut},
                    {"unused", one.unused},
                    {"nan", one.nan},
                    {"inf", one.inf},
                    {"damaged", one.damaged},
                    {"seconds", one.seconds}});
  }
  return json;
}

std::vector<dist::Record> records_of(const Json& json) {
  std::vector<dist::Record> records;
  for (const Json& one : json) {
    const std::size_t worker = one.at("worker");
    if (worker >= records.size()) records.resize(worker + 1);
    records[worker] = {one.at("steps"),
                       number_of(one.at("distance")),
                       number_of(one.at("weight")),
                       number_of(one.at("kept")),
                       one.at("cut"),
                       one.at("unused"),
                       one.at("nan"),
                       one.at("inf"),
                       one.at("damaged"),
                       one.at("seconds")};
  }
  return records;
}

namespace {

// Everything as texts and tensors, in one file or in memory.
struct Stored {
  explicit Stored(const libtorch::NamedTensors& named) : tensors(named) {}
  libtorch::StoredTensors tensors;
  StoredTexts texts;
};

Stored stored(const Json& config, const Position& position, const Trainee& trainee) {
  const libtorch::SavedState state = trainee.optimizer.saved_state();
  libtorch::NamedTensors tensors;
  for (const auto& item : trainee.model.named_parameters())
    tensors.emplace_back(kModel + item.key(), item.value());
  for (const auto& [name, tensor] : state.tensors) tensors.emplace_back(kOptimizer + name, tensor);
  if (trainee.team != nullptr && !trainee.team->centre.empty()) {
    const auto& centre = trainee.team->centre;
    at::Tensor kept = ::torch::empty({static_cast<std::int64_t>(centre.size())}, at::kFloat);
    std::ranges::copy(centre, kept.data_ptr<float>());
    tensors.emplace_back(kCentre, std::move(kept));
  }
  Stored all(tensors);
  all.texts = {{"medgrad", kKind},
               {"format", kFormat},
               {"version", kVersion},
               {"config", config.dump()},
               {"position", text_of(position)},
               {"optimizer", state.json},
               {"schedule", trainee.scheduler.saved_state()}};
  if (trainee.team != nullptr)
    all.texts.emplace_back("blame", json_of(trainee.team->blame.records()).dump());
  return all;
}

}  // namespace

void save_checkpoint(const fs::path& file, const Json& config, const Position& position,
                     const Trainee& trainee) {
  const Stored all = stored(config, position, trainee);
  write_safetensors(file, all.tensors.tensors(), all.texts);
}

std::string checkpoint_text(const Json& config, const Position& position, const Trainee& trainee) {
  const Stored all = stored(config, position, trainee);
  return safetensors_of(all.tensors.tensors(), all.texts);
}

Position load_checkpoint(const fs::path& file, const Json& config, const Trainee& trainee) {
  check_there(file);
  const MappedFile mapped(file);
  return read_checkpoint(mapped.bytes(), file.string(), config, trainee);
}

std::size_t step_of_checkpoint(const fs::path& file) {
  const SafeTensors saved(file);
  const auto found = saved.metadata().find("position");
  if (found == saved.metadata().end()) throw damaged(file.string());
  try {
    return position_of(found->second).step;
  } catch (const Json::exception&) {
    throw damaged(file.string());
  }
}

Position read_checkpoint(std::string_view bytes, const std::string& from, const Json& config,
                         const Trainee& trainee) {
  if (!has_its_checksum(bytes)) throw damaged(from);
  try {
    const SafeTensors saved(from, bytes);
    const std::map<std::string, std::string>& texts = saved.metadata();
    const auto text = [&](const char* key) {
      const auto found = texts.find(key);
      if (found == texts.end()) throw damaged(from);
      return found->second;
    };
    if (text("medgrad") != kKind) throw damaged(from);
    if (text("format") != kFormat)
      throw Error(fmt::format("{} has the format {}; this version reads only format {}.", from,
                              text("format"), kFormat));
    check_same_run(Json::parse(text("config")), config, from);
    const Position position = position_of(text("position"));
    const std::vector<at::Tensor> weights = weights_of(saved, trainee.model);
    if (trainee.team != nullptr) {
      trainee.team->blame = dist::Blame(records_of(Json::parse(text("blame"))));
      const std::vector<float> centre =
          saved.find(kCentre) != nullptr ? saved.read(kCentre) : std::vector<float>();
      trainee.team->centre.assign(centre.begin(), centre.end());
    }
    trainee.optimizer.restore({text("optimizer"), libtorch::tensors_of(saved, kOptimizer)});
    trainee.scheduler.restore(text("schedule"));
    const ::torch::NoGradGuard no_grad;
    const auto parameters = trainee.model.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(weights[i]);
    return position;
  } catch (const Json::exception&) {
    throw damaged(from);
  }
}

}  // namespace medgrad::language
