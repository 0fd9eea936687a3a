// Affine maps, norms and the sums behind them: against libtorch's, and the same for any number of
// threads.
#include "torch/models/affine.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "medgrad/torch/runtime.h"
#include "torch/models/products.h"

namespace medgrad::libtorch {
namespace {

using at::Tensor;

Tensor random(at::IntArrayRef sizes, at::ScalarType type = at::kDouble) {
  return at::randn(sizes, at::kDouble).to(type);
}

double largest(const Tensor& x, const Tensor& y) {
  return x.numel() == 0 ? 0 : (x - y).abs().max().item<double>();
}

struct Shape {
  std::int64_t m, n, k;
};
// Tiny ones, those that are cut along m, along n and along k, and odd remainders of each.
constexpr Shape kShapes[] = {{1, 1, 1},      {3, 2, 5},       {1, 700, 900}, {700, 1, 900},
                             {1500, 70, 9},  {1037, 33, 20},  {40, 3001, 7}, {2, 3, 200000},
                             {60, 50, 9001}, {300, 300, 2049}};

TEST(MultiplyShared, IsTheProduct) {
  ::torch::manual_seed(1);
  for (const Shape& s : kShapes) {
    for (const double beta : {0.0, 1.0, 0.5}) {
      for (const bool flipped : {false, true}) {
        const Tensor a = random({s.m, s.k}), b = random({s.k, s.n}), before = random({s.m, s.n});
        Tensor c = beta == 0 ? at::full({s.m, s.n}, NAN, at::kDouble) : before.clone();
        const Tensor at_ = flipped ? a.t().contiguous() : a, bt = flipped ? b.t().contiguous() : b;
        multiply_shared<double>(s.m, s.n, s.k, {at_.data_ptr<double>(), at_.size(1), flipped},
                                {bt.data_ptr<double>(), bt.size(1), flipped}, beta,
                                c.data_ptr<double>(), s.n);
        const Tensor expected = a.mm(b) + (beta == 0 ? at::zeros_like(before) : beta * before);
        EXPECT_LT(largest(c, expected), 1e-10 * std::sqrt(static_cast<double>(s.k)))
            << s.m << " x " << s.n << " x " << s.k << " " << flipped;
      }
    }
  }
}

TEST(ColumnSums, AreSumsOfColumns) {
  ::torch::manual_seed(2);
  for (const std::int64_t rows : {0, 1, 31, 32, 33, 1000}) {
    for (const std::int64_t columns : {1, 63, 64, 65, 200}) {
      const Tensor x = random({rows, columns});
      Tensor sums = at::ones({columns}, at::kDouble);
      const double* const from = x.data_ptr<double>();
      column_sums<double>(
          rows, columns, [=](auto i, auto j) { return from[i * columns + j]; }, 2.0,
          sums.data_ptr<double>());
      EXPECT_LT(largest(sums, x.sum(0) + 2), 1e-11);
    }
  }
}

// Values and gradients of a layer at these sizes.
std::vector<Tensor> run(bool norm, bool ours, std::int64_t rows, std::int64_t in, std::int64_t out,
                        bool with_bias, at::ScalarType type) {
  ::torch::manual_seed(3);
  const Tensor x = random({rows, in}, type).requires_grad_();
  const Tensor weight =
      norm ? random({in}, type).requires_grad_() : random({out, in}, type).requires_grad_();
  const Tensor bias = with_bias ? random({norm ? in : out}, type).requires_grad_() : Tensor();
  const Tensor factor = random({rows, norm ? in : out}, type);
  Tensor y;
  if (norm) {
    y = ours ? normalise(x, weight, bias, 1e-5) : at::layer_norm(x, {in}, weight, bias, 1e-5);
  } else {
    y = ours ? affine(x, weight, bias) : at::linear(x, weight, bias);
  }
  (y * factor).sum().backward();
  std::vector<Tensor> all = {y.detach(), x.grad(), weight.grad()};
  if (with_bias) all.push_back(bias.grad());
  return all;
}

struct AffineCase {
  bool norm;
  std::int64_t rows, in, out;
  bool with_bias;
};
constexpr AffineCase kCases[] = {{false, 1, 1, 1, true},       {false, 7, 5, 3, false},
                                 {false, 3000, 48, 144, true}, {false, 1030, 130, 600, false},
                                 {true, 1, 4, 0, true},        {true, 2500, 130, 0, true}};

TEST(Affine, AndNormsAreLibtorchs) {
  for (const AffineCase& c : kCases) {
    const auto mine = run(c.norm, true, c.rows, c.in, c.out, c.with_bias, at::kDouble),
               theirs = run(c.norm, false, c.rows, c.in, c.out, c.with_bias, at::kDouble);
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t i = 0; i < mine.size(); ++i)
      EXPECT_LT(largest(mine[i], theirs[i]), 1e-10) << i << " of " << c.rows << " x " << c.in;
  }
}

TEST(Affine, AndNormsDoNotDependOnThreads) {
  for (const AffineCase& c : kCases) {
    const auto with = [&](int threads) {
      use_threads(threads);
      const auto all = run(c.norm, true, c.rows, c.in, c.out, c.with_bias, at::kFloat);
      use_threads(1);
      return all;
    };
    const auto one = with(1);
    for (const int threads : {2, 3, 7}) {
      const auto several = with(threads);
      for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_TRUE(one[i].equal(several[i])) << threads << " threads, " << i;
    }
  }
}

TEST(Affine, WithoutGradientsTheSameValue) {
  const Tensor x = random({40, 8}), w = random({5, 8}).requires_grad_(), b = random({5});
  const Tensor with = affine(x, w, b);
  const at::NoGradGuard no_gradients;
  EXPECT_TRUE(affine(x, w, b).equal(with.detach()));
  EXPECT_FALSE(affine(x, w, b).requires_grad());
}

}  // namespace
}  // namespace medgrad::libtorch
