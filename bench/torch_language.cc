// medgrad_language_bench --task ptb|wikitext2|squad --batch B --steps K --threads N
//
// Training steps of the language models on random tokens: loss, gradients, and momentum over
// clipped gradients. Prints what bench/peers/language.py prints for the same models in PyTorch, and
// the milliseconds of a step that are the optimiser's.
#include <sys/resource.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/runtime.h"
#include "torch/models/encoder.h"
#include "torch/models/question_answering.h"
#include "torch/models/transformer_xl.h"

namespace {

using medgrad::libtorch::Batch;
using medgrad::libtorch::Model;

struct Task {
  std::int64_t vocabulary, length;
  std::shared_ptr<Model> model;
};

Task task_of(const std::string& name) {
  using namespace medgrad::libtorch;
  if (name == "ptb") return {10000, 35, std::make_shared<EncoderModel>(EncoderOptions{})};
  if (name == "wikitext2")
    return {33278, 128, std::make_shared<TransformerXL>(TransformerXLOptions{})};
  if (name == "squad") return {30522, 256, std::make_shared<QuestionAnswering>(BertOptions{})};
  throw std::runtime_error("--task is ptb, wikitext2 or squad");
}

// Random tokens and what is to be predicted: the next of each, or where an answer begins and ends.
Batch batch_of(const std::string& name, const Task& task, std::int64_t size) {
  if (name == "squad")
    return {at::randint(task.vocabulary, {size, task.length}, at::kLong),
            at::randint(task.length, {size, 2}, at::kLong),
            {},
            {}};
  const at::Tensor tokens = at::randint(task.vocabulary, {task.length + 1, size}, at::kLong);
  return {tokens.narrow(0, 0, task.length), tokens.narrow(0, 1, task.length), {}, {}};
}

// Of all threads of this process.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median_but_first(std::vector<double> x) {
  std::sort(x.begin() + 1, x.end());
  return x[1 + (x.size() - 1) / 2];
}

void run(const std::map<std::string, std::string>& options) {
  const auto number = [&](const char* name) { return std::stol(options.at(name)); };
  medgrad::libtorch::use_threads(static_cast<int>(number("--threads")));
  Task task = task_of(options.at("--task"));
  const std::int64_t batch = number("--batch");
  ::torch::manual_seed(0);
  const Batch given = batch_of(options.at("--task"), task, batch);
  // What clip_grad_norm_ and SGD with momentum do to w, at their learning rate of 0.1.
  medgrad::libtorch::ClippedSGD optimizer(
      task.model->parameters(), medgrad::libtorch::ClippedSGDOptions(1.0).beta(0.9).clip(1.0));
  std::vector<double> times, optimizer_times, cpu, losses;
  for (std::int64_t step = 0; step <= number("--steps"); ++step) {  // the first warms up
    const double before = cpu_seconds();
    times.push_back(medgrad::bench::seconds([&] {
      for (auto& p : task.model->parameters()) p.mutable_grad() = at::Tensor();
      const at::Tensor loss = task.model->loss(given);
      loss.backward();
      optimizer_times.push_back(medgrad::bench::seconds([&] { optimizer.step(); }));
      losses.push_back(loss.item<double>());
    }));
    cpu.push_back(cpu_seconds() - before);
  }
  const double step = median_but_first(times);
  const double cpu_step = median_but_first(cpu);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(
      "{\"program\": \"medgrad\", \"libtorch\": \"%d.%d\", \"task\": \"%s\", \"batch\": %ld, "
      "\"threads\": %d, \"kernels\": "
      "\"%s\", "
      "\"tokens_per_second\": %.1f, \"step_ms\": %.2f, \"optimizer_ms\": %.2f, \"cpu_ms\": %.2f, "
      "\"peak_rss_bytes\": %ld, "
      "\"first_loss\": %.6f, \"last_loss\": %.6f}\n",
      TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, options.at("--task").c_str(),
      static_cast<long>(batch), at::get_num_threads(), medgrad::libtorch::runtime().kernels.c_str(),
      static_cast<double>(task.length * batch) / step, 1e3 * step,
      1e3 * median_but_first(optimizer_times), 1e3 * cpu_step, used.ru_maxrss * 1024L,
      losses.front(), losses.back());
}

}  // namespace

int main(int argc, char** argv) try {
  medgrad::libtorch::keep_memory();
  medgrad::libtorch::use_fast_blas();
  std::map<std::string, std::string> options = {
      {"--task", "ptb"}, {"--batch", "256"}, {"--steps", "5"}, {"--threads", "0"}};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || options.count(argv[i]) == 0)
      throw std::runtime_error("options are --task, --batch, --steps and --threads, each a value");
    options[argv[i]] = argv[i + 1];
  }
  run(options);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "medgrad_language_bench: %s\n", e.what());
  return 1;
}
