#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "medgrad/distance.h"
#include "medgrad/error.h"
#include "parts.h"

namespace medgrad::python {
namespace {

template <Real T>
void refuse_non_finite(std::span<const T> row, std::size_t i, std::size_t n) {
  const auto bad = std::ranges::find_if_not(row, [](T x) { return std::isfinite(x); });
  if (bad == row.end()) return;
  throw Error(fmt::format("{}component {} is {}; it must be finite.",
                          n > 1 ? fmt::format("row {}, ", i + 1) : "", bad - row.begin() + 1,
                          number(static_cast<double>(*bad))));
}

// Runs each(row, row of the result) over the rows of a contiguous matrix.
template <class Each>
py::array by_row(const py::array& x, const Each& each) {
  return with_type(x, [&]<class T>(T) -> py::array {
    py::array_t<T> out({x.shape(0), x.shape(1)});
    const Rows<T> rows = rows_of<T>(x);
    T* const to = out.mutable_data();
    const py::gil_scoped_release released;
    for (std::size_t i = 0; i < rows.n(); ++i) {
      const std::span<const T> row(rows.row(i), rows.d());
      refuse_non_finite(row, i, rows.n());
      each(row, std::span<T>(to + i * rows.d(), rows.d()));
    }
    return out;
  });
}

AnyDistance distance_of(const std::string& text, const py::dict& parameters) {
  const MethodText given = named(text, parameters);
  return made_of(find_distance(given.name), given.parameters);
}

}  // namespace

void add_distances(py::module_& m) {
  m.def("prox",
        [](const std::string& text, const py::dict& parameters, double tau, const py::array& x) {
          check("tau", tau, range::positive);
          const AnyDistance distance = distance_of(text, parameters);
          return by_row(x, [&]<class T>(std::span<const T> row, std::span<T> out) {
            distance.prox<T>(tau, row, out);
          });
        });
  m.def("subgradient", [](const std::string& text, const py::dict& parameters, const py::array& x) {
    const AnyDistance distance = distance_of(text, parameters);
    return by_row(x, [&]<class T>(std::span<const T> row, std::span<T> out) {
      distance.subgradient<T>(row, out);
    });
  });
  m.def("project", [](double q, double radius, const py::array& x) {
    check("q", q, range::exponent);
    check("radius", radius, range::non_negative);
    return by_row(x, [&]<class T>(std::span<const T> row, std::span<T> out) {
      project_ball<T>(q, radius, row, out);
    });
  });
}

}  // namespace medgrad::python
