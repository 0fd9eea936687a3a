// Any bytes as a saved estimator: refused with an Error, or loaded into a state that still works.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/estimator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  medgrad::OnlineEstimator<double> estimator(medgrad::ProximalPoint{medgrad::L2{}, 1}, 3,
                                             {.average = true});
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    estimator.load(in);
    estimator.update(std::vector<double>{1, 2, 3});
  } catch (const medgrad::Error&) {
  }
  for (const double m : estimator.estimate()) {
    if (!std::isfinite(m)) std::abort();
  }
  return 0;
}
