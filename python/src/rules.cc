#include <fmt/core.h>
#include <pybind11/stl.h>

#include <vector>

#include "medgrad/error.h"
#include "medgrad/pre_aggregators.h"
#include "medgrad/sample.h"
#include "parts.h"

namespace medgrad::python {
namespace {

struct Call {
  const py::object &weights, &center;
  const py::object& out;  // where the result goes, or None
  NonFinite non_finite;
  unsigned threads;
  std::uint64_t round;
  bool with_info;
};

// The result, or the result and how it was reached.
template <Real T>
py::object run(const Rule& rule, const Rows<T>& rows, const Call& call) {
  check_center(rule, call.center);
  py::array_t<T> out = call.out.is_none() ? room_for<T>(rows.d()) : call.out.cast<py::array_t<T>>();
  SampleOptions<T> options;
  const Extras<T> extras(call.weights, call.center, options);
  options.non_finite = call.non_finite;
  options.round = call.round;
  options.objective = call.with_info;
  SampleInfo info;
  const std::span<T> result(out.mutable_data(), rows.d());
  if (rows.n() * rows.d() < kSmall) {
    info = aggregate(rule, rows, result, options);
  } else {
    const py::gil_scoped_release released;
    const Threads threads(call.threads);
    options.pool = threads.pool();
    info = aggregate(rule, rows, result, options);
  }
  if (!call.with_info) return out;
  return py::make_tuple(out, info_dict(info));
}

}  // namespace

void check_center(const Rule& rule, const py::object& center) {
  if (!center.is_none() && !takes_center(rule))
    throw Error(fmt::format(
        "{} does not take center; only what clips does: clipped-mean, centered-clipping, clip and "
        "arc.",
        describe(rule)));
}

py::dict info_dict(const SampleInfo& info) {
  py::dict dict;
  dict["iterations"] = info.iterations;
  dict["objective"] = info.objective;
  dict["gap"] = info.gap;
  dict["stop"] = py::str(std::string(name(info.stop)));
  dict["nan"] = info.nan;
  dict["inf"] = info.inf;
  return dict;
}

void add_rules(py::module_& m) {
  py::enum_<NonFinite>(m, "NonFinite")
      .value("reject", NonFinite::reject)
      .value("robust", NonFinite::robust);
  py::class_<Rule>(m, "Rule")
      .def(py::init([](const std::string& text, const py::dict& parameters) {
        const MethodText given = named(text, parameters);
        return made_of(find_rule(given.name), given.parameters);
      }))
      .def("__repr__", [](const Rule& rule) { return describe(rule); });
  // x: (n, d); the result has length d. `out` is None, or an array of the type of x with d entries
  // in one piece, apart from x.
  m.def("aggregate_matrix",
        [](const Rule& rule, const py::array& x, const py::object& weights,
           const py::object& center, const py::object& out, NonFinite non_finite, unsigned threads,
           std::uint64_t round, bool with_info) {
          const Call call{weights, center, out, non_finite, threads, round, with_info};
          return with_type(x, [&]<class T>(T) { return run<T>(rule, rows_of<T>(x), call); });
        });
  // n separate arrays of the same type and size.
  m.def("aggregate_list",
        [](const Rule& rule, const std::vector<py::array>& rows, const py::object& weights,
           const py::object& center, const py::object& out, NonFinite non_finite, unsigned threads,
           std::uint64_t round, bool with_info) {
          const Call call{weights, center, out, non_finite, threads, round, with_info};
          return with_type(rows.at(0), [&]<class T>(T) {
            std::vector<const T*> pointers;
            pointers.reserve(rows.size());
            for (const py::array& row : rows) pointers.push_back(vector_of<T>(row).data());
            const Rows<T> view(pointers, static_cast<std::size_t>(rows[0].size()));
            return run<T>(rule, view, call);
          });
        });
}

}  // namespace medgrad::python
