// Rules over the vectors of n workers (medgrad/dist/aggregate.h), which talk to each other through
// Python: whoever has an all-to-all of bytes is an engine.
#include <pybind11/stl.h>

#include <memory>

#include "medgrad/dist/aggregate.h"
#include "parts.h"

namespace medgrad::python {
namespace {

// The first line of what Python says; the rest is a backtrace.
std::string sentence_of(const py::error_already_set& error) {
  const std::string text = py::str(error.value());
  return text.substr(0, text.find('\n'));
}

// The memory as an array, for as long as the exchange takes.
py::array_t<std::uint8_t> view(const std::byte* data, std::size_t size) {
  return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(size),
                                   reinterpret_cast<const std::uint8_t*>(data), py::none());
}

// A function that waits for what was started.
class Waiting : public dist::Transfer::Pending {
 public:
  explicit Waiting(py::object wait) : wait_(std::move(wait)) {}
  // NOLINTNEXTLINE(bugprone-exception-escape): without Python's lock there is no way on
  ~Waiting() override {
    const py::gil_scoped_acquire held;
    wait_ = py::object();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  void wait() override {
    const py::gil_scoped_acquire held;
    try {
      wait_();
    } catch (const py::error_already_set& error) {
      throw dist::Lost("A worker is gone or too late: " + sentence_of(error));
    }
  }

 private:
  py::object wait_;
};

class Workers : public dist::Packing {
 public:
  // exchange(send, sizes, receive, sizes) starts an all-to-all of bytes and returns what waits for
  // its end.
  Workers(int rank, int size, std::string engine, py::object exchange)
      : Packing(rank, size), engine_(std::move(engine)), exchange_(std::move(exchange)) {}
  [[nodiscard]] std::string engine() const override { return engine_; }

 private:
  std::unique_ptr<dist::Transfer::Pending> all_to_all(
      std::span<const std::byte> send, std::span<const std::size_t> send_sizes,
      std::span<std::byte> receive, std::span<const std::size_t> receive_sizes) override {
    const py::gil_scoped_acquire held;
    try {
      return std::make_unique<Waiting>(
          exchange_(view(send.data(), send.size()),
                    std::vector<std::size_t>(send_sizes.begin(), send_sizes.end()),
                    view(receive.data(), receive.size()),
                    std::vector<std::size_t>(receive_sizes.begin(), receive_sizes.end())));
    } catch (const py::error_already_set& error) {
      throw dist::Lost("A worker is gone or too late: " + sentence_of(error));
    }
  }

  // In the order of the ranks.
  void sum(std::span<float> values) override {
    std::vector<float> all(values.size() * static_cast<std::size_t>(size()));
    all_gather(std::as_bytes(values), std::as_writable_bytes(std::span<float>(all)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = all[i];
      for (std::size_t k = values.size() + i; k < all.size(); k += values.size())
        values[i] += all[k];
    }
  }

  std::string engine_;
  py::object exchange_;
};

py::dict worker_dict(const dist::WorkerReport& report) {
  py::dict dict;
  dict["distance"] = report.row.distance;
  dict["weight"] = report.row.weight;
  dict["kept"] = report.row.kept;
  dict["cut"] = report.row.cut;
  dict["nan"] = report.row.nan;
  dict["inf"] = report.row.inf;
  dict["damaged"] = report.damaged;
  return dict;
}

struct Call {
  std::string topology;
  int server;
  std::uint64_t step;
  py::object weights, center;
  NonFinite non_finite;
  unsigned threads;
  bool report;
};

template <Real T>
py::dict run(Workers& workers, const Rule& rule, const py::array& mine, py::array& out,
             const Call& call) {
  check_center(rule, call.center);
  dist::Options<T> options;
  options.topology = dist::topology_of(call.topology);
  options.server = call.server;
  options.step = call.step;
  const Extras<T> extras(call.weights, call.center, options);
  options.non_finite = call.non_finite;
  std::vector<dist::WorkerReport> reports;
  if (call.report) options.report = &reports;
  const std::span<const T> from = vector_of<T>(mine);
  const std::span<T> to = writable_of<T>(out);
  SampleInfo info;
  {
    const py::gil_scoped_release released;
    const Threads shared(call.threads);
    options.pool = shared.pool();
    info = dist::aggregate<T>(workers, rule, from, to, options);
  }
  py::dict dict = info_dict(info);
  py::list rows;
  for (const dist::WorkerReport& report : reports) rows.append(worker_dict(report));
  if (call.report) dict["workers"] = rows;
  dict["sent"] = workers.traffic().sent;
  dict["received"] = workers.traffic().received;
  return dict;
}

}  // namespace

void add_workers(py::module_& m) {
  py::register_exception<dist::Lost>(m, "WorkerLost", PyExc_RuntimeError);
  py::class_<Workers>(m, "Workers")
      .def(py::init<int, int, std::string, py::object>())
      .def("aggregate", [](Workers& workers, const Rule& rule, const py::array& mine, py::array out,
                           const std::string& topology, int server, std::uint64_t step,
                           const py::object& weights, const py::object& center,
                           NonFinite non_finite, unsigned threads, bool report) {
        const Call call{topology, server, step, weights, center, non_finite, threads, report};
        return with_type(mine, [&]<class T>(T) { return run<T>(workers, rule, mine, out, call); });
      });
}

}  // namespace medgrad::python
