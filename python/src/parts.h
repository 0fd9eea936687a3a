// What the parts of the extension share: arrays in and out, threads, parameters by name.
//
// The Python layer hands over arrays that are float32 or float64 and whose rows are contiguous
// (medgrad/_arrays.py); here they are looked at without a copy. Computing releases the GIL.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <span>
#include <string>

#include "medgrad/estimator.h"
#include "medgrad/registry.h"
#include "medgrad/rows.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"

namespace medgrad::python {

namespace py = pybind11;

// Calls f(T{}) for the element type of an array.
template <class F>
auto with_type(const py::array& x, F&& f) {
  if (py::isinstance<py::array_t<double>>(x)) return f(double{});
  if (py::isinstance<py::array_t<float>>(x)) return f(float{});
  throw py::type_error("an array must have the type float32 or float64.");
}

template <Real T>
[[nodiscard]] std::span<const T> vector_of(const py::array& x) {
  return {static_cast<const T*>(x.data()), static_cast<std::size_t>(x.size())};
}
template <Real T>
[[nodiscard]] std::span<T> writable_of(py::array& x) {
  return {static_cast<T*>(x.mutable_data()), static_cast<std::size_t>(x.size())};
}

// Fewer entries are done before a lock is taken and given back.
inline constexpr std::size_t kSmall = 2048;

// Weights and centre of a call, None where it has none. The arrays live as long as this does.
template <Real T>
class Extras {
 public:
  template <class Options>
  Extras(const py::object& weights, const py::object& center, Options& options) {
    if (!weights.is_none()) {
      weights_ = weights.cast<py::array>();
      options.weights = vector_of<double>(weights_);
    }
    if (!center.is_none()) {
      center_ = center.cast<py::array>();
      options.center = vector_of<T>(center_);
    }
  }

 private:
  py::array weights_, center_;
};

// Rows of a two-dimensional array; each is contiguous.
template <Real T>
[[nodiscard]] Rows<T> rows_of(const py::array& x) {
  const auto n = static_cast<std::size_t>(x.shape(0)), d = static_cast<std::size_t>(x.shape(1));
  const auto stride = static_cast<std::size_t>(x.strides(0)) / sizeof(T);
  return Rows<T>(static_cast<const T*>(x.data()), n, d, n > 1 ? stride : d);
}

// The pool of the process, for as long as a computation takes. One computation at a time has it;
// others that run at the same moment, in other threads of Python, do without: the bits are the
// same. threads = 0 stands for what set_threads() says, 1 for none.
class Threads {
 public:
  explicit Threads(unsigned threads);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  [[nodiscard]] ThreadPool* pool() const { return pool_; }

 private:
  ThreadPool* pool_ = nullptr;
};
void set_threads(unsigned threads);  // 0: as many as the machine has cores
[[nodiscard]] unsigned threads();
// In a child after fork(), which has the pool's memory but none of its threads.
void forget_threads();

// Keyword arguments as the registry's parameters: max_iter is max-iter; numbers, words, "inf".
[[nodiscard]] ParameterTexts texts_of(const py::dict& given);

template <class Made>
[[nodiscard]] Made made_of(const Entry<Made>& entry, const ParameterTexts& given) {
  return entry.make(read_parameters(entry.name, entry.parameters, given));
}

// A method as text, "vclip:tau=0.1", with keyword arguments. Error where both give the same.
[[nodiscard]] MethodText named(const std::string& text, const py::dict& parameters);
[[nodiscard]] OnlineMethod online_method(const std::string& text, const py::dict& parameters);

// Room for a result of some length, whose entries are not set; that of long ones in large pages,
// and again where the last one was that nobody uses any more (memory.cc).
template <Real T>
[[nodiscard]] py::array_t<T> room_for(std::size_t size);

// Error where a centre is given to a rule that has no use for one.
void check_center(const Rule& rule, const py::object& center);

// How an estimate was reached.
[[nodiscard]] py::dict info_dict(const SampleInfo& info);

// What a step saw: (increment_norm, effective_beta, clipped_share, non_finite, tau, size).
[[nodiscard]] py::tuple tuple_of(const StepInfo& info);

// The parts.
void add_rules(py::module_& m);
void add_attacks(py::module_& m);
void add_estimators(py::module_& m);
void add_steps(py::module_& m);
void add_memory(py::module_& m);
void add_kept(py::module_& m);
void add_workers(py::module_& m);
void add_distances(py::module_& m);
void add_stable(py::module_& m);
void add_theory(py::module_& m);
void add_methods(py::module_& m);
void add_noises(py::module_& m);

}  // namespace medgrad::python
