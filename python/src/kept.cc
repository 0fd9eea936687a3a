// Are the parameters and the memory of an optimiser still those of its last step? Users may put
// others into its groups and into its state; a thousand of them are looked at in microseconds.
#include <cstdint>
#include <vector>

#include "parts.h"

namespace medgrad::python {
namespace {

// Of a tensor: where its memory is. Of anything else, that it is something else.
std::uintptr_t address_of(py::handle tensor) {
  static PyObject* const data_ptr = PyUnicode_InternFromString("data_ptr");
  PyObject* const address = PyObject_CallMethodNoArgs(tensor.ptr(), data_ptr);
  if (address == nullptr) {  // a tensor without memory
    PyErr_Clear();
    return 0;
  }
  return PyLong_AsSize_t(py::reinterpret_steal<py::object>(address).ptr());
}

class Kept {
 public:
  // params: the lists of the groups; state: {parameter: {"m": tensor, "v": tensor, ...}}.
  Kept(const py::list& params, const py::dict& state) {
    for (const py::handle list : params) {
      lists_.emplace_back();
      for (const py::handle w : list)
        lists_.back().push_back(py::reinterpret_borrow<py::object>(w));
    }
    for (const auto& [w, memory] : state) {
      Entry& entry = entries_.emplace_back(py::reinterpret_borrow<py::object>(w),
                                           py::reinterpret_borrow<py::object>(memory));
      for (std::size_t k = 0; k < 2; ++k) {
        entry.tensors[k] = py::reinterpret_borrow<py::object>(found(memory, k));
        entry.at[k] = entry.tensors[k] ? address_of(entry.tensors[k]) : 0;
      }
    }
  }

  [[nodiscard]] bool same(const py::list& params, const py::dict& state) const {
    if (params.size() != lists_.size() || state.size() != entries_.size()) return false;
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      const py::list list = params[k];
      if (list.size() != lists_[k].size()) return false;
      for (std::size_t i = 0; i < lists_[k].size(); ++i)
        if (PyList_GET_ITEM(list.ptr(), static_cast<py::ssize_t>(i)) != lists_[k][i].ptr())
          return false;
    }
    // In the order of the dict, without asking a tensor for its hash.
    std::size_t i = 0;
    for (const auto& [w, memory] : state) {
      const Entry& entry = entries_[i++];
      if (w.ptr() != entry.w.ptr() || memory.ptr() != entry.memory.ptr()) return false;
      for (std::size_t k = 0; k < 2; ++k) {
        const py::handle tensor = found(memory, k);
        if (tensor.ptr() != entry.tensors[k].ptr()) return false;
        if (tensor && address_of(tensor) != entry.at[k]) return false;
      }
    }
    return true;
  }

 private:
  struct Entry {
    py::object w, memory;  // kept, so that nothing else can come to lie where they are
    py::object tensors[2] = {};
    std::uintptr_t at[2] = {};
  };

  // "m" or "v", borrowed; null where there is none.
  static py::handle found(py::handle memory, std::size_t k) {
    static PyObject* const names[] = {PyUnicode_InternFromString("m"),
                                      PyUnicode_InternFromString("v")};
    return PyDict_Check(memory.ptr()) != 0 ? PyDict_GetItemWithError(memory.ptr(), names[k])
                                           : nullptr;
  }

  std::vector<std::vector<py::object>> lists_;
  std::vector<Entry> entries_;
};

}  // namespace

void add_kept(py::module_& m) {
  py::class_<Kept>(m, "Kept")
      .def(py::init<const py::list&, const py::dict&>())
      .def("same", &Kept::same);
}

}  // namespace medgrad::python
