// Saving and loading: parameters by their place, options included.
//
// torch::optim's own archives name parameters by their address and forget options on loading, and
// need libtorch to be read. A state is JSON and tensors instead: "0.3.m" is the m of the fourth
// parameter of the first group.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/json.h"
#include "medgrad/error.h"
#include "medgrad/version.h"
#include "torch/optim/engine.h"
#include "torch/tensor_file.h"

namespace medgrad::libtorch {
namespace {

constexpr const char* kInArchive = "safetensors";  // the bytes of such a file as a tensor
constexpr std::string_view kPrefix = "optimizer.";

// What the file of an optimiser says it is.
constexpr std::string_view kKind = "optimizer", kFormat = "1";

std::uint64_t count_of(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_unsigned())
    throw Error(
        fmt::format("the saved optimiser is damaged: '{}' is {}; it must be a whole number.", key,
                    value.dump()));
  return value.get<std::uint64_t>();
}

// The sizes of tau = auto: a file has them where there is one.
void put_sizes(Json& json, const std::vector<double>& sizes) {
  if (std::ranges::any_of(sizes, [](double size) { return size > 0; })) json["sizes"] = sizes;
}

std::vector<double> get_sizes(const Json& json) {
  if (!json.contains("sizes")) return {};
  auto sizes = json.at("sizes").get<std::vector<double>>();
  for (const double size : sizes) check("a saved size", size, range::non_negative);
  return sizes;
}

// The tensors of a state by their names.
class TensorsByName {
 public:
  explicit TensorsByName(const NamedTensors& tensors) : of_(tensors.begin(), tensors.end()) {}
  // Undefined where there is none.
  [[nodiscard]] Tensor find(const std::string& name) const {
    const auto found = of_.find(name);
    return found == of_.end() ? Tensor() : found->second;
  }

 private:
  std::map<std::string, Tensor> of_;
};

std::string tensor_name(std::size_t group, std::size_t parameter, const char* what) {
  return fmt::format("{}.{}.{}", group, parameter, what);
}

// A group as it was saved.
struct SavedGroup {
  GroupSettings settings;
  double tau = 0;
  std::vector<double> sizes;
  std::vector<ParameterState> states;  // m undefined where a parameter had none
};

Json group_json(const GroupOptions& options) {
  Json json = {{"method", options.method_line()}, {"tau", json_number(options.tau())}};
  for_each_field<GroupSettings>([&]<class V>(const Field<GroupSettings, V>& field) {
    const V value = options.settings().*field.member;
    const std::string key(field.name);
    if constexpr (std::is_enum_v<V>) {
      json[key] = static_cast<int>(value);
    } else if constexpr (std::is_same_v<V, double>) {
      json[key] = json_number(value);
    } else {
      json[key] = value;
    }
  });
  return json;
}

SavedGroup group_of(const Json& json, const GroupOptions& options) {
  const std::string method = json.at("method");
  if (!options.is_line(method))
    throw Error(fmt::format("the saved optimiser has the method '{}' where this one has '{}'.",
                            method, options.method_line()));
  SavedGroup saved;
  saved.tau = number_of(json.at("tau"));
  saved.sizes = get_sizes(json);
  for_each_field<GroupSettings>([&]<class V>(const Field<GroupSettings, V>& field) {
    const Json& value = json.at(std::string(field.name));
    V& to = saved.settings.*field.member;
    if constexpr (std::is_enum_v<V>) {
      // A number that is none of its values must not become one.
      check(field.name, value.get<double>(), field.range);
      to = static_cast<V>(value.get<int>());
    } else if constexpr (std::is_same_v<V, double>) {
      to = number_of(value);
    } else {
      to = value.get<V>();
    }
  });
  check_fields(saved.settings);
  return saved;
}

ParameterState parameter_of(const Json& json, const TensorsByName& tensors, const Slot& place,
                            State type) {
  ParameterState state;
  state.steps = static_cast<std::int64_t>(count_of(json, "steps"));
  state.sizes = get_sizes(json);
  const auto find = [&](const char* what) {
    return tensors.find(tensor_name(place.group, place.index, what));
  };
  const auto read = [&](const char* what, Tensor& to, State kept) {
    const Tensor saved = find(what);
    if (!saved.defined()) return;
    if (saved.sizes() != place.w.sizes())
      throw Error("a saved parameter has a different shape from the parameter here.");
    to = zeros_for(place.w, kept);
    if (saved.scalar_type() != to.scalar_type())
      throw Error("a saved parameter has a different type from the parameter here.");
    to.copy_(saved);
  };
  read("m", state.m, type);
  if (!state.m.defined())
    throw Error(fmt::format("the saved optimiser is incomplete: '{}' is missing.",
                            tensor_name(place.group, place.index, "m")));
  read("v", state.v, State::full);
  // Of n workers; the method's line says how many.
  if (const Tensor saved = find("workers"); saved.defined()) {
    if (saved.dim() != 2 || saved.size(1) != place.w.numel() || !saved.is_floating_point())
      throw Error("the saved vectors of workers do not fit the parameter here.");
    state.workers = saved;
  }
  return state;
}

// Runs `read`; where JSON finds something wrong it is an Error.
template <class Read>
void guarded(const Read& read) {
  try {
    read();
  } catch (const Json::exception&) {
    throw Error("the saved optimiser is damaged: what it says about itself cannot be understood.");
  }
}

StoredTexts texts_of(const SavedState& state) {
  return {{"medgrad", std::string(kKind)},
          {"format", std::string(kFormat)},
          {"version", kVersion},
          {"optimizer", state.json}};
}

NamedTensors with_prefix(const SavedState& state) {
  NamedTensors named;
  for (const auto& [name, tensor] : state.tensors)
    named.emplace_back(std::string(kPrefix) + name, tensor);
  return named;
}

SavedState state_in(const SafeTensors& file, std::string_view bytes) {
  const auto text = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  if (text("medgrad") != kKind)
    throw Error(fmt::format("{} is not a saved optimiser of medgrad.", file.file()));
  if (!has_its_checksum(bytes)) throw Error(fmt::format("{} is damaged.", file.file()));
  if (text("format") != kFormat)
    throw Error(fmt::format("{} has the format {}; this version reads only format {}.", file.file(),
                            text("format"), kFormat));
  return {text("optimizer"), tensors_of(file, kPrefix)};
}

}  // namespace

SavedState Engine::state(const ParamGroups& groups) const {
  SavedState saved;
  Json all = {{"kind", kind_}, {"steps", steps}, {"skipped", skipped}};
  put_sizes(all, global_sizes_);
  all["groups"] = Json::array();
  for (std::size_t k = 0; k < groups.size(); ++k) {
    Json group = group_json(options_of(groups[k]));
    if (k < group_sizes_.size()) put_sizes(group, group_sizes_[k]);
    group["parameters"] = Json::array();
    const std::vector<Tensor>& params = groups[k].params();
    for (std::size_t i = 0; i < params.size(); ++i) {
      const ParameterState* const state = find(params[i]);
      if (state == nullptr || !state->m.defined()) {
        group["parameters"].push_back(nullptr);
        continue;
      }
      Json entry = {{"steps", state->steps}};
      put_sizes(entry, state->sizes);
      group["parameters"].push_back(entry);
      const auto put = [&](const char* what, const Tensor& tensor) {
        if (tensor.defined()) saved.tensors.emplace_back(tensor_name(k, i, what), tensor);
      };
      put("m", state->m);
      put("v", state->v);
      put("workers", state->workers);
    }
    all["groups"].push_back(group);
  }
  saved.json = all.dump();
  return saved;
}

void Engine::restore(const SavedState& state, ParamGroups& groups) {
  std::vector<double> saved_sizes;
  std::vector<SavedGroup> saved;
  std::uint64_t saved_steps = 0, saved_skipped = 0;
  guarded([&] {
    const Json all = Json::parse(state.json);
    const TensorsByName tensors(state.tensors);
    if (const std::string kind = all.at("kind"); kind != kind_)
      throw Error(fmt::format("the file has a {}, not a {}.", kind, kind_));
    const Json& entries = all.at("groups");
    if (entries.size() != groups.size())
      throw Error("the saved optimiser has a different number of parameter groups.");
    saved_sizes = get_sizes(all);
    saved_steps = count_of(all, "steps");
    saved_skipped = count_of(all, "skipped");
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const Json& group = entries.at(k);
      saved.push_back(group_of(group, options_of(groups[k])));
      const std::vector<Tensor>& params = groups[k].params();
      const Json& parameters = group.at("parameters");
      if (parameters.size() != params.size())
        throw Error("the saved optimiser has a different number of parameters.");
      for (std::size_t i = 0; i < params.size(); ++i) {
        const Json& entry = parameters.at(i);
        Slot place;
        place.w = params[i];
        place.group = k;
        place.index = i;
        saved.back().states.push_back(
            entry.is_null()
                ? ParameterState{}
                : parameter_of(entry, tensors, place, state_type(options_of(groups[k]))));
      }
    }
  });

  // Everything has been read; nothing below can fail.
  states_.clear();
  global_sizes_ = std::move(saved_sizes);
  group_sizes_.clear();
  for (std::size_t k = 0; k < groups.size(); ++k) {
    group_sizes_.push_back(std::move(saved[k].sizes));
    auto& options = dynamic_cast<GroupOptions&>(groups[k].options());
    options.settings() = saved[k].settings;
    if (saved[k].tau > 0) options.set_tau(saved[k].tau);
    for (std::size_t i = 0; i < saved[k].states.size(); ++i)
      if (saved[k].states[i].m.defined())
        states_[groups[k].params()[i].unsafeGetTensorImpl()] = std::move(saved[k].states[i]);
  }
  steps = saved_steps;
  skipped = saved_skipped;
  reports.clear();
}

SavedState TrackingOptimizer::saved_state() const { return engine_->state(param_groups_); }

void TrackingOptimizer::restore(const SavedState& state) {
  const ::torch::NoGradGuard no_grad;
  engine_->restore(state, param_groups_);
}

void TrackingOptimizer::save(const std::filesystem::path& file) const {
  const SavedState state = saved_state();
  const StoredTensors stored(with_prefix(state));
  write_safetensors(file, stored.tensors(), texts_of(state));
}

void TrackingOptimizer::load(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  restore(state_in(SafeTensors(file.string(), mapped.bytes()), mapped.bytes()));
}

void TrackingOptimizer::save(::torch::serialize::OutputArchive& archive) const {
  const SavedState state = saved_state();
  const StoredTensors stored(with_prefix(state));
  const std::string bytes = safetensors_of(stored.tensors(), texts_of(state));
  Tensor inside = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::ranges::copy(bytes, static_cast<char*>(inside.data_ptr()));
  archive.write(kInArchive, inside, true);
}

void TrackingOptimizer::load(::torch::serialize::InputArchive& archive) {
  Tensor inside;
  if (!archive.try_read(kInArchive, inside, true)) {
    c10::IValue kind;
    if (archive.try_read("medgrad", kind))
      throw Error(
          "the optimiser was saved by an earlier version of medgrad, whose archives this version "
          "does not read.");
    throw Error("the archive has no saved optimiser of medgrad.");
  }
  inside = inside.contiguous();
  if (inside.scalar_type() != at::kByte) throw Error("the saved optimiser is damaged.");
  const std::string_view bytes(static_cast<const char*>(inside.data_ptr()),
                               static_cast<std::size_t>(inside.numel()));
  restore(state_in(SafeTensors("the archive", bytes), bytes));
}

}  // namespace medgrad::libtorch
