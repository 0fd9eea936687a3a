#include "medgrad/noise.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "base/text.h"
#include "medgrad/distance.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "noise/peers.h"
#include "noise/rng.h"
#include "noise/source.h"
#include "noise/transform.h"

namespace medgrad {
namespace {

using noise::Source;

// ---- Tails: the variance is finite where the tail index is above 2; a normal law has none.

bool has_variance_one(const StableParameters& s) { return s.alpha == 2; }
bool has_variance_one(const EllipticalStable& e) { return e.alpha == 2; }
bool has_variance_one(const Gaussian&) { return true; }
bool has_variance_one(const Cauchy&) { return false; }
bool has_variance_one(const StudentT& t) { return t.df > 2; }
bool has_variance_one(const Pareto& p) { return p.index > 2; }
bool has_variance_one(const ContaminatedNormal&) { return true; }

// ---- Drawing

template <class T>
T finite(double x) {
  constexpr double kMax = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(x, -kMax, kMax));
}

// Entries [first, first + x.size()) of a noise of independent entries.
template <class T>
void draw(const StableParameters& s, const Source& source, std::uint64_t first, std::span<T> x) {
  noise::draw_stable(noise::plan_stable(s), source, first, x);
}
template <class T>
void draw(const Cauchy& c, const Source& source, std::uint64_t first, std::span<T> x) {
  draw(StableParameters{1, 0, c.scale}, source, first, x);
}
template <class T>
void draw(const Gaussian& g, const Source& source, std::uint64_t first, std::span<T> x) {
  noise::draw_normal(source, first, x);
  for (T& v : x) v = finite<T>(static_cast<double>(v) * g.scale);
}
template <class T>
void draw(const StudentT& t, const Source& source, std::uint64_t first, std::span<T> x) {
  noise::draw_student(t, source, first, x);
}
template <class T>
void draw(const Pareto& p, const Source& source, std::uint64_t first, std::span<T> x) {
  noise::draw_pareto(p, source, first, x);
}
// The normals come from domain 0 and the choices from domain 1, by uniforms in double: epsilon may
// be small.
template <class T>
void draw(const ContaminatedNormal& c, const Source& source, std::uint64_t first, std::span<T> x) {
  noise::draw_normal(source, first, x);
  const Source choices{source.seed, source.stream, 1};
  std::array<double, 256> u;
  for (std::size_t i = 0; i < x.size(); i += u.size()) {
    const std::size_t n = std::min(u.size(), x.size() - i);
    noise::draw_uniform(choices, first + i, std::span(u).first(n));
    for (std::size_t j = 0; j < n; ++j) {
      const double wide = u[j] < c.epsilon ? c.factor * c.scale : c.scale;
      x[i + j] = finite<T>(static_cast<double>(x[i + j]) * wide);
    }
  }
}

// A matrix of rows of length d, the first of which is row `first_row` of the noise.
template <class T>
struct Matrix {
  std::span<T> x;
  std::size_t d;
  std::uint64_t first_row;
  [[nodiscard]] std::size_t n() const { return x.size() / d; }
  [[nodiscard]] std::uint64_t index(std::size_t i) const { return first_row * d + i; }
};

template <class Model, class T>
void sample_rows(const Model& model, const Matrix<T>& to, const Source& source, ThreadPool* pool) {
  noise::in_pieces(to.x.size(), pool, [&](std::size_t begin, std::size_t end) {
    draw(model, source, to.index(begin), to.x.subspan(begin, end - begin));
  });
}

// Multiplies entries [begin, end) of the matrix by the radii of their rows, drawn from domain 1.
template <class T>
void scale_by_radii(const EllipticalStable& e, const Matrix<T>& to, const Source& source,
                    std::size_t begin, std::size_t end) {
  const Source radii{source.seed, source.stream, 1};
  const noise::StablePlan plan = noise::plan_radius(e.alpha);
  std::array<double, 256> r;
  r.fill(std::numbers::sqrt2);  // alpha = 2
  for (std::size_t row = begin / to.d; row * to.d < end;) {
    const std::size_t rows = std::min(r.size(), (end - 1) / to.d + 1 - row);
    if (e.alpha < 2) noise::draw_stable(plan, radii, to.first_row + row, std::span(r).first(rows));
    for (std::size_t k = 0; k < rows; ++k, ++row) {
      const double factor = finite<double>(r[k] * e.scale);
      const std::size_t last = std::min(end, (row + 1) * to.d);
      for (std::size_t i = std::max(begin, row * to.d); i < last; ++i) {
        to.x[i] = finite<T>(static_cast<double>(to.x[i]) * factor);
      }
    }
  }
}

// x <- L x in place: entry i needs those up to i only, so the last comes first.
template <class T>
void multiply(const std::vector<double>& lower, std::span<T> x) {
  const std::size_t d = x.size();
  for (std::size_t i = d; i-- > 0;) {
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) sum += lower[i * d + j] * static_cast<double>(x[j]);
    x[i] = finite<T>(sum);
  }
}

template <class T>
void sample_rows(const EllipticalStable& e, const Matrix<T>& to, const Source& source,
                 ThreadPool* pool) {
  const std::size_t d = to.d;
  if (e.cholesky.empty()) {
    return noise::in_pieces(to.x.size(), pool, [&](std::size_t begin, std::size_t end) {
      noise::draw_normal(source, to.index(begin), to.x.subspan(begin, end - begin));
      scale_by_radii(e, to, source, begin, end);
    });
  }
  if (e.cholesky.size() != d * d) {
    throw Error(fmt::format("the Cholesky factor has {}; rows of length {} need {}.",
                            counted(e.cholesky.size(), "entry", "entries"), d, d * d));
  }
  for_each(pool, to.n(), [&](std::size_t row) {
    const std::span<T> x = to.x.subspan(row * d, d);
    noise::draw_normal(source, to.index(row * d), x);
    multiply(e.cholesky, x);
    scale_by_radii(e, to, source, row * d, (row + 1) * d);
  });
}

template <class T>
void sample_model(const NoiseModel& model, std::span<T> out, std::size_t d, const Source& source,
                  std::uint64_t first_row, ThreadPool* pool) {
  check(model);
  if (out.empty()) return;
  if (d == 0 || out.size() % d != 0) {
    throw Error(fmt::format("{} not a whole number of rows of length {}.",
                            counted(out.size(), "entry is", "entries are"), d));
  }
  const Matrix<T> to{out, d, first_row};
  std::visit([&](const auto& m) { sample_rows(m, to, source, pool); }, model);
}

template <class T>
void sample_at(const StateDependent& noise, std::span<T> out, std::span<const T> w,
               const Source& source, std::uint64_t first_row, ThreadPool* pool) {
  sample_model(noise.noise, out, w.size(), source, first_row, pool);
  const double factor = StateDependent::factor(w);
  noise::in_pieces(out.size(), pool, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = finite<T>(static_cast<double>(out[i]) * factor);
    }
  });
}

}  // namespace

void check(const NoiseModel& model) {
  std::visit([](const auto& m) { check_fields(m); }, model);
  if (const auto* elliptical = std::get_if<EllipticalStable>(&model)) {
    for (const double x : elliptical->cholesky)
      if (!std::isfinite(x)) throw Error("the Cholesky factor has an entry that is not finite.");
  }
}

bool has_variance(const NoiseModel& model) {
  return std::visit([](const auto& m) { return has_variance_one(m); }, model);
}

void sample(const NoiseModel& model, std::span<double> out, std::size_t d, std::uint64_t seed,
            std::uint64_t stream, std::uint64_t first_row, ThreadPool* pool) {
  sample_model(model, out, d, {seed, stream}, first_row, pool);
}
void sample(const NoiseModel& model, std::span<float> out, std::size_t d, std::uint64_t seed,
            std::uint64_t stream, std::uint64_t first_row, ThreadPool* pool) {
  sample_model(model, out, d, {seed, stream}, first_row, pool);
}

double StateDependent::factor(std::span<const double> w) { return std::hypot(1, L2{}.value(w)); }
double StateDependent::factor(std::span<const float> w) { return std::hypot(1, L2{}.value(w)); }

void StateDependent::sample(std::span<double> out, std::span<const double> w, std::uint64_t seed,
                            std::uint64_t stream, std::uint64_t first_row, ThreadPool* pool) const {
  sample_at(*this, out, w, {seed, stream}, first_row, pool);
}
void StateDependent::sample(std::span<float> out, std::span<const float> w, std::uint64_t seed,
                            std::uint64_t stream, std::uint64_t first_row, ThreadPool* pool) const {
  sample_at(*this, out, w, {seed, stream}, first_row, pool);
}

}  // namespace medgrad
