// Dropout whose masks are functions of (seed, step, site, element) and of nothing else.
//
// A model has one DropoutStream, and each place where it drops a number of its own, its site. The
// random bits of element i are those of medgrad's counter-based generator (rng.h) with key = seed
// and stream = (step, site). So a run that is resumed at some step draws what it would have drawn,
// the number of threads changes nothing, and no mask is stored: backward makes it again, which
// takes less time than reading a mask of bytes.
//
// Elements are kept with probability 1 - k / 65536, k = p 65536 rounded, and scaled by the inverse
// of exactly that, so that the mean is right for any p.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

namespace medgrad::libtorch {

// Shared by all sites of a model.
struct DropoutStream {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;   // below 2^48
  std::uint64_t sites = 0;  // handed out so far
};

// One mask: a plain value that autograd functions carry along.
struct DropoutMask {
  std::uint64_t seed = 0, stream = 0;
  std::uint16_t threshold = 0;  // k of 65536 are dropped; 0 is no dropout
  [[nodiscard]] bool active() const { return threshold > 0; }
  [[nodiscard]] double scale() const { return 65536.0 / (65536.0 - threshold); }
};

// 16 random bits each for elements [first, first + n) of a mask; first is even.
void mask_bits(const DropoutMask& mask, std::int64_t first, std::int64_t n, std::uint16_t* bits);

// x where kept, scaled, and zero elsewhere.
[[nodiscard]] at::Tensor dropped(const at::Tensor& x, const DropoutMask& mask);
// base + dropped(x), in one pass.
[[nodiscard]] at::Tensor add_dropped(const at::Tensor& base, const at::Tensor& x,
                                     const DropoutMask& mask);
// dropped(max(x, 0)), in one pass; overwrites x, which must not be needed by anything else.
[[nodiscard]] at::Tensor rectify_dropped(const at::Tensor& x, const DropoutMask& mask);

// A site of a model. In evaluation mode, and for p = 0, it drops nothing.
class Dropout : public ::torch::nn::Module {
 public:
  Dropout(std::shared_ptr<DropoutStream> stream, double p);  // throws Error unless 0 <= p < 1
  [[nodiscard]] DropoutMask mask() const;
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const { return dropped(x, mask()); }
  [[nodiscard]] at::Tensor add(const at::Tensor& base, const at::Tensor& x) const {
    return add_dropped(base, x, mask());
  }
  [[nodiscard]] at::Tensor rectify(const at::Tensor& x) const { return rectify_dropped(x, mask()); }

 private:
  std::shared_ptr<DropoutStream> stream_;
  std::uint64_t site_;
  std::uint16_t threshold_;
};

}  // namespace medgrad::libtorch
