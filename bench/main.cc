// medgrad_bench online TYPE PAGES N ROUNDS THREADS TENSORS [ONLY]
// medgrad_bench sample TYPE METHOD TOLERANCE FILE ROWS COLUMNS ROUNDS OUT
// medgrad_bench rows TYPE ROWS COLUMNS ROUNDS [ONLY]
// medgrad_bench memory TYPE ROWS COLUMNS
// medgrad_bench count TYPE KIND WHAT ROWS COLUMNS
// medgrad_bench fused double ROUNDS
// medgrad_bench stable-samples TYPE ALPHA BETA N ROUNDS
// medgrad_bench stable-functions double ALPHA BETA N ROUNDS
// medgrad_bench stable-fit double ALPHA BETA N ROUNDS
// medgrad_bench stable-table double ALPHA BETA N ROUNDS
// medgrad_bench tails double SEEDS
// medgrad_bench tail-rows double SEEDS
// medgrad_bench tail-coverage double SEEDS
// medgrad_bench tail-power double SEEDS
// medgrad_bench fits double N SEEDS
// with TYPE float or double, PAGES ordinary or large. Meant to be run by run.py and check.py.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench.h"
#include "medgrad/large_vector.h"

namespace {

template <class T>
int run(const std::vector<std::string>& a) {
  if ((a.size() == 7 || a.size() == 8) && a[0] == "online") {
    const auto steps = a[2] == "large" ? medgrad::bench::online_steps<medgrad::LargeVector<T>>
                                       : medgrad::bench::online_steps<std::vector<T>>;
    steps(std::stoul(a[3]), std::stoi(a[4]), static_cast<unsigned>(std::stoul(a[5])),
          std::stoul(a[6]), a.size() == 8 ? a[7] : "");
  } else if (a.size() == 9 && a[0] == "sample") {
    medgrad::bench::sample<T>(a[2], std::stod(a[3]), a[4], std::stoul(a[5]), std::stoul(a[6]),
                              std::stoi(a[7]), a[8]);
  } else if ((a.size() == 5 || a.size() == 6) && a[0] == "rows") {
    medgrad::bench::rows_of<T>(std::stoul(a[2]), std::stoul(a[3]), std::stoi(a[4]),
                               a.size() == 6 ? a[5] : "");
  } else if (a.size() == 4 && a[0] == "memory") {
    medgrad::bench::memory_of<T>(std::stoul(a[2]), std::stoul(a[3]));
  } else if (a.size() == 6 && a[0] == "count") {
    medgrad::bench::count<T>(a[2], a[3], std::stoul(a[4]), std::stoul(a[5]));
  } else if (a.size() == 3 && a[0] == "fused") {
    medgrad::bench::fused_rate(std::stoi(a[2]));
  } else if (a.size() == 6 && a[0] == "stable-samples") {
    medgrad::bench::stable_samples<T>(std::stod(a[2]), std::stod(a[3]), std::stoul(a[4]),
                                      std::stoi(a[5]));
  } else if (a.size() == 6 && a[0] == "stable-functions") {
    medgrad::bench::stable_functions(std::stod(a[2]), std::stod(a[3]), std::stoul(a[4]),
                                     std::stoi(a[5]));
  } else if (a.size() == 6 && a[0] == "stable-fit") {
    medgrad::bench::stable_fit(std::stod(a[2]), std::stod(a[3]), std::stoul(a[4]), std::stoi(a[5]));
  } else if (a.size() == 6 && a[0] == "stable-table") {
    medgrad::bench::stable_table(std::stod(a[2]), std::stod(a[3]), std::stoul(a[4]),
                                 std::stoi(a[5]));
  } else if (a.size() == 3 && a[0] == "tails") {
    medgrad::bench::tail_table(std::stoi(a[2]));
  } else if (a.size() == 3 && a[0] == "tail-rows") {
    medgrad::bench::tail_rows_table(std::stoi(a[2]));
  } else if (a.size() == 3 && a[0] == "tail-coverage") {
    medgrad::bench::tail_coverage_table(std::stoi(a[2]));
  } else if (a.size() == 3 && a[0] == "tail-power") {
    medgrad::bench::tail_power_table(std::stoi(a[2]));
  } else if (a.size() == 4 && a[0] == "fits") {
    medgrad::bench::stable_fits(std::stoul(a[2]), std::stoi(a[3]));
  } else {
    std::fputs("medgrad_bench is run by bench/run.py; its arguments are in bench/main.cc.\n",
               stderr);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_double = arguments.size() > 1 && arguments[1] == "double";
  return is_double ? run<double>(arguments) : run<float>(arguments);
} catch (const std::exception& e) {
  std::fprintf(stderr, "medgrad_bench: %s\n", e.what());
  return 1;
}
