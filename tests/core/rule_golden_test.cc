// Agreement of rules and pre-aggregators with their definitions, computed by
// tests/golden/make_rules.py.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/sample_helpers.h"
#include "medgrad/registry.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;

// Null is not a number, and infinities are words.
template <class T>
T entry(const nlohmann::json& x) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  if (x.is_null()) return std::numeric_limits<T>::quiet_NaN();
  if (x.is_string()) return x.get<std::string>() == "inf" ? kInf : -kInf;
  return x.get<T>();
}

template <class T>
Matrix<T> matrix(const nlohmann::json& rows) {
  Matrix<T> data(rows.size(), rows[0].size());
  for (std::size_t i = 0; i < data.n; ++i)
    for (std::size_t j = 0; j < data.d; ++j) data(i, j) = entry<T>(rows[i][j]);
  return data;
}

nlohmann::json cases() {
  std::ifstream file(MEDGRAD_GOLDEN "/rules.json");
  return nlohmann::json::parse(file);
}

TEST(RuleGolden, EveryRuleIsItsDefinition) {
  std::size_t count = 0;
  for (const auto& one : cases()) {
    const auto data = matrix<double>(one.at("x"));
    std::vector<double> sizes(data.n);  // of the rows; half of them are at least this large
    for (std::size_t i = 0; i < data.n * data.d; ++i)
      sizes[i / data.d] = std::max(sizes[i / data.d], std::abs(data.x[i]));  // NaN is left out
    std::sort(sizes.begin(), sizes.end());
    for (const auto& want : one.at("results")) {
      const auto text = want.at("rule").get<std::string>();
      SCOPED_TRACE(one.at("name").get<std::string>() + ", " + text);
      std::vector<double> got(data.d), center, weights;
      if (want.contains("center")) center = want.at("center").get<std::vector<double>>();
      if (want.contains("weights")) weights = want.at("weights").get<std::vector<double>>();
      aggregate<double>(make_rule(text), data.rows(), got,
                        {.weights = weights, .center = center, .non_finite = NonFinite::robust});
      const auto result = want.at("result").get<std::vector<double>>();
      double size = one.contains("close") ? 0 : sizes[data.n / 2];
      for (const double x : result) size = std::max(size, std::abs(x));
      EXPECT_LE(farthest(got, result), 1e-12 * size);
      ++count;
    }
  }
  EXPECT_GT(count, 1500u);
}

}  // namespace
}  // namespace medgrad
