// Attention against what its formula says, score by score.
#include "torch/models/attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <vector>

#include "medgrad/torch/runtime.h"
#include "model_checks.h"

namespace medgrad::libtorch {
namespace {

struct AttentionCase {
  std::int64_t batch = 3, heads = 2, head = 5, keys = 6, queries = 6;
  bool causal = true, relative = false, hidden_keys = false;
  double dropout = 0;
};

std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> all;
  for (const bool relative : {false, true}) {
    for (const double p : {0.0, 0.3}) {
      for (const std::int64_t queries : {6, 4, 1}) {
        AttentionCase c;
        c.relative = relative;
        c.dropout = p;
        c.queries = queries;
        all.push_back(c);
      }
    }
  }
  AttentionCase both;
  both.causal = false;
  all.push_back(both);
  both.hidden_keys = true;
  all.push_back(both);
  both.dropout = 0.5;
  all.push_back(both);
  return all;
}

struct Inputs {
  at::Tensor qkv, r, u, v, key_bias;
  DropoutMask mask;
  [[nodiscard]] std::vector<at::Tensor> learned(const AttentionCase& c) const {
    if (c.relative) return {qkv, r, u, v};
    return {qkv};
  }
};

Inputs inputs(const AttentionCase& c, at::ScalarType type = at::kDouble) {
  auto generator = at::detail::createCPUGenerator(2);
  const auto draw = [&](at::IntArrayRef shape) {
    return at::randn(shape, generator, at::kDouble).to(type).set_requires_grad(true);
  };
  const std::int64_t width = c.heads * c.head;
  Inputs in;
  in.qkv = draw({c.keys * c.batch, 3 * width});
  if (c.relative) {
    in.r = draw({c.keys, width});
    in.u = draw({c.heads, c.head});
    in.v = draw({c.heads, c.head});
  }
  if (c.hidden_keys) {
    in.key_bias = at::zeros({c.batch, c.keys}, type);
    in.key_bias[1][4] = in.key_bias[1][5] = in.key_bias[2][1] =
        -std::numeric_limits<double>::infinity();
  }
  in.mask = {11, 7, static_cast<std::uint16_t>(c.dropout * 65536)};
  return in;
}

at::Tensor run(const AttentionCase& c, const Inputs& in) {
  AttentionOptions options;
  options.heads = c.heads;
  options.queries = c.queries;
  options.causal = c.causal;
  options.key_bias = in.key_bias;
  options.dropout = in.mask;
  return attention(in.qkv, c.batch, options, {in.r, in.u, in.v});
}

// The masks of all sequences and heads one after the other, each beginning at an even element.
at::Tensor mask_of(const AttentionCase& c, const DropoutMask& mask) {
  at::Tensor kept = at::empty({c.batch * c.heads, c.queries, c.keys}, at::kDouble);
  const std::int64_t n = c.queries * c.keys, step = (n + 1) / 2 * 2;
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < c.batch * c.heads; ++k) {
    mask_bits(mask, k * step, n, bits.data());
    for (std::int64_t i = 0; i < n; ++i) {
      kept[k].view({-1})[i] =
          bits[static_cast<std::size_t>(i)] >= mask.threshold ? mask.scale() : 0.0;
    }
  }
  return kept.view({c.batch, c.heads, c.queries, c.keys});
}

// Score by score, with the distance i - j looked up in R.
at::Tensor naive(const AttentionCase& c, const Inputs& in) {
  const std::int64_t width = c.heads * c.head, past = c.keys - c.queries;
  const at::Tensor all = in.qkv.view({c.keys, c.batch, 3, c.heads, c.head});
  const at::Tensor kept = mask_of(c, in.mask);
  std::vector<at::Tensor> rows;
  for (std::int64_t i = 0; i < c.queries; ++i) {
    for (std::int64_t b = 0; b < c.batch; ++b) {
      std::vector<at::Tensor> heads;
      for (std::int64_t h = 0; h < c.heads; ++h) {
        const at::Tensor q = all[past + i][b][0][h];
        std::vector<at::Tensor> scores;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          if (c.causal && j > past + i) {
            scores.push_back(at::full({}, -std::numeric_limits<double>::infinity(), at::kDouble));
            continue;
          }
          const at::Tensor key = all[j][b][1][h];
          at::Tensor score = ((c.relative ? q + in.u[h] : q) * key).sum();
          if (c.relative) {
            const std::int64_t distance = past + i - j;
            const at::Tensor r = in.r.view({c.keys, c.heads, c.head})[c.keys - 1 - distance][h];
            score = score + ((q + in.v[h]) * r).sum();
          }
          score = score / std::sqrt(static_cast<double>(c.head));
          if (in.key_bias.defined()) score = score + in.key_bias[b][j];
          scores.push_back(score);
        }
        const at::Tensor p = at::softmax(at::stack(scores), 0) * kept[b][h][i];
        heads.push_back(at::matmul(p, all.select(1, b).select(1, 2).select(1, h)));
      }
      rows.push_back(at::cat(heads));
    }
  }
  return at::stack(rows).view({c.queries * c.batch, width});
}

TEST(Attention, IsWhatItsFormulaSays) {
  for (const AttentionCase& c : cases()) {
    SCOPED_TRACE(::testing::Message() << "relative " << c.relative << " dropout " << c.dropout
                                      << " queries " << c.queries << " causal " << c.causal);
    const Inputs in = inputs(c);
    const at::Tensor got = run(c, in), want = naive(c, in);
    EXPECT_LT(testing::largest_difference(got, want), 1e-12);
    const at::Tensor direction = at::cos(at::arange(got.numel(), at::kDouble)).view(got.sizes());
    const auto got_g = ::torch::autograd::grad({(got * direction).sum()}, in.learned(c));
    const auto want_g = ::torch::autograd::grad({(want * direction).sum()}, in.learned(c));
    for (std::size_t k = 0; k < got_g.size(); ++k)
      EXPECT_LT(testing::largest_difference(got_g[k], want_g[k]), 1e-12) << k;
  }
}

TEST(Attention, FloatsAreRightToRounding) {
  for (const AttentionCase& c : cases()) {
    const Inputs single = inputs(c, at::kFloat), wide = inputs(c);
    EXPECT_LT(testing::largest_difference(run(c, single), run(c, wide)), 1e-5);
  }
}

TEST(Attention, ThreadsChangeNothing) {
  for (const AttentionCase& c : cases()) {
    const Inputs in = inputs(c);
    const auto all = [&](int threads) {
      use_threads(threads);
      const at::Tensor out = run(c, in);
      auto results = ::torch::autograd::grad({out.square().sum()}, in.learned(c));
      results.push_back(out.detach());
      use_threads(1);
      return results;
    };
    const auto one = all(1), three = all(3);
    for (std::size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(one[k].equal(three[k]));
  }
}

}  // namespace
}  // namespace medgrad::libtorch
