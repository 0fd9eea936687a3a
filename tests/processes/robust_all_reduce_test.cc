// The class for libtorch users, between processes; and the example.
#include "medgrad/torch/robust_all_reduce.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cstdio>

#include "medgrad/registry.h"
#include "processes/processes.h"

namespace medgrad {
namespace {

using libtorch::RobustAllReduce;
using processes_test::with_gloo;

// Least squares: the gradients of workers differ by noise of their own; one lies or has NaN.
std::string train(std::unique_ptr<dist::Communicator> group, const std::string& rule, bool lies) {
  ::torch::set_num_threads(1);
  const int rank = group->rank(), size = group->size();
  ::torch::manual_seed(static_cast<std::uint64_t>(rank));
  std::vector<::torch::Tensor> w = {::torch::randn({7, 3}, ::torch::requires_grad()),
                                    ::torch::randn({5}, ::torch::requires_grad()),
                                    ::torch::zeros({2}, ::torch::requires_grad())};
  RobustAllReduce all_reduce(w, make_rule(rule), std::move(group));
  all_reduce.broadcast(1);
  ::torch::optim::SGD optimizer(w, 0.1);
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    const auto noise = 0.01 * ::torch::randn({5});
    ((w[0] - 1).square().sum() / 2 + (w[1] - 2 + noise).square().sum() / 2).backward();
    if (lies && rank == size - 1) {
      for (const auto& p : w) {
        if (p.grad().defined()) p.mutable_grad() *= -10;
      }
      if (step % 2 == 0) w[0].mutable_grad().index_put_({0, 0}, std::nan(""));
    }
    all_reduce();
    optimizer.step();
  }
  const double off = ((w[0] - 1).abs().max() + (w[1] - 2).abs().max()).item<double>();
  const dist::Blamed last = all_reduce.blame().table().back();
  return fmt::format("{:a} {} {}", off, off < 0.05, last.reason.empty());
}

TEST(RobustAllReduce, BearsALiar) {
  for (const char* const rule : {"median", "mda", "geometric-median"}) {
    const auto said =
        processes_test::in_processes(4, [&](const processes_test::Store& store, int rank) {
          return train(
              libtorch::communicate(libtorch::gloo_group(store, rank, 4, std::chrono::seconds(20))),
              rule, true);
        });
    for (const std::string& one : said) {
      EXPECT_EQ(one, said[0]);  // to the bit
      EXPECT_NE(one.find(" true false"), std::string::npos) << rule << ": " << one;
    }
  }
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;) text.push_back(static_cast<char>(c));
  pclose(pipe);
  return text;
}

TEST(RobustAllReduce, TheExampleTrains) {
  const std::string port = std::to_string(20000 + getpid() % 20000);
  const std::string text = output_of(
      "for r in 0 1 2; do RANK=$r WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " " +
      MEDGRAD_EXAMPLE + " & done; wait");
  const auto error_of = [&](int rank) {
    const std::string about = "worker " + std::to_string(rank) + ": mean squared error ";
    const std::size_t at = text.find(about);
    return at == std::string::npos
               ? std::string()
               : text.substr(at + about.size(), text.find('\n', at) - at - about.size());
  };
  EXPECT_EQ(error_of(0), error_of(1));
  EXPECT_EQ(error_of(0), error_of(2));
  EXPECT_LT(std::stod(error_of(0)), 0.2) << text;  // the variance of y is 0.5
  EXPECT_NE(text.find("times as far away as others"), std::string::npos) << text;
}

}  // namespace
}  // namespace medgrad
