// Saving and loading: parameters by their place, options included.
//
// torch::optim's own archives name parameters by their address and forget options on loading.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "medgrad/error.h"
#include "torch/optim/engine.h"

namespace medgrad::libtorch {
namespace {

using ::torch::serialize::InputArchive;
using ::torch::serialize::OutputArchive;

constexpr std::int64_t kFormat = 1;

std::string numbered(const char* what, std::size_t i) { return fmt::format("{}{}", what, i); }

template <class V>
void put(OutputArchive& archive, const char* key, const V& value) {
  archive.write(key, c10::IValue(value));
}

c10::IValue get(InputArchive& archive, const char* key) {
  c10::IValue value;
  if (!archive.try_read(key, value))
    throw Error(fmt::format(
        "the file is not a saved optimiser of medgrad, or is damaged: '{}' is missing.", key));
  return value;
}

InputArchive nested(InputArchive& archive, const std::string& key) {
  InputArchive inner;
  if (!archive.try_read(key, inner))
    throw Error(fmt::format("the saved optimiser is incomplete: '{}' is missing.", key));
  return inner;
}

// The sizes of tau = auto: a file has them where there is one.
void put_sizes(OutputArchive& archive, const std::vector<double>& sizes) {
  if (std::ranges::any_of(sizes, [](double size) { return size > 0; }))
    archive.write("sizes", at::tensor(sizes, at::kDouble), true);
}

std::vector<double> get_sizes(InputArchive& archive) {
  Tensor saved;
  if (!archive.try_read("sizes", saved)) return {};
  if (saved.scalar_type() != at::kDouble || saved.dim() != 1)
    throw Error("the saved sizes of tau = auto are damaged.");
  const Tensor plain = saved.contiguous();
  std::vector<double> sizes(plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel());
  for (const double size : sizes) check("a saved size", size, range::non_negative);
  return sizes;
}

// A group as it was saved.
struct SavedGroup {
  GroupSettings settings;
  double tau = 0;
  std::vector<double> sizes;
  std::vector<ParameterState> states;  // m undefined where a parameter had none
};

void put_group(OutputArchive& archive, const GroupOptions& options) {
  put(archive, "method", options.method_line());
  put(archive, "tau", options.tau());
  for_each_field<GroupSettings>([&]<class V>(const Field<GroupSettings, V>& field) {
    const V value = options.settings().*field.member;
    const std::string key(field.name);
    if constexpr (std::is_enum_v<V>) {
      put(archive, key.c_str(), static_cast<std::int64_t>(value));
    } else {
      put(archive, key.c_str(), value);
    }
  });
}

SavedGroup get_group(InputArchive& archive, const GroupOptions& options) {
  const std::string method = get(archive, "method").toStringRef();
  if (method != options.method_line())
    throw Error(fmt::format("the saved optimiser has the method '{}' where this one has '{}'.",
                            method, options.method_line()));
  SavedGroup saved;
  saved.tau = get(archive, "tau").toDouble();
  saved.sizes = get_sizes(archive);
  for_each_field<GroupSettings>([&]<class V>(const Field<GroupSettings, V>& field) {
    const c10::IValue value = get(archive, std::string(field.name).c_str());
    V& to = saved.settings.*field.member;
    if constexpr (std::is_enum_v<V>) {
      // A number that is none of its values must not become one.
      check(field.name, static_cast<double>(value.toInt()), field.range);
      to = static_cast<V>(value.toInt());
    } else {
      to = value.to<V>();
    }
  });
  check_fields(saved.settings);
  return saved;
}

ParameterState get_state(InputArchive& archive, const Tensor& w) {
  ParameterState state;
  state.steps = get(archive, "steps").toInt();
  state.sizes = get_sizes(archive);
  const auto read = [&](const char* key, Tensor& to) {
    Tensor saved;
    if (!archive.try_read(key, saved)) return;
    if (saved.sizes() != w.sizes())
      throw Error("a saved parameter has a different shape from the parameter here.");
    to = zeros_for(w);
    if (saved.scalar_type() != to.scalar_type())
      throw Error("a saved parameter has a different type from the parameter here.");
    to.copy_(saved);
  };
  read("m", state.m);
  read("v", state.v);
  // Of n workers; the method's line says how many.
  if (Tensor saved; archive.try_read("workers", saved)) {
    if (saved.dim() != 2 || saved.size(1) != w.numel() || !saved.is_floating_point())
      throw Error("the saved vectors of workers do not fit the parameter here.");
    state.workers = saved;
  }
  return state;
}

}  // namespace

void Engine::save(OutputArchive& archive, const ParamGroups& groups) const {
  put(archive, "medgrad", kind_);
  put(archive, "format", kFormat);
  put(archive, "steps", static_cast<std::int64_t>(steps));
  put(archive, "skipped", static_cast<std::int64_t>(skipped));
  put(archive, "groups", static_cast<std::int64_t>(groups.size()));
  put_sizes(archive, global_sizes_);
  for (std::size_t k = 0; k < groups.size(); ++k) {
    OutputArchive group(archive.compilation_unit());
    put_group(group, options_of(groups[k]));
    if (k < group_sizes_.size()) put_sizes(group, group_sizes_[k]);
    const std::vector<Tensor>& params = groups[k].params();
    put(group, "parameters", static_cast<std::int64_t>(params.size()));
    for (std::size_t i = 0; i < params.size(); ++i) {
      const ParameterState* const state = find(params[i]);
      if (state == nullptr) continue;
      OutputArchive entry(archive.compilation_unit());
      put(entry, "steps", state->steps);
      put_sizes(entry, state->sizes);
      // A view would take all of the memory it looks at into the file.
      if (state->m.defined()) entry.write("m", state->m.clone(), true);
      if (state->v.defined()) entry.write("v", state->v.clone(), true);
      if (state->workers.defined())
        entry.write("workers", state->workers.contiguous().clone(), true);
      group.write(numbered("parameter", i), entry);
    }
    archive.write(numbered("group", k), group);
  }
}

void Engine::load(InputArchive& archive, ParamGroups& groups) {
  const std::string kind = get(archive, "medgrad").toStringRef();
  if (kind != kind_) throw Error(fmt::format("the file has a {}, not a {}.", kind, kind_));
  if (const auto format = get(archive, "format").toInt(); format != kFormat)
    throw Error(fmt::format("the saved optimiser has format {}; this version reads only format 1.",
                            format));
  if (get(archive, "groups").toInt() != static_cast<std::int64_t>(groups.size()))
    throw Error("the saved optimiser has a different number of parameter groups.");
  std::vector<double> saved_sizes = get_sizes(archive);
  std::vector<SavedGroup> saved;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    InputArchive group = nested(archive, numbered("group", k));
    saved.push_back(get_group(group, options_of(groups[k])));
    const std::vector<Tensor>& params = groups[k].params();
    if (get(group, "parameters").toInt() != static_cast<std::int64_t>(params.size()))
      throw Error("the saved optimiser has a different number of parameters.");
    for (std::size_t i = 0; i < params.size(); ++i) {
      InputArchive entry;
      const bool there = group.try_read(numbered("parameter", i), entry);
      saved.back().states.push_back(there ? get_state(entry, params[i]) : ParameterState{});
    }
  }
  const auto count = [&](const char* key) {
    return static_cast<std::uint64_t>(get(archive, key).toInt());
  };
  const std::uint64_t saved_steps = count("steps"), saved_skipped = count("skipped");

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

}  // namespace medgrad::libtorch
