// medgrad._core: the core for Python. What users see is in medgrad/*.py.
#include <fmt/core.h>
#include <pybind11/stl.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/suggest.h"
#include "medgrad/build_info.h"
#include "medgrad/error.h"
#include "medgrad/version.h"
#include "parts.h"

namespace medgrad::python {
namespace {

// Never destroyed: at exit the interpreter may be gone, and after fork() its threads are.
struct Shared {
  std::mutex busy;
  std::unique_ptr<ThreadPool> pool;
  std::atomic<unsigned> threads = 0;
};
Shared* shared = new Shared;  // NOLINT: see above

unsigned effective(unsigned threads) {
  if (threads > 0) return threads;
  static const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned chosen = shared->threads.load();
  return chosen > 0 ? chosen : cores;
}

// Of the bytes of anything with a buffer, but for `size` of them from `at` on.
std::string checksum(const py::buffer& buffer, std::size_t at, std::size_t size) {
  const py::buffer_info info = buffer.request();
  const std::string_view bytes(static_cast<const char*>(info.ptr),
                               static_cast<std::size_t>(info.size * info.itemsize));
  const py::gil_scoped_release released;
  Checksum sum;
  sum.add(bytes.substr(0, at));
  sum.add(bytes.substr(std::min(at + size, bytes.size())));
  return sum.text();
}

}  // namespace

Threads::Threads(unsigned threads) {
  const unsigned wanted = effective(threads);
  if (wanted < 2) return;
  std::unique_lock busy(shared->busy, std::try_to_lock);
  if (!busy.owns_lock()) return;
  if (shared->pool == nullptr || shared->pool->size() != wanted)
    shared->pool = std::make_unique<ThreadPool>(wanted);  // where it fails, the next one may try
  pool_ = shared->pool.get();
  busy.release();  // NOLINT: the destructor gives it back
}

Threads::~Threads() {
  if (pool_ != nullptr) shared->busy.unlock();
}

void set_threads(unsigned threads) { shared->threads = threads; }
unsigned threads() { return effective(0); }
void forget_threads() {
  const unsigned chosen = shared->threads.load();
  shared = new Shared;  // NOLINT: the old one belongs to threads that do not exist here
  shared->threads = chosen;
}

namespace {

// Arrays of one number are numbers; those of several, complex ones and lists are not.
std::string number_text(const std::string& name, py::handle value) {
  if (PyObject* const whole = PyNumber_Index(value.ptr()); whole != nullptr)
    return py::str(py::reinterpret_steal<py::object>(whole));
  PyErr_Clear();
  const double x = PyNumber_Check(value.ptr()) != 0 ? PyFloat_AsDouble(value.ptr()) : -1;
  if (x == -1 && (PyErr_Occurred() != nullptr || PyNumber_Check(value.ptr()) == 0)) {
    PyErr_Clear();
    throw py::type_error(
        fmt::format("{} is {}; it must be a number or text.", name, std::string(py::repr(value))));
  }
  return number(x);
}

}  // namespace

ParameterTexts texts_of(const py::dict& given) {
  ParameterTexts texts;
  for (const auto& [key, value] : given) {
    std::string name = py::str(key);
    std::ranges::replace(name, '_', '-');
    if (value.is_none()) continue;
    if (py::isinstance<py::bool_>(value)) {
      texts[name] = value.cast<bool>() ? "true" : "false";
    } else if (py::isinstance<py::str>(value)) {
      texts[name] = value.cast<std::string>();
    } else {
      texts[name] = number_text(name, value);
    }
  }
  return texts;
}

MethodText named(const std::string& text, const py::dict& parameters) {
  MethodText method = parse_method_text(text);
  for (const auto& [name, value] : texts_of(parameters))
    if (!method.parameters.emplace(name, value).second)
      throw Error(
          fmt::format("'{}' and the argument {} both give {}; give it once.", text, name, name));
  return method;
}

OnlineMethod online_method(const std::string& text, const py::dict& parameters) {
  const MethodText given = named(text, parameters);
  return made_of(find_online_method(given.name), given.parameters);
}

}  // namespace medgrad::python

PYBIND11_MODULE(_core, m) {
  using namespace medgrad::python;
  namespace py = pybind11;
  m.doc() = "The compiled part of medgrad.";
  m.attr("__version__") = medgrad::kVersion;
  // What the command says and ends with exit code 2 is a ValueError here, in the same words.
  py::register_exception_translator(
      [](std::exception_ptr e) {  // NOLINT(performance-unnecessary-value-param): pybind11's type
        try {
          if (e) std::rethrow_exception(e);
        } catch (const medgrad::Error& error) {
          PyErr_SetString(PyExc_ValueError, error.what());
        }
      });
  m.def("set_threads", &set_threads);
  m.def("threads", &threads);
  m.def("forget_threads", &forget_threads);
  m.def("checksum", &checksum);
  // " Did you mean 'x'?" for a name that is a likely slip of the pen, or nothing.
  m.def("suggestion", [](const std::string& name, const std::vector<std::string>& candidates) {
    const std::vector<std::string_view> views(candidates.begin(), candidates.end());
    return medgrad::suggestion(name, views);
  });
  add_rules(m);
  add_attacks(m);
  add_estimators(m);
  add_steps(m);
  add_memory(m);
  add_kept(m);
  add_workers(m);
  add_distances(m);
  add_stable(m);
  add_theory(m);
  add_methods(m);
  add_noises(m);
}
