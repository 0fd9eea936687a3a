#include "medgrad/stable.h"

#include "medgrad/elliptical_density.h"
#include "medgrad/stable_moments.h"
#include "medgrad/stable_score.h"
#include "medgrad/stable_table.h"
#include "medgrad/student_fit.h"
#include "medgrad/tail_summary.h"
#include "parts.h"

namespace medgrad::python {
namespace {

// One number after the other, cut into pieces for the threads.
template <class F>
py::array_t<double> mapped(const py::array& x, unsigned threads, const F& f) {
  py::array_t<double> out(x.size());
  const std::span<const double> in = vector_of<double>(x);
  double* const to = out.mutable_data();
  const py::gil_scoped_release released;
  const Threads shared(in.size() < 32 ? 1 : threads);
  constexpr std::size_t kPiece = 16;
  for_each(shared.pool(), (in.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
    const std::size_t end = std::min(in.size(), (piece + 1) * kPiece);
    for (std::size_t i = piece * kPiece; i < end; ++i) to[i] = f(in[i]);
  });
  return out;
}

using Many = void (Stable::*)(std::span<const double>, std::span<double>, ThreadPool*) const;
using One = double (Stable::*)(double) const;

py::dict dict_of(const StableParameters& p) {
  py::dict dict;
  dict["alpha"] = p.alpha;
  dict["beta"] = p.beta;
  dict["scale"] = p.scale;
  dict["location"] = p.location;
  dict["form"] = p.form == StableForm::S0 ? "S0" : "S1";
  return dict;
}

// -1, 0 and 1: left, both, right.
Tail tail_of(int side) { return side == 0 ? Tail::both : side < 0 ? Tail::left : Tail::right; }

py::tuple tuple_of(const Interval& interval) { return py::make_tuple(interval.low, interval.high); }

py::dict dict_of(const TailIndex& index) {
  py::dict dict;
  dict["alpha"] = index.alpha;
  dict["interval"] = tuple_of(index.interval);
  dict["n"] = index.n;
  dict["k"] = index.k;
  dict["missing"] = index.missing;
  dict["infinite"] = index.infinite;
  dict["clamped"] = index.clamped;
  return dict;
}

py::dict dict_of(const StableFit& fit) {
  py::dict dict = dict_of(fit.parameters);
  py::dict intervals;
  intervals["alpha"] = tuple_of(fit.alpha);
  intervals["beta"] = tuple_of(fit.beta);
  intervals["scale"] = tuple_of(fit.scale);
  intervals["location"] = tuple_of(fit.location);
  dict["intervals"] = intervals;
  py::dict errors;
  errors["alpha"] = fit.errors.alpha;
  errors["beta"] = fit.errors.beta;
  errors["scale"] = fit.errors.scale;
  errors["location"] = fit.errors.location;
  dict["errors"] = errors;
  dict["n"] = fit.n;
  dict["missing"] = fit.missing;
  dict["infinite"] = fit.infinite;
  return dict;
}

py::dict dict_of(const Peaks& peaks) {
  py::dict dict;
  dict["k"] = peaks.k;
  dict["threshold"] = peaks.threshold;
  dict["p_value"] = peaks.pareto.p_value;
  dict["xi"] = peaks.pareto.xi;
  dict["interval"] = tuple_of(peaks.pareto.xi_interval);
  const auto put = [&](const char* estimator, const TailShape& shape) {
    py::dict one;
    one["xi"] = shape.xi;
    one["interval"] = tuple_of(shape.interval);
    dict[estimator] = one;
  };
  put("moment", peaks.moment);
  put("hill", peaks.hill);
  return dict;
}

py::dict dict_of(const TailSummary& summary) {
  py::dict dict;
  const auto put = [&](const char* name, const auto& found, const std::string& error) {
    if (found) {
      dict[name] = dict_of(*found);
    } else {
      dict[name] = py::str(error);
    }
  };
  put("quantiles", summary.quantiles, summary.quantiles_error);
  put("hill", summary.hill, summary.hill_error);
  put("log_moment", summary.log_moment, summary.log_moment_error);
  const TailVerdict v = summary.judged.value_or(TailVerdict{});
  const Efficiency& e = v.efficiency;
  const auto known = [&](double value) {
    return e.spread > 0 ? value : std::numeric_limits<double>::quiet_NaN();
  };
  dict["tail_index"] = summary.judged ? v.index : known(0);
  dict["interval"] = tuple_of(summary.judged ? v.index_interval : Interval{0, Peaks::kInfinite});
  dict["infinite_variance"] = std::string(name(v.infinite_variance));
  dict["stable_fits"] = v.stable_fits();
  // Those whose alpha is not one, as no stable law describes the data.
  py::list no_tail_index;
  if (!v.stable_fits()) {
    no_tail_index.append("quantiles");
    no_tail_index.append("log_moment");
  }
  dict["no_tail_index"] = no_tail_index;
  dict["p_value"] = v.p_value();
  dict["advice"] = std::string(name(v.advice));
  dict["bias"] = known(e.bias);
  dict["skewed"] = e.skewed;
  py::dict errors;
  errors["mean"] = known(e.mean);
  errors["median"] = known(e.median);
  errors["huber"] = known(e.huber);
  if (!std::isnan(e.geometric)) {
    errors["geometric_median"] = e.geometric;
    dict["better_median"] = e.geometric < e.median ? "geometric" : "componentwise";
  }
  dict["mean_squared_errors"] = errors;
  py::dict tails;
  const auto tail = [&](const char* which, const std::optional<Peaks>& peaks) {
    if (peaks) tails[which] = dict_of(*peaks);
  };
  tail("left", v.left);
  tail("right", v.right);
  tail("both", v.both);
  if (summary.directions) tail("directions", summary.directions->both);
  tail("norms", summary.norms);
  tail("scaled_norms", summary.scaled_norms);
  dict["tails"] = tails;
  if (!summary.components.empty()) {
    py::list components;
    for (const ComponentTail& c : summary.components) {
      py::dict one;
      one["index"] = c.place;
      one["xi"] = c.tail.pareto.xi;
      one["interval"] = tuple_of(c.tail.pareto.xi_interval);
      one["k"] = c.tail.k;
      components.append(one);
    }
    dict["components"] = components;
  }
  dict["verdict"] = summary.verdict();
  return dict;
}

}  // namespace

void add_stable(py::module_& m) {
  py::class_<Stable> stable(m, "Stable");
  stable
      .def(py::init([](double alpha, double beta, double scale, double location,
                       const std::string& form) {
        py::dict given;
        given["alpha"] = alpha;
        given["beta"] = beta;
        given["scale"] = scale;
        given["location"] = location;
        given["form"] = form;
        const auto parameters = parameters_of<StableParameters>();
        const ParameterValues values =
            complete("stable", parameters, read_parameters("stable", parameters, texts_of(given)));
        return Stable(with_values(StableParameters{}, values));
      }))
      .def_property_readonly("parameters",
                             [](const Stable& law) { return dict_of(law.parameters()); })
      .def("support", [](const Stable& law) { return py::make_tuple(law.lower(), law.upper()); })
      .def("converted",
           [](const Stable& law, const std::string& form) {
             return dict_of(
                 convert(law.parameters(), form == "S0" ? StableForm::S0 : StableForm::S1));
           })
      .def("rvs",
           [](const Stable& law, std::size_t size, std::uint64_t seed, std::uint64_t stream,
              std::uint64_t first, bool is_double, unsigned threads) -> py::array {
             const auto draw = [&]<class T>(py::array_t<T> out) -> py::array {
               const std::span<T> to(out.mutable_data(), size);
               {
                 const py::gil_scoped_release released;
                 const Threads shared(threads);
                 law.sample(to, seed, stream, first, shared.pool());
               }
               return out;
             };
             const auto length = static_cast<py::ssize_t>(size);
             return is_double ? draw(py::array_t<double>(length))
                              : draw(py::array_t<float>(length));
           });
  for (const auto& [name, function] : {std::pair<const char*, Many>{"pdf", &Stable::pdf},
                                       std::pair<const char*, Many>{"cdf", &Stable::cdf}}) {
    stable.def(name,
               [function = function](const Stable& law, const py::array& x, unsigned threads) {
                 py::array_t<double> out(x.size());
                 const std::span<const double> in = vector_of<double>(x);
                 const std::span<double> to(out.mutable_data(), in.size());
                 const py::gil_scoped_release released;
                 const Threads shared(threads);
                 (law.*function)(in, to, shared.pool());
                 return out;
               });
  }
  for (const auto& [name, function] :
       {std::pair<const char*, One>{"logpdf", &Stable::log_pdf},
        std::pair<const char*, One>{"sf", &Stable::survival},
        std::pair<const char*, One>{"ppf", &Stable::quantile},
        std::pair<const char*, One>{"isf", &Stable::survival_quantile}}) {
    stable.def(name, [function = function](const Stable& law, const py::array& x,
                                           unsigned threads) {
      return mapped(x, threads, [&](double v) { return std::isnan(v) ? v : (law.*function)(v); });
    });
  }
  m.def("fit_stable", [](const py::array& x, const std::string& method, bool profile) {
    const StableFitOptions options{.method = fit_method(method), .profile = profile};
    const py::gil_scoped_release released;
    StableFit fit = fit_stable(vector_of<double>(x), options);
    const py::gil_scoped_acquire held;
    return dict_of(fit);
  });
  // Seven rows: log f, d/dx, d2/dx2, and by alpha, beta, scale, location.
  m.def("scores", [](const Stable& law, const py::array& x, unsigned threads) {
    const std::span<const double> in = vector_of<double>(x);
    py::array_t<double> out({py::ssize_t{7}, static_cast<py::ssize_t>(in.size())});
    double* const to = out.mutable_data();
    const py::gil_scoped_release released;
    const Threads shared(in.size() < 8 ? 1 : threads);
    std::vector<StableScores> found(in.size());
    StableScore(law.parameters())(in, found, shared.pool());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const StableScores& s = found[i];
      const double values[] = {s.log_pdf, s.x, s.xx, s.alpha, s.beta, s.scale, s.location};
      for (std::size_t k = 0; k < 7; ++k) to[k * in.size() + i] = values[k];
    }
    return out;
  });
  m.def("fit_student", [](const py::array& x) {
    StudentFit fit;
    {
      const py::gil_scoped_release released;
      fit = fit_student(vector_of<double>(x));
    }
    py::dict dict, intervals, errors;
    dict["degrees"] = fit.degrees;
    dict["scale"] = fit.scale;
    dict["location"] = fit.location;
    intervals["degrees"] = tuple_of(fit.degrees_interval);
    intervals["scale"] = tuple_of(fit.scale_interval);
    intervals["location"] = tuple_of(fit.location_interval);
    errors["inverse_degrees"] = fit.errors.inverse_degrees;
    errors["scale"] = fit.errors.scale;
    errors["location"] = fit.errors.location;
    dict["intervals"] = intervals;
    dict["errors"] = errors;
    dict["log_likelihood"] = fit.log_likelihood;
    dict["n"] = fit.n;
    return dict;
  });
  m.def("fit_elliptical", [](const py::array& x) {
    return with_type(x, [&]<class T>(T) {
      EllipticalFit fit;
      {
        const py::gil_scoped_release released;
        fit = fit_elliptical(rows_of<T>(x));
      }
      const auto d = static_cast<py::ssize_t>(fit.d);
      py::array_t<double> location(d), shape({d, d});
      std::copy(fit.location.begin(), fit.location.end(), location.mutable_data());
      std::copy(fit.shape.begin(), fit.shape.end(), shape.mutable_data());
      py::dict dict;
      dict["alpha"] = fit.alpha;
      dict["interval"] = tuple_of(fit.alpha_interval);
      dict["error"] = fit.alpha_error;
      dict["location"] = location;
      dict["shape"] = shape;
      dict["unit"] = fit.unit;
      dict["n"] = fit.n;
      dict["left_out"] = fit.left_out;
      return dict;
    });
  });
  m.def("elliptical_logpdf",
        [](double alpha, const py::array& location, const py::array& shape, const py::array& x) {
          const EllipticalDensity law(alpha, vector_of<double>(location), vector_of<double>(shape));
          const Rows<double> rows = rows_of<double>(x);
          py::array_t<double> out(static_cast<py::ssize_t>(rows.n()));
          double* const to = out.mutable_data();
          const py::gil_scoped_release released;
          for (std::size_t i = 0; i < rows.n(); ++i)
            to[i] = law.log_pdf(std::span<const double>(rows.row(i), rows.d()));
          return out;
        });
  m.def("fit_generalised_pareto", [](const py::array& x) {
    const GeneralisedParetoFit fit = fit_generalised_pareto(vector_of<double>(x));
    py::dict dict, intervals;
    dict["xi"] = fit.xi;
    dict["sigma"] = fit.sigma;
    intervals["xi"] = tuple_of(fit.xi_interval);
    intervals["sigma"] = tuple_of(fit.sigma_interval);
    dict["intervals"] = intervals;
    dict["log_likelihood"] = fit.log_likelihood;
    dict["p_value"] = fit.p_value;
    dict["n"] = fit.n;
    return dict;
  });
  m.def("tail_moment", [](const Stable& law, const py::array& q, double p, int side) {
    return mapped(q, 0, [&](double at) { return tail_moment(law, at, p, tail_of(side)); });
  });
  m.def("expected_shortfall", [](const Stable& law, const py::array& q, int side) {
    return mapped(q, 0, [&](double at) { return expected_shortfall(law, at, tail_of(side)); });
  });
  m.def("absolute_moment", [](const Stable& law, double p) { return absolute_moment(law, p); });
  m.def("table", [](const Stable& law, const py::array& x, double tolerance, bool logarithm,
                    unsigned threads) {
    py::array_t<double> out(x.size());
    const std::span<const double> in = vector_of<double>(x);
    const std::span<double> to(out.mutable_data(), in.size());
    const py::gil_scoped_release released;
    const Threads shared(threads);
    const StableTable table(law.parameters(), tolerance);
    if (logarithm) {
      table.log_pdf(in, to, shared.pool());
    } else {
      table.pdf(in, to, shared.pool());
    }
    return out;
  });
  m.def("tail_summary", [](const py::array& x, std::size_t batch, std::size_t bootstrap,
                           unsigned threads) {
    const py::gil_scoped_release released;
    const Threads shared(bootstrap == 0 ? 1 : threads);
    const VerdictOptions options{.batch = batch, .bootstrap = bootstrap, .pool = shared.pool()};
    TailSummary summary = tail_summary(vector_of<double>(x), options);
    const py::gil_scoped_acquire held;
    return dict_of(summary);
  });
  m.def("hill_of_right_tail", [](const py::array& x) {
    return dict_of(hill(vector_of<double>(x), {.tail = Tail::right}));
  });
  m.def(
      "tail_summary_rows",
      [](const py::array& x, std::size_t batch) {
        return with_type(x, [&]<class T>(T) {
          TailSummary summary;
          {
            const py::gil_scoped_release released;
            summary = tail_summary(rows_of<T>(x), {}, {.verdict = {.batch = batch}});
          }
          return dict_of(summary);
        });
      },
      py::arg("x"), py::arg("batch") = VerdictOptions{}.batch);
}

}  // namespace medgrad::python
