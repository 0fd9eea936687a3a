#include "medgrad/torch/runtime.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>

namespace medgrad::torch {
namespace {

TEST(TorchRuntime, TakesTheThreadsItIsGiven) {
  use_threads(2);
  EXPECT_EQ(runtime().threads, 2);
  EXPECT_EQ(at::get_num_threads(), 2);
  use_threads(1);
  EXPECT_EQ(runtime().threads, 1);
}

// The programs of this build carry the path of the OpenMP build of OpenBLAS where it is installed.
TEST(TorchRuntime, KnowsItsVersionAndBlas) {
  const Runtime found = runtime();
  EXPECT_FALSE(found.version.empty());
  EXPECT_FALSE(found.blas.empty());
  if (found.blas.find("openblas-openmp") != std::string::npos) {
    EXPECT_EQ(found.threading, "openmp");
    EXPECT_FALSE(found.kernels.empty());
  } else {
    EXPECT_FALSE(found.threading.empty());
  }
}

// After the switch products are what they were, to rounding, and nothing is left to warn of.
TEST(TorchRuntime, FastCodeOfTheBlasMultipliesAlike) {
  const at::Tensor a = at::randn({65, 129}), b = at::randn({129, 77});
  const at::Tensor before = at::mm(a, b);
  use_fast_blas();
  EXPECT_LT((at::mm(a, b) - before).abs().max().item<double>(), 1e-4);
  const Runtime found = runtime();
  if (found.threading == "openmp" && std::getenv("OPENBLAS_CORETYPE") == nullptr) {
    EXPECT_EQ(found.warning, "");
  }
  use_fast_blas();
  EXPECT_EQ(runtime().kernels, found.kernels);
}

}  // namespace
}  // namespace medgrad::torch
