#include "medgrad/worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "core/overloaded.h"
#include "kernels/step.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

// v <- g is momentum that forgets everything: a NaN then leaves its component as it was, too.
OnlineMethod as_online(const SendGradient&) { return Subgradient{Squared{}, 1}; }
// Clip21 is VClip.
OnlineMethod as_online(const NormClip& clip) { return ProximalPoint{L2{}, clip.tau}; }

template <Real T>
void online_step(const OnlineMethod& method, std::span<T> v, std::span<const T> g,
                 const WorkerOptions& options, Workspace<T>& workspace, std::span<T> sent,
                 double* size) {
  const Block<T> block{v, g};
  step<T>(method, {&block, 1}, {Start::warm, options.non_finite, options.pool}, workspace, size);
  std::ranges::copy(v.first(sent.size()), sent.begin());
}

template <Real T>
void reject_non_finite(std::span<const T> g) {
  const std::size_t bad = kernels::first_non_finite(g.data(), g.size());
  if (bad < g.size())
    throw NonFiniteInput(
        fmt::format("component {} of a gradient is not finite; only finite numbers are taken "
                    "unless non-finite input is set to robust.",
                    bad + 1),
        bad);
}

template <Real T>
void feedback_step(const Compressor& compressor, std::span<T> v, std::span<const T> g,
                   const Turn& turn, const WorkerOptions& options, Workspace<T>& workspace,
                   std::span<T> sent) {
  if (options.non_finite == NonFinite::reject) reject_non_finite(g);
  const std::size_t d = v.size();
  const std::span<T> space = workspace.take(sent.empty() ? 2 * d : d);
  const std::span<T> x = sent.empty() ? space.last(d) : sent;
  const Chunks chunks = chunks_for(d);
  const auto each = [&](const auto& use) {
    for_each(options.pool, chunks.count, [&](std::size_t c) {
      const std::size_t at = chunks.begin(c);
      use(kernels::Run<T>{v.data() + at, g.data() + at, nullptr, chunks.end(c) - at}, &x[at]);
    });
  };
  if (d == 0) return;
  each([](const kernels::Run<T>& run, T* to) { kernels::increment(run, {}, to); });
  compress(compressor, x, turn, space.first(d));
  each([](const kernels::Run<T>& run, const T* by) { kernels::advance(run, {}, 1, by); });
}

// The entry of an online method, and of error feedback, as a worker's.
Entry<WorkerMethod> online_entry(const Entry<OnlineMethod>& from) {
  return {from.name,
          from.aliases,
          from.formula,
          from.meaning,
          from.parameters,
          [build = from.build](const ParameterValues& v) -> WorkerMethod { return build(v); }};
}

template <class C>
Entry<WorkerMethod> feedback_entry() {
  Entry<WorkerMethod> entry = entry_of<WorkerMethod>(SendGradient{}, C::ef21);
  entry.parameters = parameters_of<C>();
  entry.build = [](const ParameterValues& v) -> WorkerMethod { return Ef21{with_values(C{}, v)}; };
  return entry;
}

template <class... C>
void add_feedback(std::vector<Entry<WorkerMethod>>& entries, const std::variant<C...>*) {
  (entries.push_back(feedback_entry<C>()), ...);
}

}  // namespace

std::string describe(const WorkerMethod& method, std::string_view skip) {
  return std::visit([&](const auto& m) { return describe(m, skip); }, method);
}

template <Real T>
void validate_worker(const WorkerMethod& method) {
  if (const auto* online = std::get_if<OnlineMethod>(&method)) validate<T>(*online);
  if (const auto* feedback = std::get_if<Ef21>(&method))
    std::visit([](const auto& c) { check_fields(c); }, feedback->compressor);
}

double worker_tau(const WorkerMethod& method) {
  if (const auto* online = std::get_if<OnlineMethod>(&method)) return tau_of(*online);
  const auto* feedback = std::get_if<Ef21>(&method);
  const auto* clip = feedback ? std::get_if<NormClip>(&feedback->compressor) : nullptr;
  return clip != nullptr ? clip->tau : 0;
}

void set_worker_tau(WorkerMethod& method, double tau) {
  check("tau", tau, range::positive);
  if (auto* online = std::get_if<OnlineMethod>(&method)) set_tau(*online, tau);
  auto* const feedback = std::get_if<Ef21>(&method);
  if (auto* clip = feedback ? std::get_if<NormClip>(&feedback->compressor) : nullptr)
    clip->tau = tau;
}

std::span<const Entry<WorkerMethod>> worker_methods() {
  static const std::vector<Entry<WorkerMethod>> table = [] {
    std::vector<Entry<WorkerMethod>> entries = {entry_of<WorkerMethod>(SendGradient{})};
    for (const auto& online : online_methods()) entries.push_back(online_entry(online));
    add_feedback(entries, static_cast<const Compressor*>(nullptr));
    return entries;
  }();
  return table;
}

const Entry<WorkerMethod>& find_worker_method(std::string_view name) {
  return find_entry(worker_methods(), "a worker's method", name);
}

WorkerMethod make_worker_method(std::string_view text) {
  const MethodText given = parse_method_text(text);
  const Entry<WorkerMethod>& entry = find_worker_method(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

std::size_t space_needed(const WorkerMethod& method, std::size_t dimension) {
  return std::holds_alternative<SendGradient>(method) ? 0 : 2 * dimension;
}

template <Real T>
void worker_step(const WorkerMethod& method, std::span<T> v, std::span<const T> g, const Turn& turn,
                 const WorkerOptions& options, Workspace<T>& workspace, std::span<T> sent,
                 double* size) {
  const auto online = [&](const OnlineMethod& m) {
    online_step(m, v, g, options, workspace, sent, size);
  };
  std::visit(Overloaded{[&](const SendGradient& m) { online(as_online(m)); },
                        [&](const OnlineMethod& m) { online(m); },
                        [&](const Ef21& m) {
                          if (const auto* clip = std::get_if<NormClip>(&m.compressor))
                            return online(as_online(*clip));
                          feedback_step(m.compressor, v, g, turn, options, workspace, sent);
                        }},
             method);
}

// ---- Workers ------------------------------------------------------------------------------------

template <Real T>
Workers<T>::Workers(WorkerMethod method, std::size_t n, std::size_t dimension, NonFinite non_finite)
    : method_(std::move(method)),
      n_(n),
      d_(dimension),
      non_finite_(non_finite),
      v_(n * dimension, T{0}),
      sizes_(n, 0) {
  validate_worker<T>(method_);
  workspace_.reserve(space_needed(method_, d_));
}

template <Real T>
void Workers<T>::check_size(const Rows<T>& rows, const char* what) const {
  if (rows.n() == n_ && rows.d() == d_) return;
  throw Error(fmt::format("{} of length {} came where there are {} of length {}.",
                          counted(rows.n(), what), rows.d(), counted(n_, "worker"), d_));
}

template <Real T>
void Workers<T>::update(const Rows<T>& gradients) {
  check_size(gradients, "gradient");
  for (std::size_t i = 0; i < n_; ++i)
    worker_step<T>(method_, std::span(v_).subspan(i * d_, d_), {gradients.row(i), d_}, {i, steps_},
                   {non_finite_, pool_}, workspace_, {}, &sizes_[i]);
  ++steps_;
}

template <Real T>
void Workers<T>::restore(const Rows<T>& vectors, std::uint64_t steps,
                         std::span<const double> sizes) {
  check_size(vectors, "vector");
  if (!sizes.empty() && sizes.size() != n_)
    throw Error(fmt::format("{} came where there are {}.", counted(sizes.size(), "size"),
                            counted(n_, "worker")));
  for (const double size : sizes) check("size", size, range::non_negative);
  for (std::size_t i = 0; i < n_; ++i) reject_non_finite<T>({vectors.row(i), d_});
  for (std::size_t i = 0; i < n_; ++i)
    std::copy_n(vectors.row(i), d_, v_.begin() + static_cast<std::ptrdiff_t>(i * d_));
  sizes_.assign(n_, 0);
  std::ranges::copy(sizes, sizes_.begin());
  steps_ = steps;
}

template void validate_worker<float>(const WorkerMethod&);
template void validate_worker<double>(const WorkerMethod&);
template void worker_step(const WorkerMethod&, std::span<float>, std::span<const float>,
                          const Turn&, const WorkerOptions&, Workspace<float>&, std::span<float>,
                          double*);
template void worker_step(const WorkerMethod&, std::span<double>, std::span<const double>,
                          const Turn&, const WorkerOptions&, Workspace<double>&, std::span<double>,
                          double*);
template class Workers<float>;
template class Workers<double>;

}  // namespace medgrad
