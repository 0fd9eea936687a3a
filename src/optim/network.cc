#include "optim/network.h"

#include <array>
#include <cassert>
#include <cmath>

namespace medgrad {
namespace {

using Units = std::array<double, Network::kMostHidden>;

// N(x), and what its hidden units have on the way.
double forward(const Network& f, std::span<const double> w, std::span<const double> x,
               Units& units) {
  const std::size_t H = f.hidden, d = f.inputs;
  const std::span<const double> t = w.subspan(H * d, H), u = w.subspan(H * (d + 1), H);
  double sum = w.back();
  for (std::size_t h = 0; h < H; ++h) {
    double z = t[h];
    for (std::size_t j = 0; j < d; ++j) z += w[h * d + j] * x[j];
    units[h] = std::tanh(z);
    sum += u[h] * units[h];
  }
  return sum;
}

std::span<const double> row(const Network& f, std::size_t i) {
  return std::span(f.a).subspan(i * f.inputs, f.inputs);
}

// out <- ridge w + 1/count sum_k (N(x) - b) grad N(x), over the rows index(k).
template <class Index>
void gradient_over(const Network& f, std::span<const double> w, std::size_t count, Index index,
                   std::span<double> out) {
  const std::size_t H = f.hidden, d = f.inputs;
  const std::span<const double> u = w.subspan(H * (d + 1), H);
  for (std::size_t j = 0; j < w.size(); ++j) out[j] = f.ridge * w[j];
  Units units;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = index(k);
    const std::span<const double> x = row(f, i);
    const double s = (forward(f, w, x, units) - f.b[i]) / static_cast<double>(count);
    for (std::size_t h = 0; h < H; ++h) {
      const double back = s * u[h] * (1 - units[h] * units[h]);
      for (std::size_t j = 0; j < d; ++j) out[h * d + j] += back * x[j];
      out[H * d + h] += back;
      out[H * (d + 1) + h] += s * units[h];
    }
    out.back() += s;
  }
}

}  // namespace

double Network::output(std::span<const double> w, std::span<const double> x) const {
  Units units;
  return forward(*this, w, x, units);
}

double network_value(const Network& f, std::span<const double> w) {
  double sum = 0, size = 0;
  for (std::size_t i = 0; i < f.b.size(); ++i) {
    const double r = f.output(w, row(f, i)) - f.b[i];
    sum += r * r / 2;
  }
  for (const double x : w) size += f.ridge == 0 ? 0 : x * x;  // |w|^2 may overflow
  return sum / static_cast<double>(f.b.size()) + f.ridge / 2 * size;
}

void network_gradient(const Network& f, std::span<const double> w, std::span<double> out) {
  gradient_over(
      f, w, f.b.size(), [](std::size_t k) { return k; }, out);
}

void gradient(const Network& objective, std::span<const double> w,
              std::span<const std::uint32_t> rows, std::span<double> out) {
  assert(!rows.empty());
  gradient_over(
      objective, w, rows.size(), [&](std::size_t k) { return rows[k]; }, out);
}

}  // namespace medgrad
