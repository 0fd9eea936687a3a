// medgrad-torch runtime: what `medgrad doctor` wants to know, as JSON.
#include "medgrad/torch/runtime.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "torch/commands.h"

namespace medgrad::app {
namespace {

class RuntimeCommand final : public Command {
 public:
  std::string_view name() const override { return "runtime"; }
  std::string_view summary() const override { return "libtorch, its BLAS and threads, as JSON"; }
  std::string_view usage() const override { return ""; }
  void declare(Options&) override {}
  void run(const Common& common) override {
    medgrad::libtorch::use_threads(static_cast<int>(common.threads));
    const medgrad::libtorch::Runtime found = medgrad::libtorch::runtime();
    const nlohmann::ordered_json json = {{"version", found.version},
                                         {"threads", found.threads},
                                         {"blas", found.blas},
                                         {"blas_threading", found.threading},
                                         {"blas_kernels", found.kernels},
                                         {"warning", found.warning}};
    std::cout << json.dump() << "\n";
  }
};

}  // namespace

std::unique_ptr<Command> make_runtime() { return std::make_unique<RuntimeCommand>(); }

}  // namespace medgrad::app
