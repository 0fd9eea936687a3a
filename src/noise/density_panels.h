// log f along one side of a line as Chebyshev polynomials, for StableTable.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace medgrad::noise {

// A function and its first two derivatives.
struct Jet {
  double value = 0, first = 0, second = 0;
};

// What is held of log f(u) on the intervals between given cuts: on each, halved until it holds, one
// of
//
//   plain     log f(u) itself
//   light     log(-log f(u)), which is nearly a straight line where a light tail falls faster than
//             any polynomial
//   nothing   f is less than e^{-1e308} throughout
//   integral  neither: the caller has to ask f
//
// at 16 Chebyshev points. It holds where the series has come to its end and agrees with f at four
// points between the nodes: to `tolerance` in log f, and, where f is less than the smallest double,
// to `tolerance` times log f.
class DensityPanels {
 public:
  enum class Kind : unsigned char { integral, plain, light, nothing };
  static constexpr std::size_t kNodes = 16;
  using Coefficients = std::array<double, kNodes>;

  struct Panel {
    double low = 0, high = 0;
    Kind kind = Kind::integral;
    Coefficients coefficients{};
    double highest = 0;  // log f at the nodes

    [[nodiscard]] double value(double u) const;  // log f
    [[nodiscard]] Jet jet(double u) const;
  };

  DensityPanels() = default;
  DensityPanels(const std::function<double(double)>& log_f, std::span<const double> cuts,
                double tolerance);

  // The one that u >= 0 is in; none past the last cut.
  [[nodiscard]] const Panel* at(double u) const {
    if (!(u < end_)) return nullptr;
    const Region& region = u < regions_[0].end ? regions_[0] : regions_[1];
    std::size_t i = region.first[static_cast<std::size_t>((u - region.begin) * region.parts)];
    while (u >= panels_[i].high && i + 1 < panels_.size()) ++i;
    return &panels_[i];
  }
  [[nodiscard]] const std::vector<Panel>& panels() const { return panels_; }

 private:
  void add(const std::function<double(double)>& log_f, double low, double high, double tolerance,
           int depth);
  void index(std::size_t which, double begin, double end);

  // Equal parts of the near and of the far cuts: the panel that each part begins in.
  struct Region {
    double begin = 0, end = 0, parts = 0;  // parts per unit of u
    std::vector<unsigned> first;
  };
  std::array<Region, 2> regions_;
  double end_ = 0;
  std::vector<Panel> panels_;
};

}  // namespace medgrad::noise
