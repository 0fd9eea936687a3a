#include "medgrad/torch/robust_all_reduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "medgrad/error.h"
#include "medgrad/large_vector.h"
#include "medgrad/torch/process_group.h"

namespace medgrad::libtorch {
namespace {

using Clock = std::chrono::steady_clock;
using ::torch::Tensor;

}  // namespace

class RobustAllReduce::Body {
  // All entries of tensors, one after the other.
  template <class T>
  class Flat {
   public:
    explicit Flat(std::size_t size) : mine(size), result(size) {}
    LargeVector<T> mine, result, centre;

    static void copy_in(const Tensor& from, T* to) {
      const Tensor plain = from.detach().contiguous();
      std::copy_n(plain.data_ptr<T>(), plain.numel(), to);
    }
    static void copy_out(const T* from, Tensor to) {
      if (to.is_contiguous()) {
        std::copy_n(from, to.numel(), to.data_ptr<T>());
      } else {
        to.copy_(::torch::from_blob(const_cast<T*>(from), to.sizes(), to.options()));
      }
    }
  };

 public:
  Body(std::vector<Tensor> parameters, Rule rule, std::unique_ptr<dist::Communicator> group,
       const RobustAllReduceOptions& options)
      : parameters_(std::move(parameters)), rule_(std::move(rule)), options_(options) {
    std::size_t size = 0;
    for (const Tensor& p : parameters_) {
      if (!p.device().is_cpu() || p.layout() != ::torch::kStrided ||
          (p.scalar_type() != ::torch::kFloat && p.scalar_type() != ::torch::kDouble))
        throw Error("RobustAllReduce takes dense float and double parameters on the CPU.");
      if (p.scalar_type() != parameters_.front().scalar_type())
        throw Error("RobustAllReduce takes parameters of one type; some are float, others double.");
      size += static_cast<std::size_t>(p.numel());
    }
    if (!parameters_.empty() && parameters_.front().scalar_type() == ::torch::kDouble) {
      double_.emplace(size);
    } else {
      float_.emplace(size);
    }
    std::vector<int> ranks(static_cast<std::size_t>(group->size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    use(std::move(group), std::move(ranks));
  }

  void use(std::unique_ptr<dist::Communicator> group, std::vector<int> workers) {
    validate(rule_, static_cast<std::size_t>(group->size()));
    group_ = std::move(group);
    workers_ = std::move(workers);
  }

  SampleInfo step() {
    const SampleInfo info = float_ ? step(*float_) : step(*double_);
    blame_.add(workers_, reports_);
    ++steps_;
    left_ = Clock::now();
    return info;
  }

  void broadcast(int from) {
    if (float_) {
      broadcast(from, *float_);
    } else {
      broadcast(from, *double_);
    }
  }

  std::vector<Tensor> parameters_;
  Rule rule_;
  RobustAllReduceOptions options_;
  std::unique_ptr<dist::Communicator> group_;
  std::vector<int> workers_;
  std::uint64_t steps_ = 0, word_ = 0;
  std::vector<dist::WorkerReport> reports_;
  dist::Blame blame_;

 private:
  template <class T>
  SampleInfo step(Flat<T>& flat) {
    std::size_t at = 0;
    for (const Tensor& p : parameters_) {
      const auto size = static_cast<std::size_t>(p.numel());
      const Tensor& gradient = p.grad();
      if (gradient.defined() && gradient.layout() != ::torch::kStrided)
        throw Error("RobustAllReduce takes dense gradients.");
      if (gradient.defined()) {
        Flat<T>::copy_in(gradient, flat.mine.data() + at);
      } else {
        std::fill_n(flat.mine.data() + at, size, T{0});
      }
      at += size;
    }
    dist::Options<T> options;
    options.topology = options_.topology;
    options.server = options_.server;
    options.step = steps_;
    options.non_finite = options_.non_finite;
    options.pool = options_.pool;
    options.center = flat.centre;
    options.seconds = std::chrono::duration<double>(Clock::now() - left_).count();
    options.word = word_;
    options.report = options_.report ? &reports_ : nullptr;
    const SampleInfo info = dist::aggregate<T>(*group_, rule_, flat.mine, flat.result, options);
    if (keeps_center(rule_)) flat.centre.assign(flat.result.begin(), flat.result.end());
    at = 0;
    for (const Tensor& p : parameters_) {
      Tensor& gradient = p.mutable_grad();
      if (!gradient.defined()) gradient = ::torch::empty_like(p);
      Flat<T>::copy_out(flat.result.data() + at, gradient);
      at += static_cast<std::size_t>(p.numel());
    }
    return info;
  }

  template <class T>
  void broadcast(int from, Flat<T>& flat) {
    const auto n = static_cast<std::size_t>(group_->size());
    if (from < 0 || from >= group_->size())
      throw Error(fmt::format("There is no worker {}.", from));
    if (flat.mine.empty()) return;
    std::vector<std::span<const std::byte>> sent(n);
    std::vector<std::span<std::byte>> received(n);
    if (group_->rank() == from) {
      std::size_t at = 0;
      for (const Tensor& p : parameters_) {
        Flat<T>::copy_in(p, flat.mine.data() + at);
        at += static_cast<std::size_t>(p.numel());
      }
      sent.assign(n, std::as_bytes(std::span<const T>(flat.mine)));
    }
    received[static_cast<std::size_t>(from)] = std::as_writable_bytes(std::span<T>(flat.result));
    group_->start_exchange(sent, received).wait();
    const ::torch::NoGradGuard no_grad;
    std::size_t at = 0;
    for (const Tensor& p : parameters_) {
      Flat<T>::copy_out(flat.result.data() + at, p.data());
      at += static_cast<std::size_t>(p.numel());
    }
  }

  std::optional<Flat<float>> float_;
  std::optional<Flat<double>> double_;
  Clock::time_point left_ = Clock::now();
};

RobustAllReduce::RobustAllReduce(std::vector<Tensor> parameters, Rule rule,
                                 c10::intrusive_ptr<c10d::ProcessGroup> group,
                                 const RobustAllReduceOptions& options)
    : RobustAllReduce(std::move(parameters), std::move(rule), communicate(std::move(group)),
                      options) {}
RobustAllReduce::RobustAllReduce(std::vector<Tensor> parameters, Rule rule,
                                 std::unique_ptr<dist::Communicator> group,
                                 const RobustAllReduceOptions& options)
    : body_(std::make_unique<Body>(std::move(parameters), std::move(rule), std::move(group),
                                   options)) {}
RobustAllReduce::~RobustAllReduce() = default;

SampleInfo RobustAllReduce::operator()() { return body_->step(); }
void RobustAllReduce::broadcast(int from) { body_->broadcast(from); }
void RobustAllReduce::use(std::unique_ptr<dist::Communicator> group, std::vector<int> workers) {
  body_->use(std::move(group), std::move(workers));
}
void RobustAllReduce::leave() { body_->group_.reset(); }
void RobustAllReduce::say(std::uint64_t word) { body_->word_ = word; }
dist::Communicator& RobustAllReduce::group() { return *body_->group_; }
std::uint64_t RobustAllReduce::steps() const { return body_->steps_; }
void RobustAllReduce::set_steps(std::uint64_t steps) { body_->steps_ = steps; }
const std::vector<dist::WorkerReport>& RobustAllReduce::last_step() const {
  return body_->reports_;
}
const dist::Blame& RobustAllReduce::blame() const { return body_->blame_; }

}  // namespace medgrad::libtorch
