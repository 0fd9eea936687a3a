// medgrad noise: samples, densities and probabilities of heavy-tailed noise, and the tail index of
// data.
#include "medgrad/noise.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/registry.h"
#include "medgrad/stable.h"
#include "medgrad/stable_fit.h"
#include "medgrad/tail_sketch.h"
#include "medgrad/tail_summary.h"
#include "method_choice.h"
#include "noise_fit.h"
#include "streams.h"
#include "tail_report.h"

namespace medgrad::app {
namespace {

// A function of a stable law, by the name of the action.
struct Function {
  std::string_view name;
  double (Stable::*call)(double) const;
};
constexpr Function kFunctions[] = {{"pdf", &Stable::pdf},
                                   {"log-pdf", &Stable::log_pdf},
                                   {"cdf", &Stable::cdf},
                                   {"survival", &Stable::survival},
                                   {"quantile", &Stable::quantile}};

class Noise final : public Command {
 public:
  std::string_view name() const override { return "noise"; }
  std::string_view summary() const override {
    return "sample heavy-tailed noise, evaluate stable laws, and estimate the tail index of data";
  }
  std::string_view usage() const override {
    return "sample|pdf|log-pdf|cdf|survival|quantile|fit [options] [FILE]";
  }

  void declare(Options& options) override {
    options.argument("ACTION", action_, "what to do (see below)");
    options.offer("ACTION", {"sample", "pdf", "log-pdf", "cdf", "survival", "quantile", "fit"});
    options.argument("FILE", file_,
                     "points or data (.csv or .npy, also gzipped; - or nothing: standard input); "
                     "not for sample");
    options.value("--x", x_, "LIST", "points, separated by commas, instead of a file");
    options.value("-n", n_, "N", "sample: number of rows (default 1)");
    options.value("-d", d_, "D", "sample: length of a row (default 1)");
    options.value("--model", model_, "NAME",
                  "sample: the noise, one of those below (default stable)");
    std::vector<std::string> names;
    for (const Entry<NoiseModel>& entry : noises()) names.emplace_back(entry.name);
    options.offer("--model", names);
    options.flag("--elliptical", elliptical_, "sample: the same as --model elliptical");
    options.value("--stream", stream_, "K",
                  "sample: which of many independent streams (default 0)");
    options.value("--form", form_, "F",
                  "S0 (default) or S1: Nolan's parametrisations of a stable law");
    options.offer("--form", {"S0", "S1"});
    options.value("--batch", batch_, "B",
                  "fit: numbers or gradients that are combined at a time, for which mean, median "
                  "and Huber are compared (default 10)");
    options.value("--method", method_, "NAME",
                  "fit: how the stable law is fitted: ml (maximum likelihood, the default for "
                  "numbers), cf, koutrouvelis, kogon-williams (characteristic function) or "
                  "quantiles (McCulloch; the only one for vectors)");
    options.value("--bootstrap", bootstrap_, "N",
                  "fit: samples of the fitted law that the p-value of the stable law is simulated "
                  "by (numbers only; default 199, 0: by the law of large samples)");
    options.value("--report", report_, "FILE",
                  "fit: also write an HTML page with pictures of the tails");
    options.offer("--method", {fit_methods().begin(), fit_methods().end()});
    parameters_.declare(options, noises(), {"form"});
    output_.declare(options);
  }
  std::string details() const override;

  void run(const Common& common) override {
    check_action("medgrad noise", action_,
                 {"sample", "pdf", "log-pdf", "cdf", "survival", "quantile", "fit"});
    check_belongings();
    if (!form_.empty()) check_word("--form", form_, {"S0", "S1"});
    parameters_.give("form", form_);
    output_.check(std::span(&file_, 1));
    keep_inputs("--report", report_, std::span(&file_, 1));
    if (action_ == "sample") return sample(common);
    if (action_ == "fit") return fit(common);
    evaluate(*std::ranges::find(kFunctions, action_, &Function::name), common);
  }

 private:
  void check_belongings() const;
  [[nodiscard]] NoiseModel model() const;
  void sample(const Common& common) const;
  [[nodiscard]] std::vector<double> points(bool probabilities, const Common& common) const;
  void evaluate(const Function& function, const Common& common) const;
  void fit(const Common& common) const;
  [[nodiscard]] static TailSketch read_numbers(RowReader& reader, NoiseFit& found);
  [[nodiscard]] VerdictOptions verdict_options() const;
  [[nodiscard]] std::string options_given() const;
  // Of numbers or rows, where a page was asked for.
  template <class Data>
  void report(const Data& data, const NoiseFit& found, const std::string& name) const;
  void fit_numbers(const TailSketch& sketch, NoiseFit& found, const Common& common) const;
  template <class T>
  void fit_rows(const Rows<T>& rows, NoiseFit& found, const Common& common) const;

  // Empty where they were not given.
  std::string action_, file_, x_, n_, d_, model_, stream_, form_, batch_, method_, report_,
      bootstrap_;
  bool elliptical_ = false;
  ParameterOptions parameters_;
  RowOutput output_;
};

std::string Noise::details() const {
  std::vector<TextRow> rows;
  for (const Entry<NoiseModel>& entry : noises()) {
    std::string right = std::string(entry.meaning) + "\n" + std::string(entry.formula);
    for (const Parameter& parameter : entry.parameters) {
      if (parameter.name == "form") continue;
      right += fmt::format("\n--{}  {}", parameter.name, describe(parameter));
    }
    rows.emplace_back(entry.name, right);
  }
  const std::vector<TextRow> actions = {
      {"sample", "print random numbers"},
      {"pdf, log-pdf", "density of a stable law, and its logarithm"},
      {"cdf, survival", "probability of a value below, and above"},
      {"quantile", "the inverse of cdf"},
      {"fit",
       "is the variance of data infinite, is a stable law a fair description, mean or median? With "
       "tail indices, intervals and a verdict"}};
  return fmt::format("\nactions:\n{}\nnoises, each with its parameters:\n{}{}", columns(actions),
                     columns(rows), files_help());
}

// What would have no effect is a mistake.
void Noise::check_belongings() const {
  const auto only = [&](std::string_view action, std::string_view option, bool given) {
    if (given && action_ != action) {
      throw Error(fmt::format("{} is for noise {}, not for noise {}; leave it out.", option, action,
                              action_));
    }
  };
  only("sample", "-n", !n_.empty());
  only("sample", "-d", !d_.empty());
  only("sample", "--stream", !stream_.empty());
  only("fit", "--batch", !batch_.empty());
  only("fit", "--method", !method_.empty());
  only("fit", "--bootstrap", !bootstrap_.empty());
  only("fit", "--report", !report_.empty());
  if (action_ != "fit") return;
  only("sample", "--model", !model_.empty());
  only("sample", "--elliptical", elliptical_);
}

NoiseModel Noise::model() const {
  if (elliptical_ && !model_.empty())
    throw Error("--elliptical and --model both name the noise; give one of them.");
  const std::string text = elliptical_ ? "elliptical" : model_.empty() ? "stable" : model_;
  const Entry<NoiseModel>& entry = find_noise(parse_method_text(text).name);
  const ParameterTexts given = parameters_.with(text);
  return parameters_.named(
      text, [&] { return entry.make(read_parameters(entry.name, entry.parameters, given)); });
}

// Rows in blocks: constant memory however many there are. The numbers depend on the seed, the
// stream and their place alone.
void Noise::sample(const Common& common) const {
  const NoiseModel noise = model();
  if (!file_.empty() || !x_.empty())
    throw Error("noise sample reads no data; leave out FILE and --x.");
  const std::uint64_t n = n_.empty() ? 1 : to_whole_number("-n", n_, 0);
  const std::uint64_t d = d_.empty() ? 1 : to_whole_number("-d", d_, 1);
  const std::uint64_t seed = common.seed.empty() ? 0 : to_whole_number("--seed", common.seed, 0);
  const std::uint64_t stream = stream_.empty() ? 0 : to_whole_number("--stream", stream_, 0);
  if (d > (std::uint64_t{1} << 32))
    throw Error(fmt::format("-d is {}; it must be at most 4294967296.", d_));
  const std::size_t block = static_cast<std::size_t>(std::min<std::uint64_t>(
      std::max<std::uint64_t>(1, (std::uint64_t{1} << 17) / d), std::max<std::uint64_t>(n, 1)));
  const auto pool = make_pool(common, block * d);
  RowWriter writer = output_.open(d);
  writer.expect(n, d, ElementType::float64);
  {
    Progress progress(common, n);
    std::vector<double> rows(block * d);
    for (std::uint64_t first = 0; first < n; first += block) {
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(block, n - first));
      const std::span<double> part = std::span(rows).first(count * d);
      medgrad::sample(noise, part, d, seed, stream, first, pool.get());
      for (std::size_t i = 0; i < count; ++i) {
        writer.write(std::span<const double>(part.subspan(i * d, d)));
        progress.row();
      }
    }
  }
  writer.commit();
}

std::vector<double> Noise::points(bool probabilities, const Common& common) const {
  const auto check = [probabilities](const std::string& where, double p) {
    if (probabilities && !(p >= 0 && p <= 1))
      throw Error(
          fmt::format("{}: {} is not a probability; it must be from 0 to 1.", where, number(p)));
    return p;
  };
  std::vector<double> x;
  if (!x_.empty()) {
    if (!file_.empty()) throw Error("--x and a FILE both give points; give one of them.");
    for (const std::string& one : comma_list("--x", x_))
      x.push_back(check("--x", to_number("--x", one)));
    return x;
  }
  RowReader reader = open_rows(file_, common);
  std::vector<double> row(reader.dimension());
  while (reader.next(std::span<double>(row)))
    for (const double value : row) x.push_back(check(reader.where(), value));
  tell_note(reader, common);
  return x;
}

void Noise::evaluate(const Function& function, const Common& common) const {
  if (elliptical_ ||
      (!model_.empty() && find_noise(parse_method_text(model_).name).name != "stable"))
    throw Error(fmt::format(
        "noise {} is only for stable noise; leave out --model and --elliptical.", action_));
  const Stable law(std::get<StableParameters>(model()));
  const std::vector<double> x = points(action_ == "quantile", common);
  std::vector<double> y(x.size());
  const auto pool = make_pool(common, std::size_t{1} << 16);
  if (action_ == "pdf") {
    law.pdf(x, y, pool.get());
  } else if (action_ == "cdf") {
    law.cdf(x, y, pool.get());
  } else {
    for_each(pool.get(), x.size(), [&](std::size_t i) { y[i] = (law.*function.call)(x[i]); });
  }
  if (output_.is_json()) {
    Json xs = Json::array(), ys = Json::array();
    for (const double v : x) xs.push_back(json_number(v));
    for (const double v : y) ys.push_back(json_number(v));
    return write_file(output_.path(), Json{{"x", xs}, {action_, ys}}.dump() + "\n");
  }
  RowWriter writer = output_.open();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double row[] = {x[i], y[i]};
    writer.write(std::span<const double>(row));
  }
  writer.commit();
}

// A column of numbers is a sample; longer rows are vectors, and the fit is to their noise around
// their componentwise median.
void Noise::fit(const Common& common) const {
  for (const auto& [name, text] : parameters_.texts())
    if (!text.empty() && name != "form")
      throw Error(fmt::format("noise fit estimates --{}; leave it out.", name));
  output_.refuse_npy("noise fit");
  if (!x_.empty()) throw Error("noise fit reads a FILE; leave out --x.");
  if (!method_.empty()) check_word("--method", method_, fit_methods());
  (void)verdict_options();  // an Error before anything is read
  NoiseFit found;
  found.form = form_ == "S1" ? StableForm::S1 : StableForm::S0;
  RowReader reader = open_rows(file_, common);
  const auto named = [&](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      throw error.at(reader.name());
    }
  };
  reader.turn_row();  // a vector in a .npy file is a column, too
  if (reader.dimension() == 1) {
    const TailSketch sketch = read_numbers(reader, found);
    tell_note(reader, common);
    named([&] { fit_numbers(sketch, found, common); });
    report(sketch.sample(), found, reader.name());
  } else if (file_.empty() || file_ == "-") {
    std::vector<double> rows(reader.dimension());
    while (reader.next(std::span(rows).last(reader.dimension())))
      rows.resize(rows.size() + reader.dimension());
    rows.resize(rows.size() - reader.dimension());
    const std::size_t d = reader.dimension();
    named([&] { fit_rows(Rows<double>(rows.data(), rows.size() / d, d), found, common); });
    tell_note(reader, common);
    report(Rows<double>(rows.data(), rows.size() / d, d), found, reader.name());
  } else {
    const std::string files[] = {file_};
    const auto fit_it = [&](const auto& matrix) {
      named([&] { fit_rows(matrix.rows(), found, common); });
      tell_notes(matrix.notes(), common);
      report(matrix.rows(), found, reader.name());
    };
    std::visit(fit_it, read_matrix(files));
  }
  if (output_.is_json()) return write_file(output_.path(), as_json(found));
  // What to do comes first, the numbers behind it.
  warn(common, found.summary.verdict());
  if (found.nan + found.inf > 0) warn_non_finite(common, found.nan, found.inf);
  write_file(output_.path(), as_csv(found));
}

TailSketch Noise::read_numbers(RowReader& reader, NoiseFit& found) {
  TailSketch sketch;
  std::vector<double> block(std::size_t{1} << 14);
  bool more = true;
  while (more) {
    std::size_t count = 0;
    while (count < block.size() && (more = reader.next(std::span(block).subspan(count, 1))))
      ++count;
    sketch.add(std::span(block).first(count));
  }
  found.nan = sketch.missing();
  found.inf = sketch.infinite();
  return sketch;
}

template <class Data>
void Noise::report(const Data& data, const NoiseFit& found, const std::string& name) const {
  if (report_.empty()) return;
  const std::string command = fmt::format("medgrad noise fit {} --report {}{}", shell_word(name),
                                          shell_word(report_), options_given());
  if constexpr (requires { data.row(0); }) {
    if (data.n() == 1) {  // numbers side by side
      const std::vector<double> row(data.row(0), data.row(0) + data.d());
      return write_tail_report(report_, std::span<const double>(row), found, name, command);
    }
  }
  write_tail_report(report_, data, found, name, command);
}

// What the fit depends on, as it was given.
std::string Noise::options_given() const {
  std::string text;
  if (verdict_options().batch != VerdictOptions{}.batch)
    text += " --batch " + std::to_string(verdict_options().batch);
  if (!method_.empty()) text += " --method " + method_;
  if (!bootstrap_.empty()) text += " --bootstrap " + bootstrap_;
  if (form_ == "S1") text += " --form S1";
  return text;
}

VerdictOptions Noise::verdict_options() const {
  constexpr std::uint64_t kMost = 1000000;
  const std::uint64_t resamples = bootstrap_.empty()
                                      ? BootstrapOptions{}.resamples
                                      : to_whole_number("--bootstrap", bootstrap_, 0);
  if (resamples > kMost)
    throw Error(fmt::format("--bootstrap is {}; it must be at most {}.", bootstrap_, kMost));
  const std::uint64_t batch =
      batch_.empty() ? VerdictOptions{}.batch : to_whole_number("--batch", batch_, 1);
  if (batch > kMost)
    throw Error(fmt::format("--batch is {}; it must be at most {}.", batch_, kMost));
  return {.batch = static_cast<std::size_t>(batch),
          .bootstrap = static_cast<std::size_t>(resamples)};
}

void Noise::fit_numbers(const TailSketch& sketch, NoiseFit& found, const Common& common) const {
  found.method = method_.empty() ? FitMethod::likelihood : fit_method(method_);
  VerdictOptions options = verdict_options();
  const auto pool = make_pool(common, options.bootstrap << 8);  // a millisecond each
  options.pool = pool.get();
  found.summary = sketch.summary(options);
  found.bootstrap = options.bootstrap;
  if (!sketch.exact()) found.sample = sketch.sample().size();
  try {
    found.stable = fit_stable(sketch.sample(), {.method = found.method});
  } catch (const Error&) {
    if (!method_.empty()) throw;  // else the tails speak for themselves
  }
}

template <class T>
void Noise::fit_rows(const Rows<T>& rows, NoiseFit& found, const Common& common) const {
  TailSketch row;
  for (std::size_t i = 0; i < rows.n(); ++i) {
    const std::vector<double> entries(rows.row(i), rows.row(i) + rows.d());
    for (const double value : entries) {
      found.nan += std::isnan(value) ? 1 : 0;
      found.inf += std::isinf(value) ? 1 : 0;
    }
    if (rows.n() == 1) row.add(entries);
  }
  if (rows.n() == 1) return fit_numbers(row, found, common);  // numbers side by side
  if (!method_.empty() && method_ != medgrad::name(FitMethod::quantiles)) {
    throw Error(fmt::format(
        "--method is {}; rows of vectors, whose entries depend on each other, are fitted by "
        "quantiles only.",
        method_));
  }
  if (!bootstrap_.empty()) {
    throw Error(
        "--bootstrap is for numbers; no samples of vectors can be simulated, whose entries depend "
        "on each other in a way that is not known.");
  }
  found.method = FitMethod::quantiles;
  VerdictOptions options = verdict_options();
  const auto pool = make_pool(common, rows.n() << 9);
  options.pool = pool.get();
  found.summary = tail_summary(rows, {}, {.verdict = options});
  found.stable = found.summary.quantiles;
}

}  // namespace

std::unique_ptr<Command> make_noise() { return std::make_unique<Noise>(); }

}  // namespace medgrad::app
