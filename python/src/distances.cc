#include "medgrad/distance.h"
#include "parts.h"

namespace medgrad::python {
namespace {

// Runs each(row, row of the result) over the rows of a contiguous matrix.
template <class Each>
py::array by_row(const py::array& x, const Each& each) {
  return with_type(x, [&]<class T>(T) -> py::array {
    py::array_t<T> out({x.shape(0), x.shape(1)});
    const Rows<T> rows = rows_of<T>(x);
    T* const to = out.mutable_data();
    const py::gil_scoped_release released;
    for (std::size_t i = 0; i < rows.n(); ++i)
      each(std::span<const T>(rows.row(i), rows.d()), std::span<T>(to + i * rows.d(), rows.d()));
    return out;
  });
}

}  // namespace

void add_distances(py::module_& m) {
  m.def("prox",
        [](const std::string& name, const py::dict& parameters, double tau, const py::array& x) {
          check("tau", tau, range::positive);
          const AnyDistance distance = made_of(find_distance(name), parameters);
          return by_row(x, [&]<class T>(std::span<const T> row, std::span<T> out) {
            distance.prox<T>(tau, row, out);
          });
        });
  m.def("subgradient", [](const std::string& name, const py::dict& parameters, const py::array& x) {
    const AnyDistance distance = made_of(find_distance(name), parameters);
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
