// medgrad attack: what lying workers would send, given the rows of the honest ones.
#include "medgrad/attack.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "command.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/sample.h"
#include "method_choice.h"
#include "streams.h"

namespace medgrad::app {
namespace {

class AttackCommand final : public Command {
 public:
  std::string_view name() const override { return "attack"; }
  std::string_view summary() const override {
    return "write what f lying workers would send, given the rows of the honest ones";
  }
  std::string_view usage() const override { return "ATTACK --f F [options] [FILE]"; }

  void declare(Options& options) override {
    attack_.declare(options);
    options.offer("--strength", {"optimal"});
    options.argument("FILE", file_, kRowsHelp);
    options.value("--f", f_, "F", "how many lie (a whole number; required)");
    options.value("--against", against_, "RULE",
                  "the aggregator that --strength optimal is found against, as in nnm+krum; it is "
                  "told f unless it says otherwise (medgrad list aggregators)");
    std::vector<std::string> names;
    for (const Entry<Rule>& entry : rules()) names.emplace_back(entry.name);
    options.offer("--against", names);
    center_.declare(options, "the vector that the aggregator clips around (default: 0)");
    non_finite_.declare(options);
    output_.declare(options);
    output_.declare_header(options);
  }
  std::string details() const override { return attack_.help() + files_help(); }

  void run(const Common& common) override {
    attack_.give_seed(common.seed);
    const Attack attack = attack_.make();
    if (f_.empty()) throw Error("--f is missing; attack needs it (how many lie).");
    const std::uint64_t f = to_whole_number("--f", f_, 0);
    if (f > kMostLiars) throw Error("--f", f_, fmt::format("it must be at most {}", kMostLiars));
    if (needs_data(attack))
      throw Error(
          fmt::format("{} takes data with labels to flip, and rows have none; it is for "
                      "experiments: medgrad reproduce byzantine.",
                      attack_.entry().name));
    const std::optional<Rule> rule = rule_against(attack, f);
    if (rule) center_.check(*rule, against_);
    if (!rule && center_.given())
      throw Error("--center is that of the rule of --against, and there is none.");
    const NonFinite non_finite = non_finite_.value();
    const std::string files[] = {file_.empty() ? "-" : file_};
    output_.check(std::vector{files[0], center_.file()});
    hint_at_terminal(files, common);
    const AnyMatrix any = read_matrix(files);
    std::visit(
        [&]<Real T>(const Matrix<T>& matrix) {
          AttackOptions<T> options;
          options.against = rule ? &*rule : nullptr;
          options.non_finite = non_finite;
          run_on(matrix, attack, f, options, common);
        },
        any);
  }

 private:
  static constexpr std::uint64_t kMostLiars = 1'000'000, kMostNumbers = 1'000'000'000;

  // --against, with f where it has one and does not say.
  [[nodiscard]] std::optional<Rule> rule_against(const Attack& attack, std::uint64_t f) const {
    if (!is_optimal(attack)) {
      if (!against_.empty())
        throw Error(
            "--against is the rule that --strength optimal is found against; the strength "
            "is another one here.");
      return std::nullopt;
    }
    if (against_.empty())
      throw Error("--strength optimal is found against an aggregator; name it with --against.");
    try {
      return rule_told(against_, f);
    } catch (const Error& error) {
      throw error.at("--against " + against_);
    }
  }

  template <Real T>
  void run_on(const Matrix<T>& matrix, const Attack& attack, std::size_t f,
              AttackOptions<T>& options, const Common& common) const {
    const std::size_t d = matrix.d(), rows = rows_sent(attack, f);
    std::vector<std::string> notes(matrix.notes().begin(), matrix.notes().end());
    const std::vector<T> center = center_.read<T>(d, source(), notes);
    options.center = center;
    if (rows > kMostNumbers / d)
      throw Error("--f", f_,
                  fmt::format("with {} a row it must be at most {}", counted(d, "component"),
                              kMostNumbers / d));
    const auto pool = make_pool(common, matrix.n() * d);
    options.pool = pool.get();
    RowWriter writer = output_.open(matrix.columns(), source(), d);
    writer.expect(rows, d, kElementType<T>);
    std::vector<T> lies(rows * d);
    const AttackInfo info = attack_named(matrix, attack, f, std::span<T>(lies), options);
    for (std::size_t k = 0; k < rows; ++k) writer.write(std::span<const T>(lies).subspan(k * d, d));
    writer.commit();
    tell_notes(notes, common);
    if (info.nan + info.inf > 0) warn_non_finite(common, info.nan, info.inf);
    if (rows == 0 && f > 0) warn(common, "silent workers send nothing: there are no rows.");
    if (info.tried > 0)
      warn(common,
           fmt::format("strength {}, the best of {} tried, takes the result of {} {} away from the "
                       "mean of the honest.",
                       number(info.strength), info.tried, against_, number(info.distance)));
  }

  // What the data are called in messages.
  [[nodiscard]] std::string source() const {
    return file_.empty() || file_ == "-" ? "standard input" : file_;
  }

  // With files, lines and options in the words of an Error.
  template <Real T>
  AttackInfo attack_named(const Matrix<T>& matrix, const Attack& attack, std::size_t f,
                          std::span<T> lies, const AttackOptions<T>& options) const {
    try {
      if (options.against != nullptr) validate(*options.against, matrix.n() + f);
    } catch (const Error& error) {
      throw error.at("--against " + against_);
    }
    return with_places(matrix, source(), "use --non-finite robust to go on anyway",
                       [&] { return medgrad::attack<T>(attack, matrix.rows(), f, lies, options); });
  }

  MethodChoice<Attack> attack_{"ATTACK", attacks(), find_attack};
  NonFiniteOption non_finite_;
  CenterOption center_;
  RowOutput output_;
  std::string f_, against_, file_;
};

}  // namespace

std::unique_ptr<Command> make_attack() { return std::make_unique<AttackCommand>(); }

}  // namespace medgrad::app
