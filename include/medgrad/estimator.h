// Online estimators: follow the centre of a stream of vectors, one vector per step.
//
// A step of the stochastic proximal point method on  min_m E D(m - g)  is (paper, eq.
// online-spp-update)
//
//     m <- argmin_y D(y - g) + 1/(2 tau) |y - m|^2  =  g + prox_{tau D}(m - g),
//
// and an optimiser follows it with  w <- w - eta m  (eq. online-update). Both are done in as few
// passes over memory as the distance allows: one for Squared and L1, two where a norm has to be
// known first.
//
// tau has the unit of a gradient, which nobody knows beforehand. With tau = auto it is theta S,
// where S follows a quantile of the size of the increments: a proximal point step too, on the
// pinball loss of log |g - m| with level p and rate kappa, written for the size itself,
//
//     S <- clamp(|g - m|, S e^{-kappa (1-p)}, S e^{kappa p}),
//
// before S is used. S starts at the first |g - m|; one that is 0 or not finite leaves it. L1 cuts
// components, so there the size is that of a component: with the share of them that are at most S,
// counted in the same pass,
//
//     S <- S e^{kappa (p - share)}
//
// after the step (the geometric rule of Andrew et al., 2021); it starts at the quantile itself of
// the first increment. Components that are 0 or NaN do not count. Huber takes theta as its tau, and
// mu S as its mu. Multiplying all gradients by a power of two multiplies all estimates by it, bit
// for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <tuple>
#include <variant>

#include "medgrad/bfloat16.h"
#include "medgrad/distance.h"
#include "medgrad/export.h"
#include "medgrad/large_vector.h"
#include "medgrad/non_finite.h"
#include "medgrad/rows.h"

#pragma GCC visibility push(default)
namespace medgrad {

// ---- What to do in a step: plain values -------------------------------------------------------

// How tau = auto follows the size of the increments.
struct AutomaticTau {
  static constexpr About about{"auto", "tau = theta S", "tau from the size of the increments"};
  static constexpr auto fields() {
    return std::tuple(field("theta", &AutomaticTau::theta, range::positive,
                            "tau = auto: tau as a multiple of the size S of the increments"),
                      field("level", &AutomaticTau::level, Range{0, 1, true, true},
                            "tau = auto: which quantile of the sizes S follows"),
                      field("rate", &AutomaticTau::rate, Range{0, 100, true},
                            "tau = auto: how fast S follows, as a change of its logarithm"));
  }

  double theta = 0.1;
  double level = 0.2;
  double rate = 0.1;
};

// m <- g + prox_{tau D}(m - g).  Momentum (Squared, beta = 1/(1+tau)), VClip (L2), CClip (L1),
// Huber.
struct ProximalPoint {
  static constexpr About about{"proximal-point", "m <- g + prox_{tau D}(m - g)",
                               "a step of the stochastic proximal point method"};
  static constexpr auto fields() {
    return std::tuple(
        part(&ProximalPoint::distance),
        field("tau", &ProximalPoint::tau, range::or_auto(range::positive), "step size"),
        part(&ProximalPoint::automatic));
  }

  AnyDistance distance = L2{};
  double tau = 1.0;  // or kAutomaticNumber, for L1, L2 and Huber
  AutomaticTau automatic = {};
};
// "proximal-point l2 tau=1", and theta, level and rate only where tau is auto.
[[nodiscard]] std::string describe(const ProximalPoint& method, std::string_view skip = {});

// m <- m - tau u,  u in the subdifferential of D at m - g  (paper, eqn. subgradient-step).
struct Subgradient {
  static constexpr About about{"subgradient", "m <- m - tau u, u a subgradient of D at m - g",
                               "a step of the stochastic subgradient method"};
  static constexpr auto fields() {
    return std::tuple(part(&Subgradient::distance),
                      field("tau", &Subgradient::tau, range::positive, "step size"));
  }

  AnyDistance distance = L1{};
  double tau = 1.0;
};

// m <- beta m + (1 - beta) min(1, c/|g|) g: momentum over clipped gradients, which tracks the
// Catoni-Giulini mean (paper, eqn. clipped-sgdm).
struct ClippedMean {
  static constexpr About about{"clipped-mean",
                               "m <- beta m + (1-beta) min(1, clip/|g|) g",
                               "momentum over clipped vectors: tracks the Catoni-Giulini mean",
                               {"clipped-sgd"}};
  static constexpr auto fields() {
    return std::tuple(
        field("beta", &ClippedMean::beta, range::decay, "momentum coefficient"),
        field("clip", &ClippedMean::clip, range::positive, "largest norm that passes unchanged"));
  }

  double beta = 0.9;
  double clip = 1.0;
};

using OnlineMethod = std::variant<ProximalPoint, Subgradient, ClippedMean>;

// Throws Error unless every parameter is in its range and the distance has the operation the method
// needs for element type T.
template <Real T>
MEDGRAD_EXPORT void validate(const OnlineMethod& method);

// Is its tau found from the data?
[[nodiscard]] bool is_automatic(const OnlineMethod& method);
// What schedules move: tau of a method, theta where its tau is auto; 0 where it has neither, and
// there set_tau() changes nothing. set_tau() throws Error unless 0 < tau < inf.
[[nodiscard]] double tau_of(const OnlineMethod& method);
void set_tau(OnlineMethod& method, double tau);
// Everything but what tau_of() is, in one line: what two methods of equal lines remember can be
// exchanged. Throws Error for a distance of one's own that has no name: nothing would tell it from
// another.
[[nodiscard]] std::string state_line(const OnlineMethod& method);

enum class Start : std::uint8_t {
  warm,  // m is carried from step to step
  cold,  // m is taken as 0 before every step: L2 becomes gradient clipping, L1 with subgradients
         // sign-SGD
};

// What a step saw. All of it falls out of the step itself.
struct StepInfo {
  double increment_norm = 0;  // |g - m| before the step (2-norm; +inf where it exceeds a double)
  double effective_beta =
      0;  // 1 - |m_new - m| / |g - m|: the momentum coefficient of this step; 0 at g = m
  double clipped_share = 0;    // share of the components whose increment was cut
  std::size_t non_finite = 0;  // components of g that were NaN or +-Inf
  double tau = 0;              // tau of this step, 0 where the method has none or auto has no S yet
  double size = 0;             // S after it, where tau is auto
};

// ---- One step on memory that belongs to the caller ----------------------------------------------

// A piece of the vectors: m and g of the same length, w of that length or empty.
//
// Where there is a w, g stands for g + decay w (weight decay as part of the gradient), and after
// the step  w <- shrink w - eta m  follows in the same pass (shrink = 1 - eta lambda is weight
// decay beside the gradient). With eta = 0 and shrink = 1, w is only read.
template <Real T, class M = T>
struct Block {
  std::span<M> m;
  std::span<const T> g;
  std::span<T> w = {};
  double eta = 0, shrink = 1, decay = 0;
};

// m in half the room, rounded at random (bfloat16.h); a step computes in float all the same, and w
// follows the m before it is rounded.
using NarrowBlock = Block<float, BFloat16>;

// Memory a step may need beside its operands (Lp and user-defined distances: one vector). Grows to
// what is asked for and stays.
template <Real T>
class Workspace {
 public:
  void reserve(std::size_t n) {
    if (buffer_.size() < n) buffer_.resize(n);
  }
  [[nodiscard]] std::span<T> take(std::size_t n) {
    reserve(n);
    return std::span<T>(buffer_).first(n);
  }

 private:
  LargeVector<T> buffer_;
};

struct StepOptions {
  Start start = Start::warm;
  NonFinite non_finite = NonFinite::reject;
  ThreadPool* pool = nullptr;
};

// One step on the concatenation of the blocks, as if it were a single vector: norms are over all of
// it, and the bits are those of a single vector too, however it is cut into blocks (but for blocks
// of components of which some are not finite). After any input at all, m is finite. The bits depend
// neither on threads nor on the SIMD target. Allocates only if `workspace` has not been reserved
// for the total length (and never for Squared, L1, L2, Huber and ClippedMean, but for the first
// step of L1 with tau = auto).
//
// `size` is the S of tau = auto, 0 before the first step; Error where it is needed and not there.
template <Real T>
MEDGRAD_EXPORT StepInfo step(const OnlineMethod& method, std::span<const Block<T>> blocks,
                             const StepOptions& options, Workspace<T>& workspace,
                             double* size = nullptr);

// The same with m in bfloat16: the random bits of a component are those of its place in the
// concatenation. A component that does not move keeps its bits.
MEDGRAD_EXPORT StepInfo narrow_step(const OnlineMethod& method, std::span<const NarrowBlock> blocks,
                                    const Dither& dither, const StepOptions& options,
                                    Workspace<float>& workspace, double* size = nullptr);

// ---- An estimator with its state ----------------------------------------------------------------

struct EstimatorOptions {
  Start start = Start::warm;
  NonFinite non_finite = NonFinite::reject;
  bool average = false;  // also keep the mean of m_1 … m_t, the averaged iterate of the SPP rate
};

template <Real T>
class OnlineEstimator {
 public:
  // Starts at m = 0. Throws Error where the method is out of range.
  OnlineEstimator(OnlineMethod method, std::size_t dimension, EstimatorOptions options = {});

  // Takes one vector in; see step(). Throws Error if g (or w) has the wrong length.
  StepInfo update(std::span<const T> g);
  // All rows in turn, with the same bits as update() on each: for streams of short vectors, where
  // calling takes longer than stepping.
  void update_all(const Rows<T>& rows);
  // As update(), then w <- w - eta m, in the same pass.
  StepInfo update_and_step(std::span<T> w, double eta, std::span<const T> g);

  // Starts over at the given m (all finite), with no steps taken.
  void reset(std::span<const T> m);

  [[nodiscard]] std::size_t dimension() const { return m_.size(); }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::span<const T> estimate() const { return m_; }
  // (1/t) sum_{s<=t} m_s; empty unless asked for in the options. Before the first step it is m.
  [[nodiscard]] std::span<const T> average() const { return average_; }
  [[nodiscard]] const OnlineMethod& method() const { return method_; }
  [[nodiscard]] const EstimatorOptions& options() const { return options_; }
  // S of tau = auto; 0 before there is one.
  [[nodiscard]] double size() const { return size_; }
  // tau of the next steps, or theta where tau is auto, for schedules (the clip threshold of
  // ClippedMean is left alone).
  void set_tau(double tau);
  // theta, level and rate of the next steps. Throws Error unless tau is auto and they are in range.
  void set_automatic(const AutomaticTau& how);

  // The pool is used, not owned; nullptr for the calling thread. The bits do not depend on it.
  void use(ThreadPool* pool) { pool_ = pool; }

  // Writes everything needed to continue bit for bit: a versioned, checksummed binary record.
  void save(std::ostream& out) const;
  // Reads such a record into this estimator. Throws Error, and leaves the estimator as it was, if
  // the record is damaged, or of another version, element type, dimension, method or options.
  void load(std::istream& in);
  // As load(), but where the record's tau is auto and the rest of its method is that of this
  // estimator, it takes auto, level and rate from the record too.
  void resume(std::istream& in);

 private:
  void read(std::istream& in, bool takes_automatic);
  StepInfo take(std::span<T> w, double eta, std::span<const T> g);
  void follow();  // the average goes after m

  OnlineMethod method_;
  EstimatorOptions options_;
  LargeVector<T> m_, average_;
  std::uint64_t steps_ = 0;
  double size_ = 0;
  Workspace<T> workspace_;
  ThreadPool* pool_ = nullptr;
};

}  // namespace medgrad
#pragma GCC visibility pop
