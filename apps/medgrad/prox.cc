// medgrad prox: the proximal operator of a distance, row by row.  medgrad project: the projection
// onto a ball.
#include <limits>
#include <utility>
#include <vector>

#include "command.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/registry.h"
#include "method_choice.h"
#include "streams.h"

namespace medgrad::app {
namespace {

constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();

double required(const Parameter& parameter, const std::string& text, std::string_view command) {
  ParameterTexts given;
  if (!text.empty()) given.emplace(parameter.name, text);
  const std::span one(&parameter, 1);
  return complete(command, one, read_parameters(command, one, given)).begin()->second;
}

// Reads rows, applies `map` to each in place, writes them.
template <class Map>
void map_rows(const std::string& file, const RowOutput& output, const Common& common, Map map) {
  output.check(std::span(&file, 1));
  RowReader reader = open_rows(file, common);
  with_element_type(reader.element_type(), [&](auto zero) {
    using T = decltype(zero);
    RowWriter writer = output.open(reader.columns(), reader.name());
    if (reader.rows()) writer.expect(*reader.rows(), reader.dimension(), kElementType<T>);
    reader.before_waiting([&writer] { writer.flush(); });
    Progress progress(common, reader.rows());
    std::vector<T> row(reader.dimension());
    while (reader.next(std::span<T>(row))) {
      if (const auto bad = first_non_finite(std::span<const T>(row))) {
        throw Error(non_finite_sentence(reader.where(), *bad, static_cast<double>(row[*bad]),
                                        "it must be finite", reader.columns()));
      }
      map(std::span<T>(row));
      writer.write(std::span<const T>(row));
      progress.row();
    }
    writer.commit();
  });
  tell_note(reader, common);
}

class Prox final : public Command {
 public:
  std::string_view name() const override { return "prox"; }
  std::string_view summary() const override {
    return "apply the proximal operator of tau times a distance to every row";
  }
  std::string_view usage() const override { return "DISTANCE --tau T [options] [FILE]"; }
  void declare(Options& options) override {
    distance_.declare(options);
    options.argument("FILE", file_, kRowsHelp);
    options.value("--tau", tau_, "T", describe(kTau));
    output_.declare(options);
    output_.declare_header(options);
  }
  std::string details() const override { return distance_.help() + files_help(); }
  void run(const Common& common) override {
    const AnyDistance distance = distance_.make();
    const double tau = required(kTau, tau_, name());
    map_rows(file_, output_, common,
             [&]<class T>(std::span<T> row) { distance.prox<T>(tau, row, row); });
  }

 private:
  static constexpr Parameter kTau = {"tau", "step size", range::positive, kRequired};

  MethodChoice<AnyDistance> distance_{"DISTANCE", distances(), find_distance};
  std::string tau_, file_;
  RowOutput output_;
};

class Project final : public Command {
 public:
  std::string_view name() const override { return "project"; }
  std::string_view summary() const override {
    return "replace every row by the closest point whose q-norm is at most the radius";
  }
  std::string_view usage() const override { return "--q Q --radius R [options] [FILE]"; }
  void declare(Options& options) override {
    options.argument("FILE", file_, kRowsHelp);
    options.value("--q", q_, "Q", describe(kQ));
    options.value("--radius", radius_, "R", describe(kRadius));
    output_.declare(options);
    output_.declare_header(options);
  }
  std::string details() const override { return files_help(); }
  void run(const Common& common) override {
    const double q = required(kQ, q_, name());
    const double radius = required(kRadius, radius_, name());
    map_rows(file_, output_, common,
             [&]<class T>(std::span<T> row) { project_ball<T>(q, radius, row, row); });
  }

 private:
  static constexpr Parameter kQ = {"q", "exponent of the norm", range::exponent, kRequired};
  static constexpr Parameter kRadius = {"radius", "radius of the ball", range::non_negative,
                                        kRequired};

  std::string q_, radius_, file_;
  RowOutput output_;
};

}  // namespace

std::unique_ptr<Command> make_prox() { return std::make_unique<Prox>(); }
std::unique_ptr<Command> make_project() { return std::make_unique<Project>(); }

}  // namespace medgrad::app
