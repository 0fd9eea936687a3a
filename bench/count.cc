// One operation, of which check.py counts the instructions.
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "medgrad/estimator.h"
#include "medgrad/registry.h"
#include "medgrad/sample.h"
#include "medgrad/stable.h"

namespace medgrad::bench {
namespace {

OnlineMethod online_method(const std::string& text) {
  const MethodText method = parse_method_text(text);
  const Entry<OnlineMethod>& entry = find_online_method(method.name);
  return entry.make(read_parameters(entry.name, entry.parameters, method.parameters));
}

}  // namespace

// What is counted: callgrind knows it by its name.
[[gnu::noinline]] void counted(const std::function<void()>& run) { run(); }

template <class T>
void count(const std::string& kind, const std::string& what, std::size_t n, std::size_t d) {
  const LargeVector<T> values = make_rows<T>(n, d);
  std::vector<T> out(d);
  std::function<void()> run;
  if (kind == "step") {
    run = [estimator = OnlineEstimator<T>(online_method(what), d), &values, &out]() mutable {
      estimator.update_and_step(out, 1e-3, std::span<const T>(values.data(), out.size()));
    };
  } else if (kind == "rule") {
    run = [rule = make_rule(what), rows = Rows<T>(values.data(), n, d), &out] {
      (void)aggregate(rule, rows, std::span<T>(out));
    };
  } else if (kind == "stable") {
    const std::map<std::string, std::function<void(const Stable&)>> functions = {
        {"samples", [&](const Stable& law) { law.sample(std::span<T>(out), 1, 2); }},
        {"pdf", [&](const Stable& law) {
           const std::vector<double> x(values.begin(), values.end());
           std::vector<double> y(x.size());
           law.pdf(x, y);
         }}};
    run = [law = Stable({1.5, 0.5}), f = functions.at(what)] { f(law); };
  } else {
    throw std::runtime_error("there is no kind '" + kind + "'");
  }
  run();  // the first call also prepares the state
  counted(run);
}

template void count<float>(const std::string&, const std::string&, std::size_t, std::size_t);
template void count<double>(const std::string&, const std::string&, std::size_t, std::size_t);

}  // namespace medgrad::bench
