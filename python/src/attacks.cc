#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "medgrad/attack.h"
#include "medgrad/sample.h"
#include "parts.h"

namespace medgrad::python {
namespace {

struct Call {
  std::size_t f;
  const Rule* against;
  NonFinite non_finite;
  unsigned threads;
  std::uint64_t round;
};

template <Real T>
py::tuple run(const Attack& by, const Rows<T>& honest, const Call& call) {
  const std::size_t rows = rows_sent(by, call.f);
  py::array_t<T> out({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(honest.d())});
  const std::span<T> lies(out.mutable_data(), rows * honest.d());
  AttackOptions<T> options;
  options.against = call.against;
  options.non_finite = call.non_finite;
  options.round = call.round;
  AttackInfo info;
  {
    const py::gil_scoped_release released;
    const Threads threads(call.threads);
    options.pool = threads.pool();
    info = attack<T>(by, honest, call.f, lies, options);
  }
  py::dict dict;
  dict["strength"] = info.strength;
  dict["distance"] = info.distance;
  dict["tried"] = info.tried;
  dict["nan"] = info.nan;
  dict["inf"] = info.inf;
  return py::make_tuple(out, dict);
}

}  // namespace

void add_attacks(py::module_& m) {
  // x: (h, d), the rows of the honest; the result has f rows, or none.
  m.def("attack", [](const std::string& text, const py::dict& parameters, const py::array& x,
                     std::size_t f, const std::optional<std::string>& against, NonFinite non_finite,
                     unsigned threads, std::uint64_t round) {
    const MethodText given = named(text, parameters);
    const Attack by = made_of(find_attack(given.name), given.parameters);
    std::optional<Rule> rule;
    if (against) rule = rule_told(*against, f);
    const Call call{f, rule ? &*rule : nullptr, non_finite, threads, round};
    return with_type(x, [&]<class T>(T) { return run<T>(by, rows_of<T>(x), call); });
  });
}

}  // namespace medgrad::python
