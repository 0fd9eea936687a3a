// Data-parallel training that bears workers with wrong gradients: between backward() and step(),
// the gradients of all workers become the result of a robust rule, on every one of them.
//
//     RobustAllReduce all_reduce(model->parameters(), make_rule("nnm+median:f=1"), process_group);
//     ...
//     loss.backward();
//     all_reduce();        // where DistributedDataParallel would take the mean
//     optimizer.step();
//
// Workers start from the same parameters (broadcast()) and keep them equal to the bit. See
// medgrad/dist/aggregate.h for what it costs and what it bears.
#pragma once

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "medgrad/dist/aggregate.h"
#include "medgrad/dist/blame.h"
#include "medgrad/pre_aggregators.h"

namespace medgrad::libtorch {

struct RobustAllReduceOptions {
  dist::Topology topology = dist::Topology::sharded;
  int server = 0;                            // its rank
  NonFinite non_finite = NonFinite::robust;  // reject: an exception on all ranks
  ThreadPool* pool = nullptr;
  bool report = true;  // costs another pass over the data
};

class RobustAllReduce {
 public:
  // Float or double parameters on the CPU, all of one type. Throws Error for others, and for a rule
  // that does not suit the number of workers.
  RobustAllReduce(std::vector<::torch::Tensor> parameters, Rule rule,
                  c10::intrusive_ptr<c10d::ProcessGroup> group,
                  const RobustAllReduceOptions& options = {});
  // With any engine.
  RobustAllReduce(std::vector<::torch::Tensor> parameters, Rule rule,
                  std::unique_ptr<dist::Communicator> group,
                  const RobustAllReduceOptions& options = {});
  ~RobustAllReduce();
  RobustAllReduce(const RobustAllReduce&) = delete;
  RobustAllReduce& operator=(const RobustAllReduce&) = delete;

  // Replaces the gradients; a parameter without one counts as having zeros, and gets one. If this
  // throws (dist::Lost, dist::Unfit, Error), the gradients are as they were.
  SampleInfo operator()();

  // Gives everyone the parameters of `from`, to start from the same ones.
  void broadcast(int from = 0);

  // After dist::Lost: leaves the group, so that the others notice at once, and goes on in another;
  // steps, centre and blame stay. `workers` are the numbers by which blame tells ranks apart.
  void leave();
  void use(std::unique_ptr<dist::Communicator> group, std::vector<int> workers);
  // A word that everybody finds in last_step() from the next step on (dist::Options::word).
  void say(std::uint64_t word);

  [[nodiscard]] dist::Communicator& group();
  [[nodiscard]] std::uint64_t steps() const;
  void set_steps(std::uint64_t steps);  // after a restart
  // What became of whose gradient in the last step, by rank; and over all steps.
  [[nodiscard]] const std::vector<dist::WorkerReport>& last_step() const;
  [[nodiscard]] const dist::Blame& blame() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace medgrad::libtorch
