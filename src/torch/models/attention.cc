#include "torch/models/attention.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/dropout.h"
#include "kernels/softmax.h"
#include "torch/models/gemm.h"
#include "torch/models/real.h"

namespace medgrad::libtorch {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::variable_list;

struct Shape {
  std::int64_t batch, heads, queries, keys, width, head;  // width = heads * head
  bool causal;
  DropoutMask dropout;

  [[nodiscard]] std::int64_t row() const { return batch * 3 * width; }  // from time to time in qkv
  [[nodiscard]] std::int64_t out_row() const { return batch * width; }
  [[nodiscard]] std::int64_t visible(std::int64_t query) const {
    return causal ? keys - queries + query + 1 : keys;
  }
  // Even, so that the masks of two sequences or heads share no word of random bits.
  [[nodiscard]] std::int64_t mask_size() const { return (queries * keys + 1) / 2 * 2; }
};

// All of it for one sequence and one head at a time; a thread has one of these.
template <class T>
class Head {
 public:
  Head(const Shape& shape, const T* qkv, const T* key_bias, const T* r, const T* u, const T* v)
      : s_(shape),
        scale_(static_cast<T>(1 / std::sqrt(static_cast<double>(shape.head)))),
        qkv_(qkv),
        key_bias_(key_bias),
        r_(r),
        u_(u),
        v_(v),
        p_(room(shape.queries * shape.keys)) {
    if (relative()) {
      raw_ = room(s_.queries * s_.keys);
      qu_ = room(s_.queries * s_.head);
      qv_ = room(s_.queries * s_.head);
    }
    if (s_.dropout.active()) bits_.resize(static_cast<std::size_t>(s_.mask_size()));
  }

  void forward(std::int64_t b, std::int64_t h, T* out) {
    probabilities(b, h);
    if (s_.dropout.active()) {
      draw(b, h);
      drop(p_.data(), p_.data());
    }
    multiply<T>(s_.queries, s_.head, s_.keys, 1, probabilities_view(), value(b, h), 0,
                out + b * s_.width + h * s_.head, s_.out_row());
  }

  // Where the gradients go: dqkv is filled for this sequence and head, dr, du and dv are added to.
  struct Into {
    T *qkv, *r = nullptr, *u = nullptr, *v = nullptr;
  };

  void backward(std::int64_t b, std::int64_t h, const T* gradient, const Into& into) {
    probabilities(b, h);
    dp_.resize(p_.size());
    const MatrixView<T> g{gradient + b * s_.width + h * s_.head, s_.out_row()};
    const std::int64_t at = b * 3 * s_.width + h * s_.head;
    T *dq = into.qkv + at + (s_.keys - s_.queries) * s_.row(), *dk = into.qkv + at + s_.width,
      *dv = dk + s_.width;
    multiply<T>(s_.queries, s_.keys, s_.head, 1, g, transposed(value(b, h)), 0, dp_.data(),
                s_.keys);
    if (s_.dropout.active()) {
      draw(b, h);
      dropped_.resize(p_.size());
      drop(p_.data(), dropped_.data());
      drop(dp_.data(), dp_.data());
      multiply<T>(s_.keys, s_.head, s_.queries, 1, transposed(view(dropped_)), g, 0, dv, s_.row());
    } else {
      multiply<T>(s_.keys, s_.head, s_.queries, 1, transposed(view(p_)), g, 0, dv, s_.row());
    }
    score_gradients();
    multiply<T>(s_.queries, s_.head, s_.keys, 1, view(dp_), key(b, h), 0, dq, s_.row());
    multiply<T>(s_.keys, s_.head, s_.queries, 1, transposed(view(dp_)), query(b, h), 0, dk,
                s_.row());
    if (relative()) position_gradients(h, dq, into);
  }

 private:
  static std::vector<T> room(std::int64_t n) { return std::vector<T>(static_cast<std::size_t>(n)); }
  [[nodiscard]] bool relative() const { return r_ != nullptr; }
  [[nodiscard]] MatrixView<T> view(const std::vector<T>& scores) const {
    return {scores.data(), s_.keys};
  }
  [[nodiscard]] MatrixView<T> probabilities_view() const { return view(p_); }
  [[nodiscard]] const T* of(std::int64_t b, std::int64_t h, std::int64_t part) const {
    return qkv_ + b * 3 * s_.width + part * s_.width + h * s_.head;
  }
  [[nodiscard]] MatrixView<T> key(std::int64_t b, std::int64_t h) const {
    return {of(b, h, 1), s_.row()};
  }
  [[nodiscard]] MatrixView<T> value(std::int64_t b, std::int64_t h) const {
    return {of(b, h, 2), s_.row()};
  }
  // What meets the keys: Q, or Q + u once probabilities() has made it.
  [[nodiscard]] MatrixView<T> query(std::int64_t b, std::int64_t h) const {
    if (relative()) return {qu_.data(), s_.head};
    return {of(b, h, 0) + (s_.keys - s_.queries) * s_.row(), s_.row()};
  }

  void probabilities(std::int64_t b, std::int64_t h) {
    if (relative()) position_scores(b, h);
    multiply<T>(s_.queries, s_.keys, s_.head, scale_, query(b, h), transposed(key(b, h)), 0,
                p_.data(), s_.keys);
    const T* bias = key_bias_ == nullptr ? nullptr : key_bias_ + b * s_.keys;
    for (std::int64_t i = 0; i < s_.queries; ++i) {
      T* row = p_.data() + i * s_.keys;
      const std::int64_t n = s_.visible(i);
      if (relative()) {
        const T* shifted = raw_.data() + i * s_.keys + s_.queries - 1 - i;
        for (std::int64_t j = 0; j < n; ++j) row[j] += shifted[j];
      }
      kernels::softmax(row, bias, static_cast<std::size_t>(n));
      std::fill(row + n, row + s_.keys, T{0});
    }
  }

  // Q + u, Q + v, and (Q + v) R' for all rows of R, unshifted.
  void position_scores(std::int64_t b, std::int64_t h) {
    const T* q = of(b, h, 0) + (s_.keys - s_.queries) * s_.row();
    for (std::int64_t i = 0; i < s_.queries; ++i, q += s_.row()) {
      for (std::int64_t k = 0; k < s_.head; ++k) {
        qu_[static_cast<std::size_t>(i * s_.head + k)] = q[k] + u_[h * s_.head + k];
        qv_[static_cast<std::size_t>(i * s_.head + k)] = q[k] + v_[h * s_.head + k];
      }
    }
    multiply<T>(s_.queries, s_.keys, s_.head, scale_, {qv_.data(), s_.head},
                {r_ + h * s_.head, s_.width, true}, 0, raw_.data(), s_.keys);
  }

  void draw(std::int64_t b, std::int64_t h) {
    mask_bits(s_.dropout, (b * s_.heads + h) * s_.mask_size(), s_.queries * s_.keys, bits_.data());
  }
  void drop(const T* x, T* out) const {
    kernels::drop<T>(x, bits_.data(), p_.size(),
                     {s_.dropout.threshold, static_cast<T>(s_.dropout.scale())}, out);
  }

  // dp_ becomes the gradient at Q K' (and at the shifted position scores).
  void score_gradients() {
    for (std::int64_t i = 0; i < s_.queries; ++i) {
      const std::int64_t n = s_.visible(i);
      T* row = dp_.data() + i * s_.keys;
      kernels::softmax_gradient(p_.data() + i * s_.keys, row, static_cast<std::size_t>(n), scale_);
      std::fill(row + n, row + s_.keys, T{0});
    }
  }

  // On entry dq is the gradient at Q + u. That at Q + v comes from the scores shifted back.
  void position_gradients(std::int64_t h, T* dq, const Into& into) {
    std::fill(raw_.begin(), raw_.end(), T{0});
    for (std::int64_t i = 0; i < s_.queries; ++i) {
      std::copy_n(dp_.data() + i * s_.keys, s_.visible(i),
                  raw_.data() + i * s_.keys + s_.queries - 1 - i);
    }
    multiply<T>(s_.keys, s_.head, s_.queries, 1, transposed(view(raw_)), {qv_.data(), s_.head}, 1,
                into.r + h * s_.head, s_.width);
    multiply<T>(s_.queries, s_.head, s_.keys, 1, view(raw_), {r_ + h * s_.head, s_.width}, 0,
                qv_.data(), s_.head);
    for (std::int64_t i = 0; i < s_.queries; ++i, dq += s_.row()) {
      for (std::int64_t k = 0; k < s_.head; ++k) {
        const T from_position = qv_[static_cast<std::size_t>(i * s_.head + k)];
        into.u[h * s_.head + k] += dq[k];
        into.v[h * s_.head + k] += from_position;
        dq[k] += from_position;
      }
    }
  }

  const Shape& s_;
  T scale_;
  const T *qkv_, *key_bias_, *r_, *u_, *v_;
  std::vector<T> p_, dp_, dropped_, raw_, qu_, qv_;
  std::vector<std::uint16_t> bits_;
};

// Custom functions take no undefined tensors; what is absent is an empty one.
template <class T>
const T* data(const at::Tensor& x) {
  return x.numel() > 0 ? x.data_ptr<T>() : nullptr;
}

struct Arguments {
  Shape shape;
  at::Tensor qkv, key_bias, r, u, v;

  template <class T>
  [[nodiscard]] Head<T> head() const {
    return {shape, data<T>(qkv), data<T>(key_bias), data<T>(r), data<T>(u), data<T>(v)};
  }
};

at::Tensor forward_pass(const Arguments& a) {
  const Shape& s = a.shape;
  at::Tensor out = at::empty({s.queries * s.batch, s.width}, a.qkv.options());
  for_real(out, [&]<class T>(T) {
    T* to = out.data_ptr<T>();
    at::parallel_for(0, s.batch * s.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      Head<T> head = a.head<T>();
      for (std::int64_t i = begin; i < end; ++i) head.forward(i / s.heads, i % s.heads, to);
    });
  });
  return out;
}

// Gradients of R, u and v add up over sequences: a head belongs to one thread then, which takes the
// sequences in order.
variable_list backward_pass(const Arguments& a, const at::Tensor& gradient) {
  const Shape& s = a.shape;
  const bool relative = a.r.numel() > 0;
  at::Tensor dqkv = s.queries == s.keys ? at::empty_like(a.qkv) : at::zeros_like(a.qkv);
  at::Tensor dr, du, dv;
  if (relative) {
    dr = at::zeros_like(a.r);
    du = at::zeros_like(a.u);
    dv = at::zeros_like(a.v);
  }
  for_real(gradient, [&]<class T>(T) {
    const T* g = gradient.data_ptr<T>();
    typename Head<T>::Into into{dqkv.data_ptr<T>()};
    if (relative) into = {into.qkv, dr.data_ptr<T>(), du.data_ptr<T>(), dv.data_ptr<T>()};
    const std::int64_t pieces = relative ? s.heads : s.batch * s.heads;
    at::parallel_for(0, pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      Head<T> head = a.head<T>();
      for (std::int64_t i = begin; i < end; ++i) {
        if (!relative) {
          head.backward(i / s.heads, i % s.heads, g, into);
          continue;
        }
        for (std::int64_t b = 0; b < s.batch; ++b) head.backward(b, i, g, into);
      }
    });
  });
  return {dqkv, dr, du, dv};
}

class Attention : public ::torch::autograd::Function<Attention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv, const at::Tensor& r,
                            const at::Tensor& u, const at::Tensor& v, const at::Tensor& key_bias,
                            const Shape& s) {
    context->save_for_backward({qkv, r, u, v, key_bias});
    context->saved_data["shape"] =
        std::vector<std::int64_t>{s.batch,
                                  s.heads,
                                  s.queries,
                                  s.keys,
                                  s.width,
                                  s.head,
                                  s.causal ? 1 : 0,
                                  static_cast<std::int64_t>(s.dropout.seed),
                                  static_cast<std::int64_t>(s.dropout.stream),
                                  static_cast<std::int64_t>(s.dropout.threshold)};
    return forward_pass({s, qkv, key_bias, r, u, v});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto x = context->saved_data["shape"].toIntVector();
    const Shape s{x[0],
                  x[1],
                  x[2],
                  x[3],
                  x[4],
                  x[5],
                  x[6] != 0,
                  {static_cast<std::uint64_t>(x[7]), static_cast<std::uint64_t>(x[8]),
                   static_cast<std::uint16_t>(x[9])}};
    variable_list inner = backward_pass({s, saved[0], saved[4], saved[1], saved[2], saved[3]},
                                        gradients[0].contiguous());
    inner.resize(6);
    return inner;
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& qkv, std::int64_t batch, const AttentionOptions& options,
                     const RelativePositions& relative) {
  const std::int64_t keys = qkv.size(0) / batch, width = qkv.size(1) / 3;
  const std::int64_t queries = options.queries > 0 ? options.queries : keys;
  TORCH_CHECK(qkv.dim() == 2 && qkv.size(0) == keys * batch && qkv.size(1) == 3 * width &&
                  width % options.heads == 0 && queries <= keys,
              "attention: shapes do not fit");
  const Shape shape{batch, options.heads,         queries,        keys,
                    width, width / options.heads, options.causal, options.dropout};
  const auto given = [&](const at::Tensor& x) {
    return x.defined() ? x.contiguous() : at::empty({0}, qkv.options());
  };
  return Attention::apply(qkv.contiguous(), given(relative.r), given(relative.u), given(relative.v),
                          given(options.key_bias), shape);
}

}  // namespace medgrad::libtorch
