// What libtorch 1.13 and 2.x say in different ways, in one place; all the rest is the same.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/optim/optimizer.h>
#include <torch/version.h>

#include <type_traits>
#if TORCH_VERSION_MAJOR < 2
#include <c10/util/Optional.h>
#else
#include <optional>
#endif

namespace medgrad::libtorch {

// 1.13 has a class of its own, which its custom functions know.
#if TORCH_VERSION_MAJOR < 2
template <class T>
using Optional = c10::optional<T>;
#else
template <class T>
using Optional = std::optional<T>;
#endif

// Later versions give a new group the defaults of its optimiser in place of options whose type they
// do not know: the group gets its own back.
inline void keep_options(::torch::optim::OptimizerParamGroup& added,
                         const ::torch::optim::OptimizerParamGroup& given) {
  if (given.has_options()) added.set_options(given.options().clone());
}

// Starts an all-to-all of c10d's, whose sizes are by rank. It has another name in later versions.
template <class Group, class Tensor, class Sizes>
[[nodiscard]] auto all_to_all(Group& group, Tensor& to, Tensor& from, Sizes& to_sizes,
                              Sizes& from_sizes) {
  if constexpr (requires { group.all_to_all_single(to, from, to_sizes, from_sizes); }) {
    return group.all_to_all_single(to, from, to_sizes, from_sizes);
  } else {
    return group.alltoall_base(to, from, to_sizes, from_sizes);
  }
}

// What a process group has for tensors on the CPU, if it is a Gloo.
template <class Gloo, class Group>
[[nodiscard]] Gloo* gloo_of(Group& group) {
  if constexpr (std::is_base_of_v<Group, Gloo>) {
    return dynamic_cast<Gloo*>(&group);
  } else {
    return dynamic_cast<Gloo*>(group.getBackend(c10::DeviceType::CPU).get());
  }
}

// ProcessGroupGloo is a process group in 1.13. In 2.x it is what a process group calls for tensors
// on the CPU.
template <class Group, class Gloo, class Store>
[[nodiscard]] c10::intrusive_ptr<Group> group_of(const c10::intrusive_ptr<Gloo>& gloo,
                                                 const Store& store) {
  if constexpr (std::is_base_of_v<Group, Gloo>) {
    return gloo;
  } else {
    auto group = c10::make_intrusive<Group>(store, gloo->getRank(), gloo->getSize());
    group->setBackend(c10::DeviceType::CPU, Group::BackendType::GLOO, gloo);
    group->setDefaultBackend(Group::BackendType::GLOO);
    return group;
  }
}

}  // namespace medgrad::libtorch
