#include "torch/models/linear_cross_entropy.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/softmax.h"
#include "medgrad/error.h"
#include "torch/models/products.h"
#include "torch/models/real.h"

namespace medgrad::libtorch {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::variable_list;

// Rows at a time: 512, fewer for vocabularies beyond 2^15. Products of fewer rows reread W too
// often (5 % slower at 128 of 10,000 words), more rows leave the cache (4 % at 2048) and take
// memory.
std::int64_t rows_at_a_time(std::int64_t vocabulary) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 24) / vocabulary, 128, 512);
}

void check(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
           const at::Tensor& targets) {
  const std::int64_t n = hidden.size(0), vocabulary = weight.size(0);
  TORCH_CHECK(hidden.dim() == 2 && weight.dim() == 2 && hidden.size(1) == weight.size(1) &&
                  bias.numel() == vocabulary && targets.numel() == n && n > 0,
              "linear_cross_entropy: shapes do not fit");
  const std::int64_t* t = targets.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    if (t[i] >= 0 && t[i] < vocabulary) continue;
    throw Error(fmt::format("Target {} is token {}, but the vocabulary has tokens 0 to {}.", i,
                            t[i], vocabulary - 1));
  }
}

struct Gradients {
  at::Tensor hidden, weight, bias;
};

template <class T>
class Chunks {
 public:
  Chunks(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
         const at::Tensor& targets, std::int64_t rows, Gradients* gradients)
      : hidden_(hidden),
        weight_(weight),
        bias_(bias),
        targets_(targets.data_ptr<std::int64_t>()),
        n_(hidden.size(0)),
        width_(hidden.size(1)),
        vocabulary_(weight.size(0)),
        rows_(std::min(rows, n_)),
        gradients_(gradients),
        logits_(at::empty({rows_, vocabulary_}, hidden.options())),
        losses_(static_cast<std::size_t>(n_)) {
    if (gradients_ == nullptr) return;
    scaled_ = at::empty({rows_, width_}, hidden.options());
    share_ = at::empty({rows_}, hidden.options());
    gradients_->hidden = at::empty_like(hidden);
    gradients_->weight = at::empty_like(weight);
    gradients_->bias = at::empty_like(bias);
    bias_sums_.resize(static_cast<std::size_t>(vocabulary_));
  }

  // The mean loss; the sum is taken in double and in the order of the tokens.
  double run() {
    for (std::int64_t first = 0; first < n_; first += rows_)
      chunk(first, std::min(rows_, n_ - first));
    if (gradients_ != nullptr) subtract_targets();
    double sum = 0;
    for (const double loss : losses_) sum += loss;
    return sum / static_cast<double>(n_);
  }

 private:
  void chunk(std::int64_t first, std::int64_t count) {
    const MatrixView<T> h{hidden_.template data_ptr<T>() + first * width_, width_},
        w{weight_.template data_ptr<T>(), width_};
    T* const logits = logits_.template data_ptr<T>();
    const MatrixView<T> z{logits, vocabulary_};
    multiply_shared<T>(count, vocabulary_, width_, h, transposed(w), 0, logits, vocabulary_);
    exponentiate(first, count);
    if (gradients_ == nullptr) return;
    multiply_shared<T>(count, width_, vocabulary_, z, w, 0,
                       gradients_->hidden.template data_ptr<T>() + first * width_, width_);
    scale_rows(first, count);
    const T beta = first == 0 ? 0 : 1;
    multiply_shared<T>(vocabulary_, width_, count, transposed(z),
                       {scaled_.template data_ptr<T>(), width_}, beta,
                       gradients_->weight.template data_ptr<T>(), width_);
    const T* const share = share_.template data_ptr<T>();
    column_sums<T>(
        count, vocabulary_,
        [&](std::int64_t i, std::int64_t j) { return share[i] * logits[i * vocabulary_ + j]; }, 1.0,
        bias_sums_.data());
  }

  // Rows of logits become losses and, where gradients are wanted, exponentials and 1 / (n s).
  void exponentiate(std::int64_t first, std::int64_t count) {
    T* z = logits_.template data_ptr<T>();
    const T* b = bias_.template data_ptr<T>();
    T* share = gradients_ == nullptr ? nullptr : share_.template data_ptr<T>();
    const auto n = static_cast<std::size_t>(vocabulary_);
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* row = z + i * vocabulary_;
        const std::int64_t t = targets_[first + i];
        const double of_target = static_cast<double>(row[t]) + static_cast<double>(b[t]);
        const kernels::RowSum<T> sum = share == nullptr ? kernels::sum_exponentials(row, b, n)
                                                        : kernels::exponentials(row, b, n);
        losses_[static_cast<std::size_t>(first + i)] =
            static_cast<double>(sum.peak) + std::log(static_cast<double>(sum.sum)) - of_target;
        if (share != nullptr) share[i] = T{1} / (sum.sum * static_cast<T>(n_));
      }
    });
  }

  // dH_i <- dH_i / (n s_i) - W_t / n, and the rows of H that the weights' gradient is made of.
  void scale_rows(std::int64_t first, std::int64_t count) {
    const T* h = hidden_.template data_ptr<T>() + first * width_;
    const T* w = weight_.template data_ptr<T>();
    const T* share = share_.template data_ptr<T>();
    T* out = gradients_->hidden.template data_ptr<T>() + first * width_;
    T* scaled = scaled_.template data_ptr<T>();
    const T each = T{1} / static_cast<T>(n_);
    at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* of_target = w + targets_[first + i] * width_;
        for (std::int64_t k = i * width_, j = 0; j < width_; ++j, ++k) {
          out[k] = out[k] * share[i] - of_target[j] * each;
          scaled[k] = h[k] * share[i];
        }
      }
    });
  }

  // Y' H / n and Y' 1 / n: the sums of each word are taken in double, in the order of its tokens. A
  // frequent word has thousands of them, and 1 / n taken off a float so often is wrong in the fifth
  // digit.
  void subtract_targets() {
    const auto vocabulary = static_cast<std::size_t>(vocabulary_);
    std::vector<std::int64_t> begin(vocabulary + 1), tokens(losses_.size());
    for (std::int64_t i = 0; i < n_; ++i) ++begin[static_cast<std::size_t>(targets_[i]) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
    for (std::int64_t i = 0; i < n_; ++i)
      tokens[static_cast<std::size_t>(next[static_cast<std::size_t>(targets_[i])]++)] = i;
    const T* const h = hidden_.template data_ptr<T>();
    T* const weight = gradients_->weight.template data_ptr<T>();
    T* const bias = gradients_->bias.template data_ptr<T>();
    const auto n = static_cast<double>(n_);
    at::parallel_for(0, vocabulary_, 64, [&](std::int64_t word, std::int64_t end) {
      std::vector<double> sum(static_cast<std::size_t>(width_));
      for (; word < end; ++word) {
        const auto at = static_cast<std::size_t>(word);
        bias[word] =
            static_cast<T>(bias_sums_[at] - static_cast<double>(begin[at + 1] - begin[at]) / n);
        if (begin[at] == begin[at + 1]) continue;
        std::fill(sum.begin(), sum.end(), 0.0);
        for (auto k = static_cast<std::size_t>(begin[at]);
             k < static_cast<std::size_t>(begin[at + 1]); ++k) {
          const T* const row = h + tokens[k] * width_;
          for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += static_cast<double>(row[j]);
        }
        T* const row = weight + word * width_;
        for (std::size_t j = 0; j < sum.size(); ++j)
          row[j] = static_cast<T>(static_cast<double>(row[j]) - sum[j] / n);
      }
    });
  }

  const at::Tensor &hidden_, &weight_, &bias_;
  const std::int64_t* targets_;
  std::int64_t n_, width_, vocabulary_, rows_;
  Gradients* gradients_;
  at::Tensor logits_, scaled_, share_;
  std::vector<double> losses_, bias_sums_;
};

at::Tensor compute(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                   const at::Tensor& targets, std::int64_t rows, Gradients* gradients) {
  if (rows == 0) rows = rows_at_a_time(weight.size(0));
  double loss = 0;
  for_real(hidden, [&]<class T>(T) {
    loss = Chunks<T>(hidden, weight, bias, targets, rows, gradients).run();
  });
  return at::scalar_tensor(loss, hidden.options());
}

class LinearCrossEntropy : public ::torch::autograd::Function<LinearCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& targets, std::int64_t rows) {
    Gradients gradients;
    at::Tensor loss = compute(hidden.contiguous(), weight.contiguous(), bias.contiguous(), targets,
                              rows, &gradients);
    context->saved_data["hidden"] = gradients.hidden;
    context->saved_data["weight"] = gradients.weight;
    context->saved_data["bias"] = gradients.bias;
    return loss;
  }

  // Gradients are handed out, not copied: nothing else refers to them afterwards, so that a
  // parameter's grad can be this very memory.
  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const double factor = outer[0].item<double>();
    const auto take = [&](const char* name) {
      const auto found = context->saved_data.find(name);
      if (found == context->saved_data.end()) {
        throw Error("backward() was called twice on one loss; its gradients are gone.");
      }
      at::Tensor gradient = found->second.toTensor();
      context->saved_data.erase(found);
      if (factor != 1) gradient.mul_(factor);
      return gradient;
    };
    variable_list inner(5);
    inner[0] = take("hidden");
    inner[1] = take("weight");
    inner[2] = take("bias");
    return inner;
  }
};

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight,
                                const at::Tensor& bias, const at::Tensor& targets,
                                std::int64_t rows) {
  const at::Tensor t = targets.reshape({-1}).contiguous();
  check(hidden, weight, bias, t);
  if (at::GradMode::is_enabled() &&
      (hidden.requires_grad() || weight.requires_grad() || bias.requires_grad())) {
    return LinearCrossEntropy::apply(hidden, weight, bias, t, rows);
  }
  return compute(hidden.contiguous(), weight.contiguous(), bias.contiguous(), t, rows, nullptr);
}

at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight,
                                const at::Tensor& bias, const at::Tensor& targets) {
  return linear_cross_entropy(hidden, weight, bias, targets, 0);
}

}  // namespace medgrad::libtorch
