// medgrad aggregate: one robust vector from all rows of all files.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "command.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/registry.h"
#include "medgrad/sample.h"
#include "method_choice.h"
#include "streams.h"

namespace medgrad::app {
namespace {

class Aggregate final : public Command {
 public:
  std::string_view name() const override { return "aggregate"; }
  std::string_view summary() const override {
    return "combine all rows of all files into one vector with a robust estimator";
  }
  std::string_view usage() const override { return "[PART+...]METHOD [options] [FILE...]"; }

  void declare(Options& options) override {
    method_.declare(options);
    options.arguments("FILE...", files_, kRowsHelp);
    options.value("--weights", weights_, "FILE", "a positive weight per row (default: all 1)");
    center_.declare(options, "the vector to clip around (default: 0)");
    non_finite_.declare(options);
    options.value(
        "--stats", stats_, "FILE",
        "write iterations, certified gap, objective and counts of NaN and infinities as JSON, and "
        "for every row its distance to the result, its weight, and what was cut off or broken");
    output_.declare(options);
    output_.declare_header(options);
  }
  std::string details() const override { return method_.help() + files_help(); }

  void run(const Common& common) override {
    method_.give_seed(common.seed);
    const Rule method = method_.make();
    center_.check(method, method_.entry().name);
    const NonFinite non_finite = non_finite_.value();
    if (!weights_.empty() && !takes_weights(method))
      throw Error(fmt::format("{} does not take --weights.", method_.entry().name));
    if (files_.empty()) files_.emplace_back("-");
    std::vector<std::string> inputs = files_;
    inputs.insert(inputs.end(), {weights_, center_.file()});
    output_.check(inputs);
    keep_inputs("--stats", stats_, inputs);
    if (!stats_.empty() && stats_ == output_.path())
      throw Error(
          fmt::format("--stats and --out both name {}; give them different files.", stats_));
    hint_at_terminal(files_, common);
    const AnyMatrix any = read_matrix(files_);
    std::visit([&](const auto& matrix) { run_on(matrix, method, non_finite, common); }, any);
  }

 private:
  template <Real T>
  void run_on(const Matrix<T>& matrix, const Rule& method, NonFinite non_finite,
              const Common& common) const {
    const std::size_t n = matrix.n(), d = matrix.d();
    method_.named([&] { validate(method, n); });
    std::vector<std::string> notes(matrix.notes().begin(), matrix.notes().end());
    const std::vector<double> weights = read_weights(n, notes);
    const std::vector<T> center = center_.read<T>(d, files_.front(), notes);
    const auto pool = make_pool(common, n * d);
    std::vector<RowReport> report;
    const SampleOptions<T> options{.weights = weights,
                                   .center = center,
                                   .non_finite = non_finite,
                                   .pool = pool.get(),
                                   .objective = !stats_.empty(),
                                   .report = stats_.empty() ? nullptr : &report};
    RowWriter writer = output_.open(matrix.columns(), source());
    std::optional<OutputFile> stats;
    if (!stats_.empty()) stats.emplace(stats_);

    std::vector<T> result(d);
    const SampleInfo info =
        with_places(matrix, source(), "use --non-finite robust to aggregate anyway",
                    [&] { return aggregate<T>(method, matrix.rows(), result, options); });
    writer.write(std::span<const T>(result));
    if (stats) {
      stats->write(text_of(info, report, n, d));
      stats->commit();
    }
    writer.commit();
    tell_notes(notes, common);
    if (info.nan + info.inf > 0) warn_non_finite(common, info.nan, info.inf);
    const auto warn_because = [&](const char* why) {
      warn(common, fmt::format("{}: the objective is within a relative {} of its optimum.", why,
                               number(info.gap)));
    };
    if (info.stop == Stop::max_iterations) warn_because("--max-iter was reached");
    constexpr double kMatters = 1e-6;  // rounding to floats leaves less
    if (info.stop == Stop::rounding && info.gap > kMatters)
      warn_because("rounding errors limit the accuracy");
  }

  // What the data are called in messages.
  [[nodiscard]] std::string source() const {
    const std::string first = files_.front() == "-" ? "standard input" : files_.front();
    return files_.size() == 1 ? first : first + " and the other files";
  }

  [[nodiscard]] std::vector<double> read_weights(std::size_t n,
                                                 std::vector<std::string>& notes) const {
    if (weights_.empty()) return {};
    auto weights = read_vector<double>(
        weights_, n, fmt::format("there {} {}", n == 1 ? "is" : "are", counted(n, "row")), &notes);
    for (std::size_t i = 0; i < n; ++i) {
      if (weights[i] > 0 && std::isfinite(weights[i])) continue;
      throw Error(fmt::format("{}: weight {} is {}; weights must be positive and finite.", weights_,
                              i + 1, number(weights[i])));
    }
    return weights;
  }

  [[nodiscard]] std::string text_of(const SampleInfo& info, std::span<const RowReport> report,
                                    std::size_t n, std::size_t d) const {
    nlohmann::ordered_json json = {
        {"method", method_.entry().name},   {"n", n},          {"d", d},
        {"iterations", info.iterations},    {"gap", info.gap}, {"objective", info.objective},
        {"stop", medgrad::name(info.stop)}, {"nan", info.nan}, {"inf", info.inf}};
    if (info.f != kAutomatic) json["f"] = info.f;
    auto& rows = json["rows"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < report.size(); ++i) {  // JSON has null for what is not defined
      const RowReport& one = report[i];
      rows.push_back({{"row", i + 1},
                      {"distance", one.distance},
                      {"weight", one.weight},
                      {"kept", one.kept},
                      {"cut", one.cut},
                      {"nan", one.nan},
                      {"inf", one.inf}});
    }
    return json.dump(2) + "\n";
  }

  MethodChoice<Rule> method_{"METHOD", rules(), find_rule, pre_aggregators()};
  NonFiniteOption non_finite_;
  RowOutput output_;
  CenterOption center_;
  std::string weights_, stats_;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> make_aggregate() { return std::make_unique<Aggregate>(); }

}  // namespace medgrad::app
