// One operation, of which check.py counts the instructions.
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench.h"
#include "medgrad/estimator.h"
#include "medgrad/io.h"
#include "medgrad/optimize.h"
#include "medgrad/registry.h"
#include "medgrad/sample.h"
#include "medgrad/stable.h"
#include "medgrad/stable_fit.h"

namespace medgrad::bench {
namespace {

OnlineMethod online_method(const std::string& text) {
  const MethodText method = parse_method_text(text);
  const Entry<OnlineMethod>& entry = find_online_method(method.name);
  return entry.make(read_parameters(entry.name, entry.parameters, method.parameters));
}

using Run = std::function<void()>;

// A step of an online method, `what`, followed by that of the parameters `w`.
template <class T>
Run step_of(const std::string& what, NonFinite non_finite, const LargeVector<T>& g,
            std::vector<T>& w) {
  return [estimator = OnlineEstimator<T>(online_method(what), w.size(), {.non_finite = non_finite}),
          &g, &w]() mutable {
    estimator.update_and_step(w, 1e-3, std::span<const T>(g.data(), w.size()));
  };
}

// The same with m in bfloat16.
Run narrow_step_of(const std::string& what, const LargeVector<float>& g, std::vector<float>& w) {
  return [method = online_method(what), m = std::vector<BFloat16>(w.size()), size = 0.0,
          workspace = Workspace<float>(), &g, &w]() mutable {
    const NarrowBlock block{m, std::span<const float>(g.data(), w.size()), w, 1e-3};
    narrow_step(method, {&block, 1}, {1, 2}, {}, workspace, &size);
  };
}

template <class T>
Run adaptive_step_of(const LargeVector<T>& g, std::vector<T>& w) {
  return [m = std::vector<T>(w.size()), v = std::vector<T>(w.size()), t = std::uint64_t{0}, &g,
          &w]() mutable {
    const CutBlock<T> block{m, std::span<const T>(g.data(), w.size()), v, w, ++t, 1e-3};
    (void)cut_adaptive_step<T>(median_adam(), {&block, 1});
  };
}

Run stable_function(const std::string& what, const std::vector<double>& x) {
  using Call = std::function<void(const Stable&, std::span<const double>, std::span<double>)>;
  static const std::map<std::string, Call> calls = {
      {"pdf", [](const Stable& law, auto at, auto out) { law.pdf(at, out); }},
      {"cdf", [](const Stable& law, auto at, auto out) { law.cdf(at, out); }},
      {"quantile",
       [](const Stable& law, auto at, auto out) {
         const double count = static_cast<double>(at.size());
         for (std::size_t i = 0; i < at.size(); ++i)
           out[i] = law.quantile((static_cast<double>(i) + 0.5) / count);
       }},
      {"fit", [](const Stable&, auto at, auto) {
         (void)fit_stable(at, {.method = FitMethod::characteristic});
       }}};
  return [law = Stable({1.5, 0.5}), call = calls.at(what), x,
          y = std::vector<double>(x.size())]() mutable { call(law, x, y); };
}

// Rows as CSV, with all the digits of their numbers.
template <class T>
Run reading(const LargeVector<T>& values, std::size_t n, std::size_t d) {
  std::string text;
  for (std::size_t i = 0; i < n * d; ++i) {
    append_number(text, static_cast<double>(values[i]));
    text += (i + 1) % d == 0 ? '\n' : ',';
  }
  return [text, row = std::vector<double>(d)]() mutable {
    RowReader reader("rows", text);
    while (reader.next<double>(row)) {
    }
  };
}

}  // namespace

// What is counted: callgrind knows it by its name.
[[gnu::noinline]] void counted(const Run& run) { run(); }

template <class T>
void count(const std::string& kind, const std::string& what, std::size_t n, std::size_t d) {
  const LargeVector<T> values = make_rows<T>(n, d);
  std::vector<T> out(d);
  Run run;
  if (kind == "step" && what == "median-adam") {
    run = adaptive_step_of<T>(values, out);
  } else if (kind == "step") {
    run = step_of<T>(what, NonFinite::reject, values, out);
  } else if (kind == "robust step") {
    run = step_of<T>(what, NonFinite::robust, values, out);
  } else if (kind == "narrow step") {
    if constexpr (std::is_same_v<T, float>) run = narrow_step_of(what, values, out);
  } else if (kind == "rule") {
    run = [rule = make_rule(what), rows = Rows<T>(values.data(), n, d), &out] {
      (void)aggregate(rule, rows, std::span<T>(out));
    };
  } else if (kind == "stable" && what == "samples") {
    run = [law = Stable({1.5, 0.5}), &out] { law.sample(std::span<T>(out), 1, 2); };
  } else if (kind == "stable") {
    run = stable_function(what, {values.begin(), values.end()});
  } else if (kind == "file") {
    run = reading<T>(values, n, d);
  }
  if (!run) throw std::runtime_error("there is no kind '" + kind + "'");
  run();  // the first call also prepares the state
  counted(run);
}

template void count<float>(const std::string&, const std::string&, std::size_t, std::size_t);
template void count<double>(const std::string&, const std::string&, std::size_t, std::size_t);

}  // namespace medgrad::bench
