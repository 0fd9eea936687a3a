// Is the middle of a sample symmetric? By how far the mean of the middle 90 % lies from the median.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace medgrad::noise {

// Numbers of one component, and the rows that they stand in.
struct Part {
  std::vector<double> z;
  std::vector<std::size_t> row;
};

struct Lean {
  double middle = 0;              // the mean of the middle 90 % minus the median
  double sparsity = 0;            // 1 / f(median)
  bool hollow = false;            // hardly anything lies around the median
  std::vector<double> influence;  // of every number, times how many there are

  [[nodiscard]] double error() const;
  [[nodiscard]] double score() const;  // standard normal where the data are symmetric
};
[[nodiscard]] Lean lean_of(std::span<const double> z, double median);

// Without what a gap sets apart on one side: 2 to 25 % of the numbers (five at least), twice as far
// from the median as all the others there, in units of the spread. Such are outliers, whatever the
// rest is like.
[[nodiscard]] Part without_outliers(const Part& part);

// All components together. Where they lean in different directions they hide each other, so beside
// the sum of what they lean there is one with weights: those of the even rows are what the odd rows
// lean, and the other way round, which leaves sums whose means are 0 where all is symmetric,
// however much the components depend on each other.
class Leaning {
 public:
  Leaning(std::size_t rows, std::size_t components);
  // Components around their medians in units of their spreads; gives what one by itself says.
  Lean add(const Part& part);
  [[nodiscard]] bool skewed() const;

 private:
  struct Sum {
    double value = 0;
    std::vector<double> by_row;  // influences
    void add(const Part& part, const Lean& lean, double weight);
    [[nodiscard]] double score() const;
  };
  std::size_t components_;
  Sum all_, even_, odd_;
};

}  // namespace medgrad::noise
