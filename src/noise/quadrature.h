// Adaptive Gauss-Kronrod quadrature (7 and 15 points) over consecutive intervals.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace medgrad::noise {

struct Panel {
  double value, error;
};

// One application of the rule to f on [a, b]; f takes many abscissae at once.
template <class F>
[[nodiscard]] Panel gauss_kronrod(const F& f, double a, double b) {
  // Abscissae and weights of the 15-point Kronrod rule; every other abscissa is Gauss's.
  constexpr std::array<double, 8> kX = {
      0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
      0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
      0.586087235467691130294144691693320, 0.405845151377397166906606412076961,
      0.207784955007898467600689403773245, 0.0};
  constexpr std::array<double, 8> kWeights = {
      0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
      0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
      0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
      0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
  constexpr std::array<double, 4> kGauss = {
      0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
      0.381830050505118944950369775488975, 0.417959183673469387755102040816327};
  const double center = (a + b) / 2, half = (b - a) / 2;
  std::array<double, 15> x, y;
  for (std::size_t i = 0; i < 8; ++i) {
    x[i] = center - half * kX[i];
    x[14 - i] = center + half * kX[i];
  }
  f(std::span<const double>(x), y.data());
  double kronrod = kWeights[7] * y[7], gauss = kGauss[3] * y[7];
  for (std::size_t i = 0; i < 7; ++i) {
    const double sum = y[i] + y[14 - i];
    kronrod += kWeights[i] * sum;
    if (i % 2 == 1) gauss += kGauss[i / 2] * sum;
  }
  return {kronrod * half, std::fabs(kronrod - gauss) * half};
}

// int f over [points.front(), points.back()], cut at the points, to a relative error that the
// caller bounds by `tolerance` times the whole. f is non-negative, so the sum so far is a safe
// yardstick.
template <class F>
[[nodiscard]] double integrate(const F& f, std::span<const double> points, double tolerance) {
  struct Interval {
    double a, b;
    Panel panel;
    int depth;
  };
  std::array<Interval, 128> stack;
  double total = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (!(points[i] < points[i + 1])) continue;
    stack[size++] = {points[i], points[i + 1], gauss_kronrod(f, points[i], points[i + 1]), 0};
    total += stack[size - 1].panel.value;
  }
  double done = 0;
  while (size > 0) {
    const Interval top = stack[--size];
    // The difference of the two rules overstates the error of the better one by orders of
    // magnitude.
    if (!(top.panel.error > tolerance * total) || top.depth == 40 || size + 2 > stack.size()) {
      done += top.panel.value;
      continue;
    }
    const double middle = (top.a + top.b) / 2;
    const Panel left = gauss_kronrod(f, top.a, middle), right = gauss_kronrod(f, middle, top.b);
    total += left.value + right.value - top.panel.value;
    stack[size++] = {top.a, middle, left, top.depth + 1};
    stack[size++] = {middle, top.b, right, top.depth + 1};
  }
  return done;
}

}  // namespace medgrad::noise
