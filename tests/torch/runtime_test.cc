#include "medgrad/torch/runtime.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

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
    EXPECT_EQ(found.warning, "");
  } else {
    EXPECT_FALSE(found.threading.empty());
  }
}

}  // namespace
}  // namespace medgrad::torch
