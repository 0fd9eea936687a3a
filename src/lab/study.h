// A study is the work of an experiment: it measures, can be stopped and goes on where it was, and
// makes results of what it measured. There is one kind of study per "kind" of the files.
//
// Most are cut into tasks that know nothing of each other (TaskStudy). A task gives numbers, and
// always the same ones: tasks can run in any order, on any thread, be written down and read again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/reader.h"
#include "lab/results.h"
#include "medgrad/schedule.h"
#include "medgrad/thread_pool.h"

namespace medgrad::lab {

struct Experiment;

// Where and how a study runs; none of it changes a number.
struct StudyContext {
  ThreadPool* pool = nullptr;
  // A file or folder of the study's own, for what is to survive being stopped. Empty: nothing is.
  std::filesystem::path work = {};
  std::size_t memory = std::size_t{5} << 29;  // 2.5 GiB, for what need not be computed again
  std::function<void(double)> progress = {};  // the share that is done, from any thread
  const std::atomic<bool>* stop = nullptr;    // once it is set, run() throws Interrupted

  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->load(); }
};

// Thrown by a study that was stopped. `kept` says how far it was: "3 of 5 parts are done".
struct Interrupted {
  std::string kept = {};
};

// An experiment that has been run, by whomever.
struct Finished {
  Results results;
  std::string config;  // config.json: everything the results depend on
};

class Study {
 public:
  virtual ~Study() = default;
  // config.json, but for what running it adds for people.
  [[nodiscard]] virtual std::string config(const Experiment& experiment) const;
  // How long it takes beside others, for a progress bar about several.
  [[nodiscard]] virtual double weight() const { return 1; }
  // Does any of its noise lack a variance? Then medians over the runs are drawn rather than means.
  [[nodiscard]] virtual bool has_heavy_tails() const { return false; }
  // Throws Error where data that it needs is missing, and reads none.
  virtual void require_data() const {}
  // Measures. What it gives makes results of that, but for the findings; it can be called on any
  // thread, beside those of other studies, while the study and the experiment live.
  using Collect = std::function<Finished()>;
  [[nodiscard]] virtual Collect run(const Experiment& experiment,
                                    const StudyContext& context) const = 0;
};

class TaskStudy : public Study {
 public:
  [[nodiscard]] virtual std::size_t tasks() const = 0;
  [[nodiscard]] virtual std::vector<double> run_task(std::size_t task) const = 0;
  // `numbers[i]` is what run_task(i) gave.
  [[nodiscard]] virtual std::vector<Group> collect(
      const std::vector<std::vector<double>>& numbers) const = 0;

  [[nodiscard]] double weight() const final { return static_cast<double>(tasks()); }
  [[nodiscard]] Collect run(const Experiment& experiment, const StudyContext& context) const final;
};

// An experiment as its file describes it: what all kinds have in common, and its study.
struct Experiment {
  Node document;
  std::string name, title, description;
  void (*findings)(const Experiment&, Results&) = nullptr;
  std::unique_ptr<Study> study;
};

// ---- What files can ask for ---------------------------------------------------------------------

// Which keys of a file a command's options may change.
enum class Adjustable : std::uint8_t {
  none,
  seeds,      // the number of runs
  gradients,  // those of measured gradients
  training,   // those of trainings, seeds among them
};

// The studies there are, by "kind". `read` gets a reader at the document's root that has read what
// all kinds have, and answers for the rest of the keys.
struct Kind {
  std::string_view name;
  std::unique_ptr<Study> (*read)(Reader& reader);
  Adjustable adjustable;
  std::string_view findings = {};  // those of a file that declares none
};

// Claims, notes and figures of the paper, by "findings". They may find any results before them:
// what they need and was not measured, they say.
struct Findings {
  std::string_view name;
  void (*add)(const Experiment& experiment, Results& results);
};

struct Catalogue {
  std::vector<Kind> kinds;  // the first one is that of a file without a "kind"
  std::vector<Findings> findings;
};
// Those that need neither libtorch nor data.
[[nodiscard]] const Catalogue& synthetic_catalogue();
// The kind of a document; nullptr where there is no such kind, which reading it says.
[[nodiscard]] const Kind* kind_of(const Node& document, const Catalogue& catalogue);

// Reads a whole experiment. Throws Error with file and line where it makes no sense.
[[nodiscard]] Experiment read_experiment(Node document, const std::string& file,
                                         const Catalogue& catalogue = synthetic_catalogue());

// ---- For those who read kinds -------------------------------------------------------------------

[[nodiscard]] std::unique_ptr<Study> read_trajectories(Reader& reader);
[[nodiscard]] std::unique_ptr<Study> read_moments(Reader& reader);
[[nodiscard]] std::unique_ptr<Study> read_projection(Reader& reader);
[[nodiscard]] std::unique_ptr<Study> read_byzantine(Reader& reader);
[[nodiscard]] std::unique_ptr<Study> read_centered_clipping(Reader& reader);

// The keys that all kinds have.
inline constexpr std::string_view kCommonKeys[] = {"experiment", "title", "description", "findings",
                                                   "kind"};
// "experiment", which names the folder of the results.
[[nodiscard]] std::string read_name(Reader& reader);
// "seed"; 0 where there is none.
[[nodiscard]] std::uint64_t read_seed(Reader& reader);

// The documents of the parts, each named on the axis "part"; the document itself where there are
// none. `of_all` names keys, beside the common ones, that a part cannot have of its own.
[[nodiscard]] std::vector<std::pair<Axes, Node>> read_parts(
    Reader& reader, std::initializer_list<std::string_view> of_all);

// "noise": {"name": "stable", "alpha": 1.1, …}; 1/alpha may be given as inv_alpha.
[[nodiscard]] NoiseModel read_noise(Reader& reader);

// What results call the methods of an experiment, each by its label and axes; a second one of the
// same name is an Error.
class MethodNames {
 public:
  void add(const Reader& reader, const Node& at, const std::string& label, const Axes& axes);

 private:
  std::vector<std::pair<std::string, Axes>> names_;
};

// Those parameters of a registry entry that the keys of an object give. One that is missing is said
// by whoever makes the method of them.
template <class Made>
[[nodiscard]] ParameterValues read_given(Reader& reader, const Entry<Made>& entry) {
  ParameterValues values;
  for (const Parameter& parameter : entry.parameters)
    if (reader.any(parameter.name) != nullptr)
      values.emplace(parameter.name, reader.number(parameter));
  return values;
}
// The method that an object is, of which everything else has been read: a misspelt key is told
// before the one that is missing for it.
template <class Made>
[[nodiscard]] Made read_entry(Reader& reader, const Entry<Made>& entry) {
  const ParameterValues values = read_given(reader, entry);
  reader.finish();
  return reader.located(reader.node(), [&] { return entry.make(values); });
}

// A method as text, "vclip:tau=0.1": as it is given, or made of an object. `what` is how errors
// call it. Parameters are checked by whoever reads the text.
template <class Made>
[[nodiscard]] std::string read_method_text(const Node& node, const std::string& file,
                                           const std::string& what,
                                           const Entry<Made>& (*find)(std::string_view)) {
  if (node.text() != nullptr) return *node.text();
  Reader keys(node, file, what);
  std::string text = keys.text("name");
  const Entry<Made>& entry = keys.located(node, [&]() -> const Entry<Made>& { return find(text); });
  for (const auto& [name, value] : read_given(keys, entry))
    text += ":" + name + "=" + entry.find(name)->value_text(value);
  keys.finish();
  return text;
}

// A schedule under a key: a number, which stays, "cosine:value=0.1", or {"name": "cosine", …}.
[[nodiscard]] Schedule read_schedule(Reader& reader, const std::string& key,
                                     const Schedule& fallback, const ScheduleUse& use = {});

}  // namespace medgrad::lab
