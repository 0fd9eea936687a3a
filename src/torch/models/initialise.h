// The weights of a model that has not been trained.
//
// They are made by medgrad's counter-based generator (rng.h), float by float, each tensor from a
// stream of its own: one seed is one model, whatever the number of threads, the SIMD instruction
// set or the version of libtorch, and a model of doubles starts where that of floats does.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>

namespace medgrad::libtorch {

// Draws tensors one after the other.
class Initialiser {
 public:
  explicit Initialiser(std::uint64_t seed) : seed_(seed) {}

  void normal(const at::Tensor& x, double mean, double deviation);
  // Uniform on (-bound, bound) with bound = sqrt(6 / (rows + columns)); the same numbers for all
  // tensors that share a stream.
  void xavier(const at::Tensor& x, std::uint64_t stream) const;
  // A stream that nothing else draws from.
  [[nodiscard]] std::uint64_t new_stream() { return next_++; }

  // By kind of module, and in order: weights of Affine and Table N(0, 0.02^2), of Norm N(1,
  // 0.02^2); biases 0. Parameters of other kinds are left alone.
  void modules(const ::torch::nn::Module& root);

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = std::uint64_t{1} << 63;  // far from the streams of dropout
};

}  // namespace medgrad::libtorch
