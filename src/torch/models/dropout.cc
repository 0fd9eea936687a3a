#include "torch/models/dropout.h"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "kernels/dropout.h"
#include "medgrad/description.h"
#include "medgrad/rng.h"
#include "torch/models/real.h"

namespace medgrad::libtorch {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::variable_list;

constexpr std::int64_t kPiece = 4096;  // elements whose bits are made at a time: 8 KiB

// f(first, count, bits) for all elements, piece by piece.
template <class F>
void by_pieces(const DropoutMask& mask, std::int64_t n, const F& f) {
  at::parallel_for(0, (n + kPiece - 1) / kPiece, 4, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::array<std::uint16_t, kPiece> bits;
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t first = piece * kPiece, count = std::min(kPiece, n - first);
      mask_bits(mask, first, count, bits.data());
      f(first, static_cast<std::size_t>(count), bits.data());
    }
  });
}

template <class T>
kernels::DropRule<T> rule(const DropoutMask& mask) {
  return {mask.threshold, static_cast<T>(mask.scale())};
}

at::Tensor drop(const at::Tensor& given, const DropoutMask& mask) {
  const at::Tensor x = given.contiguous();
  at::Tensor out = at::empty_like(x);
  for_real(x, [&]<class T>(T) {
    const T* from = x.data_ptr<T>();
    T* to = out.data_ptr<T>();
    by_pieces(mask, x.numel(), [&](std::int64_t i, std::size_t n, const std::uint16_t* bits) {
      kernels::drop(from + i, bits, n, rule<T>(mask), to + i);
    });
  });
  return out;
}

// Values that a custom function keeps are IValues: signed integers.
void keep(AutogradContext* context, const DropoutMask& mask) {
  context->saved_data["seed"] = static_cast<std::int64_t>(mask.seed);
  context->saved_data["stream"] = static_cast<std::int64_t>(mask.stream);
  context->saved_data["threshold"] = static_cast<std::int64_t>(mask.threshold);
}
DropoutMask kept(AutogradContext* context) {
  return {static_cast<std::uint64_t>(context->saved_data["seed"].toInt()),
          static_cast<std::uint64_t>(context->saved_data["stream"].toInt()),
          static_cast<std::uint16_t>(context->saved_data["threshold"].toInt())};
}

class Drop : public ::torch::autograd::Function<Drop> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const DropoutMask& mask) {
    keep(context, mask);
    return drop(x, mask);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {drop(gradients[0], kept(context)), {}};
  }
};

class AddDropped : public ::torch::autograd::Function<AddDropped> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_base,
                            const at::Tensor& given, const DropoutMask& mask) {
    keep(context, mask);
    const at::Tensor x = given.contiguous(), base = given_base.contiguous();
    at::Tensor out = at::empty_like(x);
    for_real(x, [&]<class T>(T) {
      const T *from = x.data_ptr<T>(), *to_it = base.data_ptr<T>();
      T* to = out.data_ptr<T>();
      by_pieces(mask, x.numel(), [&](std::int64_t i, std::size_t n, const std::uint16_t* bits) {
        kernels::drop_and_add(from + i, to_it + i, bits, n, rule<T>(mask), to + i);
      });
    });
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gradients[0], drop(gradients[0], kept(context)), {}};
  }
};

class RectifyDropped : public ::torch::autograd::Function<RectifyDropped> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const DropoutMask& mask) {
    at::Tensor x = given;
    for_real(x, [&]<class T>(T) {
      T* at = x.data_ptr<T>();
      by_pieces(mask, x.numel(), [&](std::int64_t i, std::size_t n, const std::uint16_t* bits) {
        kernels::drop_and_rectify(at + i, bits, n, rule<T>(mask), at + i);
      });
    });
    context->mark_dirty({x});
    context->save_for_backward({x});
    context->saved_data["scale"] = mask.scale();
    return x;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor y = context->get_saved_variables()[0], g = gradients[0].contiguous();
    const double scale = context->saved_data["scale"].toDouble();
    at::Tensor out = at::empty_like(g);
    for_real(g, [&]<class T>(T) {
      at::parallel_for(0, g.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        kernels::pass_positive(y.data_ptr<T>() + begin, g.data_ptr<T>() + begin,
                               static_cast<std::size_t>(end - begin), static_cast<T>(scale),
                               out.data_ptr<T>() + begin);
      });
    });
    return {out, {}};
  }
};

}  // namespace

void mask_bits(const DropoutMask& mask, std::int64_t first, std::int64_t n, std::uint16_t* bits) {
  const auto word = static_cast<std::uint64_t>(first) / 2;
  const auto whole = static_cast<std::size_t>(n) / 2;
  const Philox philox(mask.seed, mask.stream);
  philox.fill_bits({reinterpret_cast<std::uint32_t*>(bits), whole}, word);
  if (n % 2 == 0) return;
  std::uint32_t last = 0;
  philox.fill_bits({&last, 1}, word + whole);
  bits[n - 1] = static_cast<std::uint16_t>(last);
}

at::Tensor dropped(const at::Tensor& x, const DropoutMask& mask) {
  return mask.active() ? Drop::apply(x, mask) : x;
}
at::Tensor add_dropped(const at::Tensor& base, const at::Tensor& x, const DropoutMask& mask) {
  return mask.active() ? AddDropped::apply(base, x, mask) : base + x;
}
at::Tensor rectify_dropped(const at::Tensor& x, const DropoutMask& mask) {
  if (!mask.active()) {
    at::Tensor y = x;
    return y.relu_();
  }
  return RectifyDropped::apply(x, mask);
}

Dropout::Dropout(std::shared_ptr<DropoutStream> stream, double p)
    : stream_(std::move(stream)), site_(stream_->sites++), threshold_(0) {
  check("dropout", p, range::decay);
  threshold_ = static_cast<std::uint16_t>(std::min(std::round(p * 65536), 65535.0));
}

DropoutMask Dropout::mask() const {
  if (!is_training()) return {};
  return {stream_->seed, stream_->step << 16 | site_, threshold_};
}

}  // namespace medgrad::libtorch
