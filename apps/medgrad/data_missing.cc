// medgrad data, in a build without the text layer: it says what is missing.
#include "command.h"
#include "data.h"
#include "medgrad/error.h"

namespace medgrad::app {
namespace {

class DataMissing final : public Command {
 public:
  std::string_view name() const override { return kDataName; }
  std::string_view summary() const override { return kDataSummary; }
  std::string_view usage() const override { return ""; }
  void declare(Options&) override {}
  void run(const Common&) override {}

  void start(std::vector<std::string>) override {
    throw Error(
        "medgrad data needs ICU, which this build does not have; install the Debian package "
        "libicu-dev and build again.");
  }
};

}  // namespace

std::unique_ptr<Command> make_data() { return std::make_unique<DataMissing>(); }

}  // namespace medgrad::app
