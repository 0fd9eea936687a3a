// Self-attention of several heads, with everything between the projections in one function.
//
// For one sequence and one head, with queries Q, keys K and values V as rows,
//
//     out = D P V,   P = softmax(S) by rows,   S_ij = (Q_i . K_j) / sqrt(width of a head),
//
// where D is dropout on the probabilities. With relative positions (Transformer-XL) the score is
//
//     S_ij = ((Q_i + u) . K_j + (Q_i + v) . R_{i-j}) / sqrt(width of a head),
//
// R_delta being what distance delta projects to. R is given by rows of falling distance, so that
// in the product (Q + v) R' the score of (i, j) stands in row i, T - 1 - i places to the right of
// j: shifting a row is reading it from there.
//
// One sequence's head at a time, S and P stay in cache: the batch of all of them is never stored,
// and backward computes P again from Q and K. Sequences and heads are shared out among threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "torch/models/dropout.h"

namespace medgrad::libtorch {

// What the heads may see, and how.
struct AttentionOptions {
  std::int64_t heads = 1;
  std::int64_t queries = 0;  // the last so many of the rows ask; 0: all of them
  bool causal = true;        // nobody looks ahead
  at::Tensor key_bias;       // (batch, keys), added to scores: -Inf hides a key. May be undefined.
  DropoutMask dropout;       // on the probabilities
};

// Undefined tensors: no relative positions.
struct RelativePositions {
  at::Tensor r;     // (keys, width): row k is distance keys - 1 - k
  at::Tensor u, v;  // (heads, width of a head)
};

// qkv: (keys * batch, 3 width), rows in order of time and then of the sequence, each with its
// query, key and value. Gives (queries * batch, width).
[[nodiscard]] at::Tensor attention(const at::Tensor& qkv, std::int64_t batch,
                                   const AttentionOptions& options,
                                   const RelativePositions& relative = {});

}  // namespace medgrad::libtorch
