#include "medgrad/theory.h"

#include <pybind11/stl.h>

#include "parts.h"

namespace medgrad::python {

void add_theory(py::module_& m) {
  using namespace theory;
  m.def("C_n", &C_n, py::arg("alpha"), py::arg("n"));
  m.def("E_abs", &E_abs, py::arg("alpha"), py::arg("n"));
  m.def("smallest_n", &smallest_n, py::arg("alpha"), py::arg("order") = 2.0);
  m.def("norm_ratio", &norm_ratio, py::arg("p"), py::arg("d"));
  m.def("rho_alpha", &rho_alpha, py::arg("alpha"), py::arg("d"));
  m.def("median_moments", [](double alpha, double beta, const std::string& form,
                             const std::vector<std::uint64_t>& n) {
    StableParameters law{.alpha = alpha, .beta = beta};
    law.form = form == "S1" ? StableForm::S1 : StableForm::S0;
    py::list list;
    for (const MedianMoments& moments : median_moments(law, n)) {
      py::dict dict;
      dict["n"] = moments.n;
      dict["C_n"] = moments.C_n;
      dict["E_abs"] = moments.E_abs;
      dict["mean"] = moments.mean;
      dict["variance"] = moments.variance;
      list.append(dict);
    }
    return list;
  });
  m.def("smooth", [](double L, double gap, std::uint64_t T, double delta_1, double delta_2,
                     double sigma_1, double sigma_2, double epsilon, std::optional<double> eta) {
    const SmoothBound b = bound(Smooth{.L = L,
                                       .gap = gap,
                                       .noise = {delta_1, delta_2, sigma_1, sigma_2},
                                       .epsilon = epsilon,
                                       .T = T,
                                       .eta = eta});
    py::dict dict;
    dict["eta_max"] = b.eta_max;
    dict["eta"] = b.eta;
    dict["bound"] = b.bound;
    dict["start"] = b.start;
    dict["spread"] = b.spread;
    dict["bias"] = b.bias;
    dict["eta_best"] = b.eta_best;
    dict["bound_best"] = b.bound_best;
    return dict;
  });
  m.def("lipschitz", [](double G, double D, std::uint64_t T, double delta, double sigma,
                        std::optional<double> eta) {
    const LipschitzBound b =
        bound(Lipschitz{.G = G, .D = D, .delta = delta, .sigma = sigma, .T = T, .eta = eta});
    py::dict dict;
    dict["theta"] = b.theta;
    dict["eta"] = b.eta;
    dict["bound"] = b.bound;
    dict["eta_best"] = b.eta_best;
    dict["bound_best"] = b.bound_best;
    dict["eta_simple"] = b.eta_simple;
    dict["bound_simple"] = b.bound_simple;
    return dict;
  });
  m.def("spp", [](double G, double distance, std::uint64_t T, std::optional<double> tau,
                  std::optional<std::uint64_t> n) {
    const ProximalPointBound b =
        bound(ProximalPointRun{.G = G, .distance = distance, .T = T, .tau = tau, .n = n});
    py::dict dict;
    dict["tau"] = b.tau;
    dict["bound"] = b.bound;
    dict["start"] = b.start;
    dict["spread"] = b.spread;
    dict["tau_best"] = b.tau_best;
    dict["bound_best"] = b.bound_best;
    if (b.distance_bound) dict["distance_bound"] = *b.distance_bound;
    return dict;
  });
}

}  // namespace medgrad::python
