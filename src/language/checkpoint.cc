#include "language/checkpoint.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <exception>

#include "base/file.h"
#include "language/checked_file.h"
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

// Runs `read`; what libtorch or JSON find wrong in it is an Error about the file.
template <class Read>
auto read_from(const fs::path& file, const Read& read) {
  const auto damaged = [&] {
    return Error(
        fmt::format("{} is not a checkpoint of a training run, or is damaged.", file.string()));
  };
  try {
    return read();
  } catch (const c10::Error&) {
    throw damaged();
  } catch (const Json::exception&) {
    throw damaged();
  }
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

void save_checkpoint(const fs::path& file, const Json& config, const Position& position,
                     const ::torch::nn::Module& model, const libtorch::TrackingOptimizer& optimizer,
                     const libtorch::Scheduler& scheduler) {
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
  // libtorch ends the program where its writer fails, so failures stay here until it is done.
  CheckedFile out(file);
  std::exception_ptr failure;
  const auto write = [&](const void* data, std::size_t size) {
    try {
      if (!failure) out.write({static_cast<const char*>(data), size});
    } catch (...) {
      failure = std::current_exception();
    }
    return size;
  };
  archive.save_to(write);
  if (failure) std::rethrow_exception(failure);
  out.commit();
}

Position load_checkpoint(const fs::path& file, const Json& config, ::torch::nn::Module& model,
                         libtorch::TrackingOptimizer& optimizer, libtorch::Scheduler& scheduler) {
  if (!fs::exists(file))
    throw Error(
        fmt::format("there is no checkpoint to resume from: {} does not exist.", file.string()));
  return read_from(file, [&] {
    const MappedFile mapped(file);
    const std::string_view bytes = checked(mapped.bytes());
    if (bytes.empty())
      throw Error(
          fmt::format("{} is not a checkpoint of a training run, or is damaged.", file.string()));
    InputArchive archive, weights, state, schedule;
    c10::IValue saved, position;
    archive.load_from(bytes.data(), bytes.size());
    archive.read("config", saved);
    archive.read("position", position);
    archive.read("weights", weights);
    archive.read("optimizer", state);
    archive.read("schedule", schedule);
    check_same_run(Json::parse(saved.toStringRef()), config, file.string());
    const ::torch::NoGradGuard no_grad;
    const auto parameters = model.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      at::Tensor value;
      if (!weights.try_read(std::to_string(i), value) || value.sizes() != parameters[i].sizes())
        throw Error(fmt::format("{} belongs to another model.", file.string()));
      parameters[i].copy_(value);
    }
    optimizer.load(state);
    scheduler.load(schedule);
    return position_of(position.toStringRef());
  });
}

}  // namespace medgrad::language
