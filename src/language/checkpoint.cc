#include "language/checkpoint.h"

#include <fcntl.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "language/run_config.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;
using ::torch::serialize::InputArchive;
using ::torch::serialize::OutputArchive;

std::string text_of(const Position& position) {
  const Json json = {{"epoch", position.epoch},
                     {"batch", position.batch},
                     {"step", position.step},
                     {"dropout_step", position.dropout_step},
                     {"metrics_bytes", position.metrics_bytes},
                     {"running_loss", json_of(position.running_loss)},
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

// The bytes are on the disk before the name is: a machine that dies leaves the old file or the new.
void replace_with(const fs::path& made, const fs::path& file) {
  const int handle = ::open(made.c_str(), O_RDONLY);
  const bool good = handle >= 0 && ::fsync(handle) == 0;
  if (handle >= 0) ::close(handle);
  if (!good || ::rename(made.c_str(), file.c_str()) != 0)
    throw std::system_error(errno, std::generic_category(), file.string());
}

}  // namespace

Json json_of(const std::vector<Evaluation>& evaluations) {
  Json json = Json::array();
  for (const Evaluation& one : evaluations) {
    Json scores = Json::object();
    for (const auto& [name, value] : one.scores) scores[name] = json_of(value);
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

void save_checkpoint(const fs::path& file, const Json& config, const Position& position,
                     const ::torch::nn::Module& model, const torch::TrackingOptimizer& optimizer,
                     const torch::Scheduler& scheduler) {
  OutputArchive archive;
  archive.write("config", c10::IValue(config.dump()));
  archive.write("position", c10::IValue(text_of(position)));
  OutputArchive weights(archive.compilation_unit()), state(archive.compilation_unit()),
      schedule(archive.compilation_unit());
  const auto parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    weights.write(std::to_string(i), parameters[i].detach(), true);
  optimizer.save(state);
  scheduler.save(schedule);
  archive.write("weights", weights);
  archive.write("optimizer", state);
  archive.write("schedule", schedule);
  const fs::path made = file.string() + ".new";
  try {
    archive.save_to(made.string());
  } catch (const c10::Error& error) {
    std::error_code ignored;
    fs::remove(made, ignored);
    throw std::runtime_error(
        made.string().append(" cannot be written: ").append(error.what_without_backtrace()));
  }
  replace_with(made, file);
}

Position load_checkpoint(const fs::path& file, const Json& config, ::torch::nn::Module& model,
                         torch::TrackingOptimizer& optimizer, torch::Scheduler& scheduler) {
  if (!fs::exists(file))
    throw Error(std::string("there is no checkpoint to resume from: ")
                    .append(file.string())
                    .append(" does not exist."));
  InputArchive archive, weights, state, schedule;
  c10::IValue saved, position;
  try {
    archive.load_from(file.string());
    archive.read("config", saved);
    archive.read("position", position);
    archive.read("weights", weights);
    archive.read("optimizer", state);
    archive.read("schedule", schedule);
  } catch (const c10::Error&) {
    throw Error(file.string().append(" is no checkpoint of a training run, or damaged."));
  }
  check_same_run(Json::parse(saved.toStringRef()), config, file.string());
  const ::torch::NoGradGuard no_grad;
  const auto parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor value;
    if (!weights.try_read(std::to_string(i), value) || value.sizes() != parameters[i].sizes())
      throw Error(file.string().append(" holds another model."));
    parameters[i].copy_(value);
  }
  optimizer.load(state);
  scheduler.load(schedule);
  return position_of(position.toStringRef());
}

}  // namespace medgrad::language
