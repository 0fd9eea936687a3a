#include <fmt/core.h>

#include <memory>
#include <sstream>
#include <variant>

#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "parts.h"

namespace medgrad::python {
namespace {

// An estimator of either element type.
class Estimator {
  template <class F>
  auto visit(F&& f) const {
    return std::visit([&](const auto& estimator) { return f(*estimator); }, of_);
  }

 public:
  Estimator(const std::string& text, const py::dict& parameters, std::size_t dimension,
            bool is_double, EstimatorOptions options) {
    const OnlineMethod made = online_method(text, parameters);
    if (is_double) {
      of_ = std::make_unique<OnlineEstimator<double>>(made, dimension, options);
    } else {
      of_ = std::make_unique<OnlineEstimator<float>>(made, dimension, options);
    }
  }

  void update(const py::array& g, unsigned threads) {
    visit([&]<class T>(OnlineEstimator<T>& estimator) {
      if (!py::isinstance<py::array_t<T>>(g))
        throw py::type_error("an update must have the type of the estimator.");
      const std::span<const T> x = vector_of<T>(g);
      if (x.size() < kSmall) {
        info_ = estimator.update(x);
        return;
      }
      const py::gil_scoped_release released;
      const Threads shared(threads);
      estimator.use(shared.pool());
      info_ = estimator.update(x);
      estimator.use(nullptr);
    });
  }
  // A view of the estimate: it changes with the next update.
  [[nodiscard]] py::array view(const py::object& self, bool average) const {
    return visit([&]<class T>(OnlineEstimator<T>& estimator) -> py::array {
      const std::span<const T> m = average ? estimator.average() : estimator.estimate();
      py::array_t<T> array(static_cast<py::ssize_t>(m.size()), m.data(), self);
      array.attr("setflags")(py::arg("write") = false);
      return array;
    });
  }
  void reset(const py::array& m) {
    visit([&]<class T>(OnlineEstimator<T>& e) { e.reset(vector_of<T>(m)); });
  }
  void set_tau(double tau) {
    visit([&](auto& e) {
      if (tau_of(e.method()) == 0)
        throw Error(fmt::format("{} has no tau that could be set.", describe(e.method())));
      e.set_tau(tau);
    });
  }
  [[nodiscard]] std::uint64_t steps() const {
    return visit([](auto& e) { return e.steps(); });
  }
  // What set_tau() sets, 0 where there is nothing, and its name.
  [[nodiscard]] double tau() const {
    return visit([](auto& e) { return tau_of(e.method()); });
  }
  [[nodiscard]] const char* tau_name() const {
    return visit([](auto& e) { return is_automatic(e.method()) ? "theta" : "tau"; });
  }
  [[nodiscard]] py::bytes save() const {
    std::ostringstream out;
    visit([&](auto& e) { e.save(out); });
    return py::bytes(out.str());
  }
  void load(const py::bytes& bytes) {
    std::istringstream in{std::string(bytes)};
    visit([&](auto& e) { e.load(in); });
    if (in.peek() != std::istringstream::traits_type::eof())
      throw Error("the saved state is damaged: something comes after its end.");
  }
  [[nodiscard]] py::dict info() const {
    py::dict dict;
    dict["increment_norm"] = info_.increment_norm;
    dict["effective_beta"] = info_.effective_beta;
    dict["clipped_share"] = info_.clipped_share;
    dict["non_finite"] = info_.non_finite;
    dict["tau"] = info_.tau;
    dict["size"] = info_.size;
    return dict;
  }

 private:
  std::variant<std::unique_ptr<OnlineEstimator<float>>, std::unique_ptr<OnlineEstimator<double>>>
      of_;
  StepInfo info_;
};

}  // namespace

void add_estimators(py::module_& m) {
  py::class_<Estimator>(m, "Estimator")
      .def(py::init([](const std::string& method, const py::dict& parameters, std::size_t dimension,
                       bool is_double, bool cold, bool robust, bool average) {
        return Estimator(method, parameters, dimension, is_double,
                         {.start = cold ? Start::cold : Start::warm,
                          .non_finite = robust ? NonFinite::robust : NonFinite::reject,
                          .average = average});
      }))
      .def("update", &Estimator::update)
      .def("reset", &Estimator::reset)
      .def("set_tau", &Estimator::set_tau)
      .def("save", &Estimator::save)
      .def("load", &Estimator::load)
      .def_property_readonly("steps", &Estimator::steps)
      .def_property_readonly("info", &Estimator::info)
      .def_property_readonly("tau", &Estimator::tau)
      .def_property_readonly("tau_name", &Estimator::tau_name)
      .def_property_readonly(
          "estimate",
          [](const py::object& self) { return self.cast<Estimator&>().view(self, false); })
      .def_property_readonly("average", [](const py::object& self) {
        return self.cast<Estimator&>().view(self, true);
      });
}

}  // namespace medgrad::python
