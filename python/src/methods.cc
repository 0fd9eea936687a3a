#include "medgrad/attack.h"
#include "medgrad/noise.h"
#include "medgrad/optimize.h"
#include "medgrad/schedule.h"
#include "medgrad/worker.h"
#include "parts.h"

namespace medgrad::python {
namespace {

py::str text(std::string_view view) { return {view.data(), view.size()}; }

template <class Made>
py::list list_of(std::span<const Entry<Made>> entries) {
  py::list list;
  for (const Entry<Made>& entry : entries) {
    py::dict dict;
    dict["name"] = text(entry.name);
    py::list aliases;
    for (const std::string_view alias : entry.aliases) aliases.append(text(alias));
    dict["aliases"] = aliases;
    dict["formula"] = text(entry.formula);
    dict["meaning"] = text(entry.meaning);
    py::list parameters;
    for (const Parameter& parameter : entry.parameters) {
      py::dict one;
      one["name"] = text(parameter.name);
      one["meaning"] = text(parameter.meaning);
      one["range"] = text(parameter.range_text());
      one["required"] = parameter.required();
      one["default"] = parameter.required() ? py::object(py::none())
                                            : text(parameter.value_text(parameter.fallback));
      parameters.append(one);
    }
    dict["parameters"] = parameters;
    list.append(dict);
  }
  return list;
}

}  // namespace

void add_methods(py::module_& m) {
  // "vclip:tau=0.1" with keyword arguments, as a name and the texts of its parameters.
  m.def("named", [](const std::string& given, const py::dict& parameters) {
    const MethodText method = named(given, parameters);
    py::dict texts;
    for (const auto& [name, value] : method.parameters) texts[text(name)] = text(value);
    return py::make_tuple(method.name, texts);
  });
  m.def("methods", [] {
    py::dict dict;
    dict["distances"] = list_of(distances());
    dict["online"] = list_of(online_methods());
    dict["rules"] = list_of(sample_methods());
    dict["pre_aggregators"] = list_of(pre_aggregators());
    dict["workers"] = list_of(worker_methods());
    dict["attacks"] = list_of(attacks());
    dict["noises"] = list_of(noises());
    dict["optimizers"] = list_of(optimizers());
    dict["schedules"] = list_of(schedules());
    return dict;
  });
}

}  // namespace medgrad::python
