#include "medgrad/noise.h"
#include "parts.h"

namespace medgrad::python {

void add_noises(py::module_& m) {
  // n rows of length d.
  m.def(
      "sample",
      [](const std::string& text, const py::dict& parameters, std::size_t n, std::size_t d,
         std::uint64_t seed, std::uint64_t stream, bool is_double, unsigned threads) -> py::array {
        const MethodText given = named(text, parameters);
        const auto noise = made_of(find_noise(given.name), given.parameters);
        const auto draw = [&]<class T>(py::array_t<T> out) -> py::array {
          const std::span<T> to(out.mutable_data(), n * d);
          {
            const py::gil_scoped_release released;
            const Threads shared(threads);
            sample(noise, to, d, seed, stream, 0, shared.pool());
          }
          return out;
        };
        const py::array::ShapeContainer shape{n, d};
        return is_double ? draw(py::array_t<double>(shape)) : draw(py::array_t<float>(shape));
      });
}

}  // namespace medgrad::python
