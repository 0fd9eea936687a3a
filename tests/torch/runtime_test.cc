#include "medgrad/torch/runtime.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "torch/failure.h"

namespace medgrad::libtorch {
namespace {

TEST(TorchRuntime, TakesTheThreadsItIsGiven) {
  use_threads(2);
  EXPECT_EQ(runtime().threads, 2);
  EXPECT_EQ(at::get_num_threads(), 2);
  use_threads(1);
  EXPECT_EQ(runtime().threads, 1);
}

// Whoever compiles at::parallel_for without OpenMP gets a plain loop, and tests of threads that
// compare one thread with one thread.
TEST(TorchRuntime, LoopsAreSharedAmongThreads) {
  use_threads(2);
  std::atomic<int> parts = 0, parallel = 0;
  at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) {
    ++parts;
    if (at::in_parallel_region()) ++parallel;
  });
  use_threads(1);
  EXPECT_EQ(parts, 2);
  EXPECT_EQ(parallel, 2);
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

// What a program says of a failure inside libtorch: a sentence, whatever the failure.
TEST(TorchRuntime, FailuresAreOneSentence) {
  const auto said = [](auto fails) -> std::string {
    try {
      fails();
    } catch (const std::exception& failure) {
      return sentence_of(failure);
    }
    return "nothing failed";
  };
  EXPECT_EQ(said([] { (void)at::empty({std::int64_t{1} << 58}, at::kFloat); }),
            "there is not enough memory: 1073741824 GiB were asked for at once.");
  // Some versions name the function first.
  const std::string shapes = said([] { (void)at::mm(at::zeros({2, 3}), at::zeros({2, 3})); });
  EXPECT_TRUE(shapes == "libtorch: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)." ||
              shapes == "libtorch: mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3).")
      << shapes;
  const std::string text = said([] { (void)at::zeros({2}).expand({3}); });
  EXPECT_TRUE(text.starts_with("libtorch: ") && text.ends_with(".")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_EQ(said([] { throw std::runtime_error("stopped."); }), "stopped.");
}

}  // namespace
}  // namespace medgrad::libtorch
