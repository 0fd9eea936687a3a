#include "lab/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "medgrad/noise.h"

namespace medgrad::lab {

NoiseModel read_noise(Reader& reader) {
  const std::string name = reader.text("name", "stable");
  const Node* given = reader.node().find("name");
  const auto& entry = reader.located(
      given != nullptr ? *given : reader.node(), [&]() -> const auto& { return find_noise(name); });
  ParameterValues values = read_given(reader, entry);
  if (const Parameter* const alpha = entry.find("alpha")) {
    if (const Node* const inverse = reader.any("inv_alpha")) {
      const double x = 1 / reader.number("inv_alpha");
      reader.located(*inverse, [&] { alpha->check(x); });
      if (!values.emplace("alpha", x).second)
        reader.fail(*inverse, "'alpha' and 'inv_alpha' both give alpha; give one of them.");
    }
  }
  reader.finish();
  return reader.located(reader.node(), [&] {
    NoiseModel made = entry.make(values);
    check(made);
    return made;
  });
}

Schedule read_schedule(Reader& reader, const std::string& key, const Schedule& fallback,
                       const ScheduleUse& use) {
  const Node* const node = reader.any(key);
  if (node == nullptr) return fallback;
  if (const double* x = node->number()) {
    reader.located(*node, [&] { check(key, *x, use.value); });
    return ConstantSchedule{.value = *x};
  }
  if (node->text() != nullptr) reader.refuse_quoted_number(key, *node);
  const Node object = method_object(*node, reader.file(), "'" + key + "'");
  Reader keys(object, reader.file(), fmt::format("the schedule of '{}'", key));
  // Files from before call it "schedule", or "kind".
  const char* const name_key = object.find("schedule") != nullptr ? "schedule"
                               : object.find("kind") != nullptr   ? "kind"
                                                                  : "name";
  const std::string name = keys.text(name_key);
  const Entry<Schedule> entry =
      keys.located(*object.find(name_key), [&] { return find_schedule(name, use); });
  // Those files have every key, also of schedules that do not use it.
  if (std::string_view(name_key) == "kind")
    for (const char* const unused : {"factor", "every"}) (void)keys.any(unused);
  return read_entry(keys, entry);
}

void MethodNames::add(const Reader& reader, const Node& at, const std::string& label,
                      const Axes& axes) {
  std::pair name(label, axes);
  if (std::ranges::find(names_, name) != names_.end())
    reader.fail(
        at, fmt::format("two methods are called '{}'; give one of them another \"label\".", label));
  names_.push_back(std::move(name));
}

std::uint64_t read_seed(Reader& reader) { return reader.whole("seed", 0, 0, std::size_t{1} << 53); }

std::string read_name(Reader& reader) {
  std::string name = reader.text("experiment");
  const bool plain_name =
      !name.empty() &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
          std::string::npos;
  if (!plain_name) {
    reader.fail(
        *reader.any("experiment"),
        fmt::format(
            "'experiment' is '{}'; it names a folder and may have letters, digits, - and _.",
            name));
  }
  return name;
}

namespace {

// The entry of a table that a key names; nullptr where the key is left out and there is no
// fallback.
template <class Entry>
const Entry* chosen(Reader& reader, std::string_view key, std::string_view fallback,
                    const std::vector<Entry>& table) {
  if (fallback.empty() && reader.any(key) == nullptr) return nullptr;
  std::vector<std::string_view> names;
  names.reserve(table.size());
  for (const Entry& entry : table) names.push_back(entry.name);
  return &*std::ranges::find(table, reader.word(key, names, fallback), &Entry::name);
}

}  // namespace

std::string Study::config(const Experiment& experiment) const {
  return to_text(experiment.document);
}

const Kind* kind_of(const Node& document, const Catalogue& catalogue) {
  const Node* const given = document.find("kind");
  if (given == nullptr) return &catalogue.kinds.front();
  const auto found = given->text() == nullptr
                         ? catalogue.kinds.end()
                         : std::ranges::find(catalogue.kinds, *given->text(), &Kind::name);
  return found == catalogue.kinds.end() ? nullptr : &*found;
}

Experiment read_experiment(Node document, const std::string& file, const Catalogue& catalogue) {
  Experiment experiment{.document = std::move(document),
                        .name = {},
                        .title = {},
                        .description = {},
                        .findings = nullptr,
                        .study = {}};
  Reader reader(experiment.document, file, "the experiment");
  experiment.name = read_name(reader);
  experiment.title = reader.text("title", experiment.name);
  experiment.description = reader.text("description", "");
  const Kind& kind = *chosen(reader, "kind", catalogue.kinds.front().name, catalogue.kinds);
  if (const Findings* findings = chosen(reader, "findings", kind.findings, catalogue.findings))
    experiment.findings = findings->add;
  experiment.study = kind.read(reader);
  return experiment;
}

}  // namespace medgrad::lab
