// medgrad theory: moments of sample medians, and the step sizes and bounds of the paper.
#include "medgrad/theory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/json.h"
#include "command.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/stable.h"
#include "text.h"

namespace medgrad::app {
namespace {

using Names = std::vector<std::string>;

// An option, and the actions that take it.
struct Taken {
  std::string name, operand, help;
  Names actions;
};

const std::vector<Taken>& taken() {
  static const Names smgd = {"smooth", "lipschitz"}, bounds = {"smooth", "lipschitz", "spp"};
  static const std::vector<Taken> all = {
      {"--alpha", "A", "tail index of stable noise, 0 < alpha <= 2", {"cn", "smooth", "lipschitz"}},
      {"--beta", "B", "cn: skewness (default 0)", {"cn"}},
      {"--form", "F", "cn: S0 (default) or S1, Nolan's parametrisations of a skewed law", {"cn"}},
      {"--n",
       "N",
       "samples per median, odd; cn: or a list, separated by commas; spp: number of given vectors",
       {"cn", "smooth", "lipschitz", "spp"}},
      {"--d", "D", "dimension (default 1)", bounds},
      {"--c-1", "X", "stable noise: |Sigma(w)|_F^2 <= c_1 + c_2 |grad|^2 (default 1)", smgd},
      {"--c-2", "X", "see --c-1 (default 0)", smgd},
      {"--delta-1", "X", "any noise: bias |E m - grad|^2 <= delta_1^2 + delta_2 |grad|^2", smgd},
      {"--delta-2", "X", "see --delta-1", smgd},
      {"--sigma-1", "X", "any noise: variance E|m - E m|^2 <= sigma_1^2 + sigma_2 |grad|^2", smgd},
      {"--sigma-2", "X", "see --sigma-1", smgd},
      {"--epsilon", "X", "error in computing the median, E|e|^2 <= epsilon^2 (default 0)", smgd},
      {"--delta", "X", "lipschitz: bias of a subgradient, |E g - u| <= delta", {"lipschitz"}},
      {"--sigma", "X", "lipschitz: its variance, E|g - E g|^2 <= sigma^2", {"lipschitz"}},
      {"--L", "X", "smooth: smoothness of l", {"smooth"}},
      {"--gap", "X", "smooth: l(w_0) - inf l", {"smooth"}},
      {"--G", "X", "Lipschitz constant of l; spp: of the distance", {"lipschitz", "spp"}},
      {"--D", "X", "|w_0 - w_*|; spp: |m_0 - m_*|", {"lipschitz", "spp"}},
      {"--p", "P", "spp: the distance is |.|_p in dimension d, instead of --G", {"spp"}},
      {"--T", "T", "number of steps", bounds},
      {"--eta", "X", "step size (default: the paper's)", smgd},
      {"--tau", "X", "spp: step size (default: the best one)", {"spp"}}};
  return all;
}

// What an action found: numbers with their meaning, and under which assumptions they hold.
struct Row {
  std::string name;
  Json value;
  std::string meaning;
};
struct Report {
  std::string title;
  std::vector<Row> rows;
  Names assumptions;

  void add(std::string name, double value, std::string meaning = "") {
    rows.push_back({std::move(name), json_number(value), std::move(meaning)});
  }
  void add(std::string name, std::uint64_t value, std::string meaning = "") {
    rows.push_back({std::move(name), Json(value), std::move(meaning)});
  }
  [[nodiscard]] Json json() const {
    Json json = Json::object();
    for (const Row& row : rows) json[row.name] = row.value;
    json["assumptions"] = assumptions;
    return json;
  }
};

// A number as text, a word without its quotation marks.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? number(value.get<double>()) : value.dump();
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string text(const Names& assumptions) {
  std::string text = "\nassumptions:\n";
  for (const std::string& line : assumptions) text += fmt::format("  - {}\n", wrapped(line, 4));
  return text;
}

class Theory final : public Command {
 public:
  std::string_view name() const override { return "theory"; }
  std::string_view summary() const override {
    return "compute moments of sample medians under heavy tails, step sizes, and error bounds";
  }
  std::string_view usage() const override { return "cn|smooth|lipschitz|spp [options]"; }

  void declare(Options& options) override {
    options.argument("ACTION", action_, "what to compute (see below)");
    options.offer("ACTION", {"cn", "smooth", "lipschitz", "spp"});
    for (const Taken& option : taken())
      options.value(option.name, given_[option.name], option.operand, option.help);
    options.flag("--diagonal", diagonal_, "stable noise: Sigma(w) is diagonal, rho_alpha = 1");
    options.offer("--form", {"S0", "S1"});
    options.value("--format", format_, "F", "text (default), json or csv");
    options.offer("--format", {"text", "json", "csv"});
    options.value("--out", out_, "FILE", "write to FILE instead of standard output");
  }

  std::string details() const override {
    return fmt::format(
        "\nactions:\n{}\n{}\n",
        columns({{"cn", "C_n = E M^2 and E|M| of the median M of n standard stable variables"},
                 {"smooth",
                  "median gradient descent on an L-smooth function: bound on min_t "
                  "E|grad l(w_t)|^2. Needs --L, --gap, --T and the noise"},
                 {"lipschitz",
                  "biased subgradient descent on a convex G-Lipschitz function: "
                  "bound on E l(wbar_T) - inf l. Needs --G, --D, --T and the "
                  "noise"},
                 {"spp",
                  "the stochastic proximal point method on phi(m) = E D(m - g): bound on "
                  "E phi(mbar_T) - phi(m_*). Needs --D, --T and --G or --p"}}),
        wrapped(
            "The noise is stable (--alpha, --n, --d, --c-1, --c-2), or anything with a bounded "
            "bias and variance (--delta-1, --delta-2, --sigma-1, --sigma-2), or, for lipschitz, "
            "that of the subgradient itself (--delta, --sigma).",
            0));
  }

  void run(const Common&) override {
    check_word("--format", format_, {"text", "json", "csv"});
    check_taken();
    if (action_ == "cn") return cn();
    const Report report = action_ == "smooth"      ? smooth()
                          : action_ == "lipschitz" ? lipschitz()
                                                   : spp();
    if (format_ == "json") return write(report.json().dump(2) + "\n");
    if (format_ == "csv") {
      std::string lines = "# what,value\n";
      for (const Row& row : report.rows)
        lines += fmt::format("{},{}\n", row.name, plain(row.value));
      return write(lines);
    }
    std::string lines;
    for (const Row& row : report.rows) {
      std::string line =
          fmt::format("  {}{}{}", padded(row.name, 16), padded(plain(row.value), 24), row.meaning);
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + "\n";
    }
    write(fmt::format("{}\n\n{}{}", wrapped(report.title, 0), lines, text(report.assumptions)));
  }

 private:
  void check_taken() const {
    check_action("medgrad theory", action_, {"cn", "smooth", "lipschitz", "spp"});
    for (const Taken& option : taken()) {
      if (has(option.name) && std::ranges::find(option.actions, action_) == option.actions.end())
        throw Error(fmt::format("{} is not an option of theory {}.", option.name, action_));
    }
    if (diagonal_ && !has("--alpha")) throw Error("--diagonal needs --alpha.");
    if (diagonal_ && action_ == "cn") throw Error("--diagonal is not an option of theory cn.");
  }

  [[nodiscard]] bool has(const std::string& name) const { return !given_.at(name).empty(); }
  [[nodiscard]] const std::string& needed(const std::string& name) const {
    if (has(name)) return given_.at(name);
    const auto option = std::ranges::find(taken(), name, &Taken::name);
    throw Error(fmt::format("theory {} needs {} ({}).", action_, name, option->help));
  }
  [[nodiscard]] double number(const std::string& name) const {
    return to_number(name, needed(name));
  }
  [[nodiscard]] double number(const std::string& name, double fallback) const {
    return has(name) ? number(name) : fallback;
  }
  [[nodiscard]] std::optional<double> optional(const std::string& name) const {
    return has(name) ? std::optional(number(name)) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t whole(const std::string& name) const {
    return to_whole_number(name, needed(name), 1);
  }
  void write(const std::string& bytes) const { write_file(out_.empty() ? "-" : out_, bytes); }

  [[nodiscard]] std::vector<std::uint64_t> list_of_n() const;
  void cn() const;
  [[nodiscard]] theory::MedianNoise noise(Report& report) const;
  [[nodiscard]] Report smooth() const;
  [[nodiscard]] Report lipschitz() const;
  [[nodiscard]] Report spp() const;

  std::string action_, format_ = "text", out_;
  bool diagonal_ = false;
  std::map<std::string, std::string, std::less<>> given_;  // stable addresses: options write here
};

std::vector<std::uint64_t> Theory::list_of_n() const {
  std::vector<std::uint64_t> n;
  for (const std::string& one : comma_list("--n", needed("--n")))
    n.push_back(to_whole_number("--n", one, 1));
  return n;
}

void Theory::cn() const {
  StableParameters law{.alpha = number("--alpha"), .beta = number("--beta", 0)};
  if (has("--form")) {
    check_word("--form", given_.at("--form"), {"S0", "S1"});
    law.form = given_.at("--form") == "S1" ? StableForm::S1 : StableForm::S0;
  }
  const std::vector<std::uint64_t> n = list_of_n();
  std::vector<Report> reports;
  for (const theory::MedianMoments& m : theory::median_moments(law, n)) {
    Report& report = reports.emplace_back();
    report.add("alpha", law.alpha);
    report.add("beta", law.beta);
    report.add("n", m.n);
    report.add("C_n", m.C_n);
    report.add("E_abs", m.E_abs);
    report.add("mean", m.mean);
    report.add("variance", m.variance);
    report.add("smallest_n", theory::smallest_n(law.alpha));
    report.add("smallest_n_abs", theory::smallest_n(law.alpha, 1));
    const std::string form = law.beta == 0 ? "" : law.form == StableForm::S1 ? ", S1" : ", S0";
    report.assumptions = {
        "the n variables are independent and have the stable law of index alpha "
        "and skewness beta, scale 1 and location 0" +
            form,
        "n is odd, and M is the middle one of them"};
  }
  if (format_ == "json") {
    Json list = Json::array();
    for (const Report& report : reports) list.push_back(report.json());
    return write((list.size() == 1 ? list[0] : list).dump(2) + "\n");
  }
  constexpr std::size_t kFirst = 2, kLast = 7;  // n ... variance
  std::string lines =
      format_ == "csv"
          ? "# "
          : fmt::format(
                "The median M of n standard stable variables of index {}{}: C_n = E M^2, E_abs = "
                "E|M|.\nC_n is finite from n = {} on, E_abs from n = {} on.\n\n",
                medgrad::number(law.alpha),
                law.beta == 0 ? "" : ", skewness " + medgrad::number(law.beta),
                plain(reports[0].rows[kLast].value), plain(reports[0].rows[kLast + 1].value));
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = kFirst; i < kLast; ++i) {
      std::string field = cell(i);
      if (format_ == "csv") {
        line += (i == kFirst ? "" : ",") + field;
      } else {
        const std::size_t width = i == kFirst ? 10 : 24;
        line += std::string(width - std::min(width - 1, field.size()), ' ') + field;
      }
    }
    lines += line + "\n";
  };
  add_line([&](std::size_t i) { return reports[0].rows[i].name; });
  for (const Report& report : reports)
    add_line([&](std::size_t i) { return plain(report.rows[i].value); });
  write(format_ == "csv" ? lines : lines + text(reports[0].assumptions));
}

theory::MedianNoise Theory::noise(Report& report) const {
  constexpr const char* kAny[] = {"--delta-1", "--delta-2", "--sigma-1", "--sigma-2"};
  constexpr const char* kStable[] = {"--n", "--d", "--c-1", "--c-2"};
  const auto first = [this](const auto& names) -> const char* {
    const auto it = std::ranges::find_if(names, [this](const char* name) { return has(name); });
    return it == std::end(names) ? nullptr : *it;
  };
  const char* const any = first(kAny);
  if (has("--alpha") && any != nullptr) {
    throw Error(fmt::format("--alpha and {} both describe the noise; give only one of them.", any));
  }
  if (has("--alpha")) {
    const theory::StableNoise stable{.alpha = number("--alpha"),
                                     .n = whole("--n"),
                                     .d = has("--d") ? whole("--d") : 1,
                                     .c_1 = number("--c-1", 1),
                                     .c_2 = number("--c-2", 0),
                                     .diagonal = diagonal_};
    const theory::StableNoiseConstants found = theory::median_noise(stable);
    report.add("alpha", stable.alpha);
    report.add("n", stable.n);
    report.add("d", stable.d);
    report.add("c_1", stable.c_1);
    report.add("c_2", stable.c_2);
    report.add("C_n", found.C_n, "E M^2 of the median M of n standard stable variables");
    report.add("rho_alpha", found.rho_alpha,
               diagonal_ ? "1, as Sigma is diagonal" : "d^((2 - alpha)/(2 alpha))");
    report.add("sigma_1", found.median.sigma_1, "sqrt(C_n rho_alpha^2 c_1)");
    report.add("sigma_2", found.median.sigma_2, "C_n rho_alpha^2 c_2");
    report.assumptions.insert(
        report.assumptions.end(),
        {"the n gradients of a step are grad l(w) + Sigma(w) zeta, zeta with independent standard "
         "symmetric stable components, and m is their componentwise median",
         std::string(diagonal_ ? "Sigma(w) is diagonal, and " : "") +
             "|Sigma(w)|_F^2 <= c_1 + c_2 |grad l(w)|^2 for every w"});
    return found.median;
  }
  if (const char* const stable = first(kStable); stable != nullptr)
    throw Error(std::string(stable) + " describes stable noise, which needs --alpha.");
  if (any == nullptr) {
    throw Error(
        fmt::format("theory {} needs the noise: --alpha and --n, or any of --delta-1, --delta-2, "
                    "--sigma-1, --sigma-2{}",
                    action_, action_ == "lipschitz" ? ", or --delta and --sigma." : "."));
  }
  const theory::MedianNoise result{number("--delta-1", 0), number("--delta-2", 0),
                                   number("--sigma-1", 0), number("--sigma-2", 0)};
  report.add("delta_1", result.delta_1);
  report.add("delta_2", result.delta_2);
  report.add("sigma_1", result.sigma_1);
  report.add("sigma_2", result.sigma_2);
  report.assumptions.insert(
      report.assumptions.end(),
      {"the median m of a step's gradients has |E m - grad l(w)|^2 <= delta_1^2 + delta_2 |grad "
       "l(w)|^2 for every w",
       "and E|m - E m|^2 <= sigma_1^2 + sigma_2 |grad l(w)|^2"});
  return result;
}

Report Theory::smooth() const {
  Report report{.title =
                    "Median gradient descent w <- w - eta (m + e) on a smooth function l: "
                    "min_{t<T} E|grad l(w_t)|^2 <= bound.",
                .rows = {},
                .assumptions = {"l is L-smooth, and gap = l(w_0) - inf l is finite"}};
  theory::Smooth problem{.L = number("--L"),
                         .gap = number("--gap"),
                         .epsilon = number("--epsilon", 0),
                         .T = whole("--T"),
                         .eta = optional("--eta")};
  problem.noise = noise(report);
  const theory::SmoothBound found = theory::bound(problem);
  report.add("L", problem.L);
  report.add("gap", problem.gap);
  report.add("epsilon", problem.epsilon);
  report.add("T", problem.T);
  report.add("eta_max", found.eta_max, "1/(8 L (1 + 2 sigma_2 + 2 delta_2))");
  report.add("eta", found.eta, problem.eta ? "as given" : "eta_max/sqrt(T)");
  report.add("start", found.start, "4 gap/(eta T)");
  report.add("spread", found.spread, "8 L eta (epsilon^2 + delta_1^2 + sigma_1^2)");
  report.add("bias", found.bias, "4 (delta_1^2 + epsilon^2)");
  report.add("bound", found.bound, "their sum");
  report.add("eta_best", found.eta_best, "the eta <= eta_max with the smallest bound");
  report.add("bound_best", found.bound_best, "the bound for eta_best");
  report.assumptions.emplace_back("the error e of the median has E|e|^2 <= epsilon^2");
  report.assumptions.emplace_back("eta <= eta_max, and delta_2 <= 1/8");
  return report;
}

Report Theory::lipschitz() const {
  Report report{.title =
                    "Subgradient descent on a convex Lipschitz function l: E l(wbar_T) - inf l "
                    "<= bound, wbar_T = sum_{t<T} theta^t w_t / sum_{t<T} theta^t.",
                .rows = {},
                .assumptions = {"l is convex and G-Lipschitz, with a minimiser w_*, D = |w_0 - "
                                "w_*|"}};
  theory::Lipschitz problem{.G = number("--G"),
                            .D = number("--D"),
                            .delta = number("--delta", 0),
                            .sigma = number("--sigma", 0),
                            .T = whole("--T"),
                            .eta = optional("--eta")};
  if (has("--delta") || has("--sigma")) {
    for (const char* name : {"--alpha", "--n", "--d", "--c-1", "--c-2", "--delta-1", "--delta-2",
                             "--sigma-1", "--sigma-2", "--epsilon"}) {
      if (has(name)) {
        throw Error(fmt::format(
            "--delta and --sigma are the noise of the step itself; {} cannot be given with them.",
            name));
      }
    }
    report.assumptions.emplace_back(
        "a step is w <- w - eta g with |E g - u| <= delta for a "
        "subgradient u, and E|g - E g|^2 <= sigma^2");
  } else {
    const theory::MedianNoise median = noise(report);
    const double epsilon = number("--epsilon", 0);
    const theory::BiasAndSpread step = theory::smgd_noise(median, epsilon, problem.G);
    problem.delta = step.delta;
    problem.sigma = step.sigma;
    report.add("epsilon", epsilon);
    report.assumptions.emplace_back(
        "a step is w <- w - eta (m + e), where the error e of the median has E|e|^2 <= epsilon^2");
  }
  const theory::LipschitzBound found = theory::bound(problem);
  report.add("G", problem.G);
  report.add("D", problem.D);
  report.add("T", problem.T);
  report.add("delta", problem.delta, "bias of a step");
  report.add("sigma", problem.sigma, "standard deviation of a step");
  report.add("theta", found.theta, "T/(T + 2)");
  report.add("weights", found.weights, "sum_{t<T} theta^t");
  report.add("a", found.a, "2 D^2");
  report.add("b", found.b, "(sigma^2 + (delta + G)^2)/2");
  report.add("c", found.c, "delta^2/4");
  report.add("eta", found.eta, problem.eta ? "as given" : "eta_best");
  report.add("bound", found.bound, "a/(eta T) + b eta + c eta T");
  report.add("eta_best", found.eta_best, "the eta with the smallest bound");
  report.add("bound_best", found.bound_best, "2 D sqrt((sigma^2 + (delta + G)^2)/T + delta^2/2)");
  report.add("eta_simple", found.eta_simple, "1/(delta T + sqrt(T))");
  report.add("bound_simple", found.bound_simple,
             "(2 D^2 + sigma^2 + delta^2 + G^2)/sqrt(T) + (2 D^2 + 1) delta");
  return report;
}

Report Theory::spp() const {
  Report report{.title =
                    "The stochastic proximal point method on phi(m) = E D(m - g): E phi(mbar_T) "
                    "- phi(m_*) <= bound, mbar_T = (m_1 + ... + m_T)/T.",
                .rows = {},
                .assumptions = {}};
  if (has("--G") == has("--p"))
    throw Error(
        "theory spp needs either --G, the Lipschitz constant of the distance, or --p, if the "
        "distance is a norm.");
  const double p = number("--p", 0);
  if (has("--p") && !(p >= 1))
    throw Error(fmt::format("--p is {}; it must be 1 or more.", medgrad::number(p)));
  if (has("--d") && !has("--p")) throw Error("--d needs --p.");
  if (has("--n") && p != 1)
    throw Error("--n is only for --p 1; the minima of other distances are not sharp.");
  const std::uint64_t d = has("--d") ? whole("--d") : 1;
  theory::ProximalPointRun run{.G = has("--p") ? theory::norm_ratio(p, d) : number("--G"),
                               .distance = number("--D"),
                               .T = whole("--T"),
                               .tau = optional("--tau")};
  if (has("--n")) run.n = whole("--n");
  const theory::ProximalPointBound found = theory::bound(run);
  if (has("--p")) {
    report.add("p", p);
    report.add("d", d);
  }
  report.add("G", run.G, has("--p") ? "sup |x|_p/|x|_2" : "");
  report.add("D", run.distance, "|m_0 - m_*|_2");
  report.add("T", run.T);
  report.add("tau", found.tau, run.tau ? "as given" : "tau_best");
  report.add("start", found.start, "D^2/(2 tau T)");
  report.add("spread", found.spread, "(1 + 1/T) tau G^2/2");
  report.add("bound", found.bound, "their sum");
  report.add("tau_best", found.tau_best, "D/(G sqrt(T + 1)), with the smallest bound");
  report.add("bound_best", found.bound_best, "D G sqrt(T + 1)/T");
  report.assumptions = {
      "the distance is convex and G-Lipschitz in |.|_2, and phi has a minimiser m_*",
      "the g_t are independent draws of g, and m <- g_t + prox_{tau D}(m - g_t)"};
  if (run.n) {
    report.add("distance_bound", *found.distance_bound, "n bound >= E|mbar_T - argmin phi|_2");
    report.assumptions.emplace_back("g is one of n given vectors, all equally likely");
  }
  return report;
}

}  // namespace

std::unique_ptr<Command> make_theory() { return std::make_unique<Theory>(); }

}  // namespace medgrad::app
