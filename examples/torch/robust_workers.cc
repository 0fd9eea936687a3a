// Data-parallel training that bears a worker with wrong gradients: the last one lies. Start it once
// per worker, with torchrun's variables,
//
//     for r in 0 1 2 3; do
//       RANK=$r WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 ./robust_workers & done; wait
//
// or with `medgrad launch -n 4 -- ./robust_workers`.
#include <torch/torch.h>

#include <cstdio>

#include "medgrad/registry.h"
#include "medgrad/torch/process_group.h"
#include "medgrad/torch/robust_all_reduce.h"
#include "medgrad/torch/world.h"

int main() {
  const auto world = medgrad::libtorch::world_from_environment();
  if (!world) return std::fprintf(stderr, "Start it with RANK, WORLD_SIZE and so on.\n"), 2;
  const int rank = world->worker, size = world->workers;
  const auto group = medgrad::libtorch::gloo_group(world->store, rank, size,
                                                   std::chrono::seconds(30), world->address);

  torch::set_num_threads(1);
  torch::manual_seed(0);  // the same data and model everywhere; each takes batches of its own
  const torch::Tensor x = torch::randn({4096, 20});
  const torch::Tensor y = torch::sin(x.sum(1, true) / 3);
  torch::nn::Sequential net(torch::nn::Linear(20, 64), torch::nn::Tanh(), torch::nn::Linear(64, 1));
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  medgrad::libtorch::RobustAllReduce all_reduce(net->parameters(), medgrad::make_rule("median"),
                                                group);
  all_reduce.broadcast();

  torch::manual_seed(static_cast<std::uint64_t>(rank) + 1);
  for (int step = 0; step < 500; ++step) {
    const torch::Tensor rows = torch::randint(4096, {32}, torch::kLong);
    optimizer.zero_grad();
    torch::mse_loss(net->forward(x.index({rows})), y.index({rows})).backward();
    if (rank == size - 1) {
      for (const torch::Tensor& p : net->parameters()) p.mutable_grad() *= -20;  // a liar
    }
    all_reduce();
    optimizer.step();
  }
  torch::NoGradGuard no_grad;
  const double error = torch::mse_loss(net->forward(x), y).item<double>();
  std::printf("worker %d: mean squared error %.9g\n", rank, error);
  if (rank == 0) std::printf("%s", all_reduce.blame().text().c_str());
  all_reduce.group().barrier();  // worker 0 may have the store: nobody leaves before the others
}
