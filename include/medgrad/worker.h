// What a worker of distributed learning does with its gradients before anybody sees them.
//
// Worker i of n has a vector v_i, 0 at first, that it changes by every gradient g_i of its own; a
// rule (pre_aggregators.h) makes one vector of v_1 … v_n:
//
//     v_i <- worker's method(v_i, g_i),     m = rule(v_1 … v_n),     w <- w - eta m.
//
// There are three kinds: nothing at all (v_i = g_i), any online method (estimator.h: with ema or
// momentum it is worker momentum), and error feedback with a compressor C (EF21: Richtarik, Sokolov
// and Fatkhullin, 2021),
//
//     v_i <- v_i + C(g_i - v_i),
//
// where no more than C(g_i - v_i) has to be sent: whoever knows the old v_i knows the new one.
//
// With C(x) = min(1, tau/|x|) x that is Clip21 (Khirirat et al., 2023), and it is VClip, the
// proximal point step for the 2-norm (paper, eq. vclip-update): clip21 and vclip are one method,
// and give the same bits. So the v_i of Clip21 track geometric medians of what the workers see, and
// a step of CenteredClipping (rules.h) is the same step with all rows at once (paper, section 4).
//
// Non-finite gradients follow NonFinite as in estimator.h: a NaN leaves its component of v_i as it
// was, also where v_i = g_i. After any input at all, v_i is finite. The bits depend neither on
// threads nor on the SIMD target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "medgrad/estimator.h"
#include "medgrad/export.h"
#include "medgrad/large_vector.h"
#include "medgrad/registry.h"
#include "medgrad/rows.h"

#pragma GCC visibility push(default)
namespace medgrad {

// ---- Compressors --------------------------------------------------------------------------------
// Each is contractive: E |C(x) - x|^2 <= (1 - a) |x|^2 with an a > 0. `ef21` is the worker's method
// that EF21 makes of it.

// The k entries of the largest size, the others 0; of equal ones those of the lower index. a = k/d.
struct TopK {
  static constexpr About about{"top-k", "the k entries of the largest size",
                               "sends the largest entries"};
  static constexpr About ef21{"ef21-top-k", "v <- v + top-k(g - v)",
                              "error feedback: sends the k largest entries of the increment"};
  static constexpr auto fields() {
    return std::tuple(required("k", &TopK::k, range::whole(1), "how many entries are sent"));
  }
  std::size_t k = 1;
};

// k entries drawn at random, not scaled, the others 0. a = k/d. They depend on the seed, the worker
// and the step alone: with U_i the 64-bit number of words 2 i (lower) and 2 i + 1 after the first
// 2 k step of Philox(seed, 2^40 + worker), entry floor(U_i (d - k + i + 1) / 2^64) is drawn for
// i = 0 … k-1, or entry d - k + i where it has been drawn before (Floyd's method).
struct RandomK {
  static constexpr About about{"random-k", "k entries drawn at random", "sends random entries"};
  static constexpr About ef21{"ef21-random-k", "v <- v + random-k(g - v)",
                              "error feedback: sends k entries of the increment, drawn at random"};
  static constexpr auto fields() {
    return std::tuple(
        required("k", &RandomK::k, range::whole(1), "how many entries are sent"),
        field("seed", &RandomK::seed, range::whole(0, 9e15), "seed of the choice of entries"));
  }
  std::size_t k = 1;
  std::uint64_t seed = 0;
};

// |x|_1/d sign(x). a = |x|_1^2/(d |x|_2^2), at least 1/d.
struct ScaledSign {
  static constexpr About about{"sign", "|x|_1/d sign(x)", "sends signs and their mean size"};
  static constexpr About ef21{"ef21-sign", "v <- v + |g-v|_1/d sign(g - v)",
                              "error feedback: sends the signs of the increment, and its size"};
  static constexpr auto fields() { return std::tuple(); }
};

// min(1, tau/|x|) x.
struct NormClip {
  static constexpr About about{"clip", "min(1, tau/|x|) x", "sends no more than tau"};
  static constexpr About ef21{"clip21",
                              "v <- v + min(1, tau/|g-v|) (g - v)",
                              "error feedback with a clipped increment: vclip by another name",
                              {"ef21-clip"}};
  static constexpr auto fields() {
    return std::tuple(field("tau", &NormClip::tau, range::positive,
                            "the most that one gradient can move a worker's vector"));
  }
  double tau = 1;
};

using Compressor = std::variant<TopK, RandomK, ScaledSign, NormClip>;

// Whose turn it is, both counted from 0.
struct Turn {
  std::uint64_t worker = 0, step = 0;
};

// x <- C(x). All entries are finite. Where k exceeds their number, all are kept. `scratch` is as
// long as x.
template <Real T>
MEDGRAD_EXPORT void compress(const Compressor& compressor, std::span<T> x, const Turn& turn,
                             std::span<T> scratch);

// ---- Methods ------------------------------------------------------------------------------------

// v <- g.
struct SendGradient {
  static constexpr About about{"gradient", "v = g", "sends every gradient as it comes"};
  static constexpr auto fields() { return std::tuple(); }
};

// v <- v + C(g - v).
struct Ef21 {
  static constexpr About about{"ef21", "v <- v + C(g - v)", "error feedback with a compressor C"};
  static constexpr auto fields() { return std::tuple(part(&Ef21::compressor)); }
  Compressor compressor;
};

using WorkerMethod = std::variant<SendGradient, OnlineMethod, Ef21>;

// "ef21 top-k k=3": name and parameters, but for the one to skip.
[[nodiscard]] std::string describe(const WorkerMethod& method, std::string_view skip = {});
// Throws Error unless every parameter is in its range.
template <Real T>
MEDGRAD_EXPORT void validate_worker(const WorkerMethod& method);
// As tau_of() and set_tau() of online methods.
[[nodiscard]] double worker_tau(const WorkerMethod& method);
void set_worker_tau(WorkerMethod& method, double tau);

// Every worker's method by name: gradient, all online methods, ef21-top-k, …, clip21.
[[nodiscard]] std::span<const Entry<WorkerMethod>> worker_methods();
[[nodiscard]] const Entry<WorkerMethod>& find_worker_method(std::string_view name);
// The method that a text is: make_worker_method("ef21-top-k:k=3").
[[nodiscard]] WorkerMethod make_worker_method(std::string_view text);

// ---- Steps --------------------------------------------------------------------------------------

struct WorkerOptions {
  NonFinite non_finite = NonFinite::reject;
  ThreadPool* pool = nullptr;
};

// One step on memory that belongs to the caller. Where `sent` is not empty it gets what is sent:
// for top-k, random-k and sign whoever adds it to the old v has the bits of the new one; for the
// other methods it is the new v. Allocates only if `workspace` has not been reserved for
// space_needed(). Throws NonFiniteInput under `reject`, and leaves everything as it was. `size` is
// the worker's S of tau = auto, as in step().
template <Real T>
MEDGRAD_EXPORT void worker_step(const WorkerMethod& method, std::span<T> v, std::span<const T> g,
                                const Turn& turn, const WorkerOptions& options,
                                Workspace<T>& workspace, std::span<T> sent = {},
                                double* size = nullptr);
[[nodiscard]] std::size_t space_needed(const WorkerMethod& method, std::size_t dimension);

// n workers in one place.
template <Real T>
class Workers {
 public:
  // Starts at v_i = 0. Throws Error where the method is out of range.
  Workers(WorkerMethod method, std::size_t n, std::size_t dimension,
          NonFinite non_finite = NonFinite::reject);

  // One gradient each. Throws Error where there are not n of the dimension; under `reject`, where
  // one is not finite, the workers before it have taken their steps.
  void update(const Rows<T>& gradients);
  // v_1 … v_n, as long as the workers live.
  [[nodiscard]] Rows<T> vectors() const { return {v_.data(), n_, d_}; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] const WorkerMethod& method() const { return method_; }
  void set_tau(double tau) { set_worker_tau(method_, tau); }
  // S of every worker, where tau is auto.
  [[nodiscard]] std::span<const double> sizes() const { return sizes_; }
  // Goes on from there, bit for bit; all entries have to be finite. `sizes` are n, or none where
  // there is no S yet.
  void restore(const Rows<T>& vectors, std::uint64_t steps, std::span<const double> sizes = {});
  // The pool is used, not owned.
  void use(ThreadPool* pool) { pool_ = pool; }

 private:
  void check_size(const Rows<T>& rows, const char* what) const;

  WorkerMethod method_;
  std::size_t n_, d_;
  NonFinite non_finite_;
  LargeVector<T> v_;
  std::vector<double> sizes_;
  std::uint64_t steps_ = 0;
  Workspace<T> workspace_;
  ThreadPool* pool_ = nullptr;
};

}  // namespace medgrad
#pragma GCC visibility pop
