// medgrad estimate: follow the centre of a stream of rows.
#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/text.h"
#include "command.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "medgrad/io.h"
#include "medgrad/registry.h"
#include "method_choice.h"
#include "streams.h"

namespace medgrad::app {
namespace {

class Estimate final : public Command {
 public:
  std::string_view name() const override { return "estimate"; }
  std::string_view summary() const override {
    return "follow the rows with an online estimator, in constant memory, and print the final "
           "estimate";
  }
  std::string_view usage() const override { return "METHOD [options] [FILE]"; }

  void declare(Options& options) override {
    method_.declare(options);
    options.argument("FILE", file_, kRowsHelp);
    options.flag("--cold", cold_, "start every step from 0 instead of from the last estimate");
    options.flag("--average", average_, "print the running average of the estimates");
    options.value("--start", start_, "FILE", "the vector to start from (default: 0)");
    options.value("--every", every_, "K", "print after every K steps, and after the last one");
    non_finite_.declare(options);
    options.value("--save-state", save_, "FILE", "write the final state, to resume from later");
    options.value(
        "--resume", resume_, "FILE",
        "resume from a state that --save-state wrote, with its tau, and with theta, level and rate "
        "of tau = auto, unless they are given");
    options.value("--stats", stats_, "FILE",
                  "write a line of JSON beside every vector that is printed: its step, what that "
                  "step saw, its tau, and the S of tau = auto as size");
    output_.declare(options);
    output_.declare_header(options);
  }
  std::string details() const override { return method_.help() + files_help(); }

  void run(const Common& common) override {
    if (!resume_.empty()) look_at_tau();
    const OnlineMethod method = method_.make();
    const EstimatorOptions options{.start = cold_ ? Start::cold : Start::warm,
                                   .non_finite = non_finite_.value(),
                                   .average = average_};
    if (!every_.empty()) (void)to_whole_number("--every", every_, 1);
    if (!start_.empty() && !resume_.empty())
      throw Error("--start and --resume both say where to begin; give one of them.");
    // A state may be written over the one before it.
    const std::vector<std::string> inputs = {file_, start_, resume_};
    output_.check(inputs);
    keep_inputs("--save-state", save_, std::span(inputs).first(2));
    keep_inputs("--stats", stats_, inputs);
    for (const auto& [option, path] : {std::pair("--out", output_.path()), {"--save-state", save_}})
      if (!stats_.empty() && stats_ == path)
        throw Error(
            fmt::format("--stats and {} both name {}; give them different files.", option, stats_));
    RowReader reader = open_rows(file_, common);
    std::vector<std::string> notes;
    with_element_type(reader.element_type(), [&](auto zero) {
      using T = decltype(zero);
      const auto pool = make_pool(common, reader.dimension());
      OnlineEstimator<T> estimator(method, reader.dimension(), options);
      estimator.use(pool.get());
      begin(estimator, reader.name(), notes);
      follow(estimator, reader, common);
    });
    tell_note(reader, common);
    tell_notes(notes, common);
  }

 private:
  // Before a state is known: theta, level and rate go with tau = auto only, so whoever gives one
  // says that the state has it.
  void look_at_tau() {
    const bool can_be_automatic = method_.entry().find("theta") != nullptr;
    has_tau_ = method_.given("tau");
    if (can_be_automatic && !has_tau_ &&
        (method_.given("theta") || method_.given("level") || method_.given("rate")))
      method_.give("tau", "auto");
  }

  template <Real T>
  void begin(OnlineEstimator<T>& estimator, const std::string& data,
             std::vector<std::string>& notes) const {
    if (!start_.empty()) {
      const std::size_t d = estimator.dimension();
      const auto m = read_vector<T>(start_, d, fmt::format("a row of {} has {}", data, d), &notes);
      if (const auto bad = first_non_finite(std::span<const T>(m))) {
        throw Error(non_finite_sentence(start_, *bad, static_cast<double>(m[*bad]),
                                        "the starting vector must be finite"));
      }
      estimator.reset(m);
    }
    if (!resume_.empty()) {
      std::ifstream in(resume_, std::ios::binary);
      if (!in) throw Error(fmt::format("--resume {} cannot be read.", resume_));
      const OnlineMethod given = estimator.method();
      try {
        if (!has_tau_ || is_automatic(given)) {
          estimator.resume(in);
        } else {
          estimator.load(in);
        }
        if (in.peek() != std::ifstream::traits_type::eof())
          throw Error("something follows the state; the file is not as --save-state wrote it.");
      } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", resume_, error.what()));
      }
      if (is_automatic(estimator.method())) {
        estimator.set_automatic(automatic_of(given, estimator.method()));
      } else if (has_tau_) {
        estimator.set_tau(tau_of(given));
      }
    }
  }

  // Of tau = auto, what the command line gives, and the rest as the state has it.
  [[nodiscard]] AutomaticTau automatic_of(const OnlineMethod& given,
                                          const OnlineMethod& saved) const {
    AutomaticTau made = std::get<ProximalPoint>(saved).automatic;
    const AutomaticTau& own = std::get<ProximalPoint>(given).automatic;
    if (method_.given("theta")) made.theta = own.theta;
    if (method_.given("level")) made.level = own.level;
    if (method_.given("rate")) made.rate = own.rate;
    return made;
  }

  template <Real T>
  void follow(OnlineEstimator<T>& estimator, RowReader& reader, const Common& common) const {
    RowWriter writer = output_.open(reader.columns(), reader.name());
    // Opened first: a wrong place is told before hours of work.
    std::optional<OutputFile> state, stats;
    if (!save_.empty()) state.emplace(save_);
    if (!stats_.empty()) stats.emplace(stats_);
    reader.before_waiting([&] {
      writer.flush();
      if (stats) stats->flush();
    });
    const std::uint64_t every = every_.empty() ? 0 : to_whole_number("--every", every_, 1);
    if (reader.rows() && every > 0)
      writer.expect(*reader.rows() / every, reader.dimension(), kElementType<T>);
    StepInfo info;
    const auto print = [&] {
      writer.write(average_ ? estimator.average() : estimator.estimate());
      if (stats) stats->write(line_of(estimator.steps(), info));
    };
    std::size_t bad_components = 0, bad_rows = 0;
    {
      Progress progress(common, reader.rows());
      std::vector<T> row(reader.dimension());
      while (reader.next(std::span<T>(row))) {
        info = update(estimator, row, reader);
        bad_components += info.non_finite;
        bad_rows += info.non_finite > 0 ? 1 : 0;
        if (every > 0 && estimator.steps() % every == 0) print();
        progress.row();
      }
    }
    if (every == 0 || estimator.steps() % every != 0) print();
    if (bad_rows > 0) {
      warn(common, fmt::format("{} has {} not finite, in {}.", reader.name(),
                               counted(bad_components, "component that is", "components that are"),
                               counted(bad_rows, "row")));
    }
    if (state) {
      std::ostringstream bytes;
      estimator.save(bytes);
      state->write(bytes.view());
      state->commit();
    }
    if (stats) stats->commit();
    writer.commit();
  }

  // What a step saw, by the names of Python. JSON has null for what is not finite.
  static std::string line_of(std::uint64_t step, const StepInfo& info) {
    return nlohmann::ordered_json{{"step", step},
                                  {"increment_norm", info.increment_norm},
                                  {"effective_beta", info.effective_beta},
                                  {"clipped_share", info.clipped_share},
                                  {"non_finite", info.non_finite},
                                  {"tau", info.tau},
                                  {"size", info.size}}
               .dump() +
           "\n";
  }

  template <Real T>
  static StepInfo update(OnlineEstimator<T>& estimator, const std::vector<T>& row,
                         const RowReader& reader) {
    try {
      return estimator.update(row);
    } catch (const NonFiniteInput& error) {
      throw Error(non_finite_sentence(
          reader.where(), error.index(), static_cast<double>(row[error.index()]),
          "use --non-finite robust to continue anyway", reader.columns()));
    }
  }

  MethodChoice<OnlineMethod> method_{"METHOD", online_methods(), find_online_method};
  NonFiniteOption non_finite_;
  RowOutput output_;
  bool cold_ = false, average_ = false;
  bool has_tau_ = false;  // on the command line
  std::string start_, every_, save_, resume_, stats_, file_;
};

}  // namespace

std::unique_ptr<Command> make_estimate() { return std::make_unique<Estimate>(); }

}  // namespace medgrad::app
