// The step of an optimiser on tensors of PyTorch, which is not linked: where their memory is, they
// say themselves, through the methods that they have in every version.
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "medgrad/estimator.h"
#include "medgrad/large_vector.h"
#include "medgrad/optimize.h"
#include "parts.h"

namespace medgrad::python {
namespace {

// Names of attributes, made once.
struct Words {
  py::str grad = intern("grad"), data_ptr = intern("data_ptr"), numel = intern("numel"),
          dtype = intern("dtype"), is_cpu = intern("is_cpu"),
          is_contiguous = intern("is_contiguous"), stride = intern("stride");
  static py::str intern(const char* text) {
    return py::reinterpret_steal<py::str>(PyUnicode_InternFromString(text));
  }
};
const Words& words() {
  static const auto* const kept = new Words;  // the interpreter may be gone before it would be
  return *kept;
}

py::object get(py::handle of, const py::str& name) {
  PyObject* const found = PyObject_GetAttr(of.ptr(), name.ptr());
  if (found == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(found);
}
py::object call(py::handle of, const py::str& name) {
  PyObject* const found = PyObject_CallMethodNoArgs(of.ptr(), name.ptr());
  if (found == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(found);
}
std::uintptr_t address_of(py::handle tensor) {
  return PyLong_AsSize_t(call(tensor, words().data_ptr).ptr());
}

// pybind11 would take the variant itself apart.
struct Online {
  OnlineMethod method;
};

// How w follows m in a group: see Block in estimator.h.
using Rates = std::array<double, 3>;  // eta, shrink, decay

// Tensors that are one vector: dense, on the CPU, of one type, each with a gradient and an m that
// are laid out as it is.
class Unit {
 public:
  struct Slot {
    py::object w;
    py::object strides;  // None for contiguous ones
    py::object g = {};   // from locate() to forget(), so that nobody can free it meanwhile
    std::uintptr_t w_at = 0, g_at = 0, m_at = 0, v_at = 0;
    std::size_t size = 0, group = 0;
  };

  Unit(py::object tensor_type, py::object dtype, bool is_double)
      : tensor_type_(std::move(tensor_type)), dtype_(std::move(dtype)), is_double_(is_double) {}

  void add(py::object w, py::object strides, std::uintptr_t m, std::uintptr_t v,
           std::size_t group) {
    Slot slot{std::move(w), std::move(strides)};
    slot.w_at = address_of(slot.w);
    slot.size = PyLong_AsSize_t(call(slot.w, words().numel).ptr());
    slot.m_at = m;
    slot.v_at = v;
    slot.group = group;
    total_ += slot.size;
    slots_.push_back(std::move(slot));
  }

  // Finds the gradients. False where something is no longer as it was when the unit was made:
  // another place, type or layout, or no gradient.
  bool locate() {
    try {
      for (Slot& slot : slots_) {
        slot.g = get(slot.w, words().grad);
        const py::object& g = slot.g;
        if (reinterpret_cast<PyObject*>(Py_TYPE(g.ptr())) != tensor_type_.ptr()) return false;
        slot.g_at = address_of(g);
        if (address_of(slot.w) != slot.w_at || get(g, words().dtype).ptr() != dtype_.ptr() ||
            get(g, words().is_cpu).ptr() != Py_True ||
            PyLong_AsSize_t(call(g, words().numel).ptr()) != slot.size)
          return false;
        if (slot.strides.is_none()) {
          if (call(g, words().is_contiguous).ptr() != Py_True) return false;
        } else if (!call(g, words().stride).equal(slot.strides)) {
          return false;
        }
      }
    } catch (const py::error_already_set&) {  // a tensor without memory
      return false;
    }
    return true;
  }

  void forget() {
    for (Slot& slot : slots_) slot.g = py::object();
  }

  // The step of m and, unless it is kept, of w. What it saw as a tuple, or where a component is not
  // finite, its index, with nothing changed.
  // `size` is the S of tau = auto before the step; that after it is the last of the tuple.
  py::object step(const Online& online, const std::vector<Rates>& groups, bool cold, bool robust,
                  bool keeps_w, unsigned threads, double size) {
    StepOptions options{cold ? Start::cold : Start::warm,
                        robust ? NonFinite::robust : NonFinite::reject};
    return seen(threads, [&](ThreadPool* pool) {
      options.pool = pool;
      return is_double_ ? step_of(online.method, groups, options, keeps_w, doubles_, size)
                        : step_of(online.method, groups, options, keeps_w, floats_, size);
    });
  }

  // All of an adaptive step that cuts; the result is that of step(). `steps`: as for adapt().
  py::object cut(const AdaptiveGradient& method, const std::vector<std::uint64_t>& steps,
                 const std::vector<Rates>& groups, bool robust, unsigned threads) {
    StepOptions options{Start::warm, robust ? NonFinite::robust : NonFinite::reject};
    return seen(threads, [&](ThreadPool* pool) {
      options.pool = pool;
      return is_double_ ? cut_of<double>(method, steps, groups, options)
                        : cut_of<float>(method, steps, groups, options);
    });
  }

  // v and w of Adam's step, after m's. `steps`: which step it is, for every slot.
  void adapt(const AdaptiveGradient& method, const std::vector<std::uint64_t>& steps,
             const std::vector<Rates>& groups, unsigned threads) {
    with_pool(threads, [&](ThreadPool* pool) {
      if (is_double_) {
        adapt_of<double>(method, steps, groups, pool);
      } else {
        adapt_of<float>(method, steps, groups, pool);
      }
    });
  }

 private:
  template <class F>
  void with_pool(unsigned threads, const F& f) const {
    if (total_ < kSmall) return f(nullptr);
    const py::gil_scoped_release released;
    const Threads shared(threads);
    f(shared.pool());
  }

  // What a step saw, or where a component was that it refused.
  template <class F>
  py::object seen(unsigned threads, const F& take) const {
    StepInfo info;
    try {
      with_pool(threads, [&](ThreadPool* pool) { info = take(pool); });
    } catch (const NonFiniteInput& input) {
      return py::int_(input.index());
    }
    return tuple_of(info);
  }

  template <Real T>
  static std::span<T> at(std::uintptr_t address, std::size_t size) {
    return {reinterpret_cast<T*>(address), size};  // NOLINT: that is what data_ptr() is for
  }

  template <Real T>
  StepInfo step_of(const OnlineMethod& method, const std::vector<Rates>& groups,
                   const StepOptions& options, bool keeps_w, Workspace<T>& workspace,
                   double& size) const {
    validate<T>(method);
    std::vector<Block<T>> blocks;
    blocks.reserve(slots_.size());
    for (const Slot& slot : slots_) {
      const auto& [eta, shrink, decay] = groups.at(slot.group);
      blocks.push_back({at<T>(slot.m_at, slot.size), at<T>(slot.g_at, slot.size),
                        at<T>(slot.w_at, slot.size), keeps_w ? 0 : eta, keeps_w ? 1 : shrink,
                        decay});
    }
    return medgrad::step<T>(method, blocks, options, workspace, &size);
  }

  template <Real T>
  StepInfo cut_of(const AdaptiveGradient& method, const std::vector<std::uint64_t>& steps,
                  const std::vector<Rates>& groups, const StepOptions& options) const {
    std::vector<CutBlock<T>> blocks;
    blocks.reserve(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      const auto& [eta, shrink, decay] = groups.at(slot.group);
      blocks.push_back({at<T>(slot.m_at, slot.size), at<T>(slot.g_at, slot.size),
                        at<T>(slot.v_at, slot.size), at<T>(slot.w_at, slot.size), steps.at(i), eta,
                        shrink, decay});
    }
    return cut_adaptive_step<T>(method, blocks, options);
  }

  // Parameters that came later count their own steps: one call for each run of equal counts.
  template <Real T>
  void adapt_of(const AdaptiveGradient& method, const std::vector<std::uint64_t>& steps,
                const std::vector<Rates>& groups, ThreadPool* pool) const {
    std::vector<AdaptiveBlock<T>> blocks;
    for (std::size_t i = 0; i < slots_.size();) {
      const std::uint64_t t = steps.at(i);
      blocks.clear();
      for (; i < slots_.size() && steps.at(i) == t; ++i) {
        const Slot& slot = slots_[i];
        const auto& [eta, shrink, decay] = groups.at(slot.group);
        blocks.push_back({at<T>(slot.m_at, slot.size), at<T>(slot.g_at, slot.size),
                          at<T>(slot.v_at, slot.size), at<T>(slot.w_at, slot.size), eta, shrink,
                          decay});
      }
      adaptive_step<T>(method, t, blocks, pool);
    }
  }

  py::object tensor_type_, dtype_;
  bool is_double_;
  std::vector<Slot> slots_;
  std::size_t total_ = 0;
  Workspace<float> floats_;
  Workspace<double> doubles_;
};

// What a method is made of, for those who write its step in operations of their own.
py::dict parts_of(const OnlineMethod& method) {
  py::dict dict;
  const auto distance = [&](const AnyDistance& of) {
    dict["distance"] = std::string(of.name());
    if (const auto* lp = std::get_if<Lp>(&of.variant())) dict["p"] = lp->p();
    if (const auto* huber = std::get_if<Huber>(&of.variant())) dict["mu"] = huber->mu();
  };
  if (const auto* prox = std::get_if<ProximalPoint>(&method)) {
    dict["step"] = "prox";
    if (is_automatic(method)) {
      dict["theta"] = prox->automatic.theta;
      dict["level"] = prox->automatic.level;
      dict["rate"] = prox->automatic.rate;
    } else {
      dict["tau"] = prox->tau;
    }
    distance(prox->distance);
  } else if (const auto* sub = std::get_if<Subgradient>(&method)) {
    dict["step"] = "subgradient";
    dict["tau"] = sub->tau;
    distance(sub->distance);
  } else {
    const auto& clipped = std::get<ClippedMean>(method);
    dict["step"] = "clipped-mean";
    dict["beta"] = clipped.beta;
    dict["clip"] = clipped.clip;
  }
  return dict;
}

}  // namespace

py::tuple tuple_of(const StepInfo& info) {
  return py::make_tuple(info.increment_norm, info.effective_beta, info.clipped_share,
                        info.non_finite, info.tau, info.size);
}

void add_steps(py::module_& m) {
  py::class_<Online>(m, "OnlineMethod")
      .def(py::init([](const std::string& text, const py::dict& parameters) {
        return Online{online_method(text, parameters)};
      }))
      .def_property_readonly("tau", [](const Online& online) { return tau_of(online.method); })
      .def_property_readonly("line", [](const Online& online) { return state_line(online.method); })
      .def_property_readonly("parts", [](const Online& online) { return parts_of(online.method); })
      .def("__repr__", [](const Online& online) { return describe(online.method); });
  py::class_<AdaptiveGradient>(m, "AdaptiveGradient")
      .def(py::init([](const Online& first, double beta1, double beta2, double epsilon) {
        AdaptiveGradient method{first.method, beta1, beta2, epsilon};
        validate(GradientMethod(method));
        return method;
      }))
      // One of the registry's: adam, median-adam, cclip-adam.
      .def(py::init([](const std::string& text, const py::dict& parameters) {
        const MethodText given = named(text, parameters);
        return std::get<AdaptiveGradient>(made_of(find_optimizer(given.name), given.parameters));
      }))
      .def_property_readonly("first", [](const AdaptiveGradient& a) { return Online{a.first}; })
      .def_readonly("beta1", &AdaptiveGradient::beta1)
      .def_readonly("beta2", &AdaptiveGradient::beta2)
      .def_readonly("epsilon", &AdaptiveGradient::epsilon)
      .def_readonly("cut", &AdaptiveGradient::cut)
      .def_property_readonly("cuts", &AdaptiveGradient::cuts);
  py::class_<Unit>(m, "Unit")
      .def(py::init<py::object, py::object, bool>())
      .def("add", &Unit::add)
      .def("locate", &Unit::locate)
      .def("forget", &Unit::forget)
      .def("step", &Unit::step)
      .def("cut", &Unit::cut)
      .def("adapt", &Unit::adapt);
}

}  // namespace medgrad::python
