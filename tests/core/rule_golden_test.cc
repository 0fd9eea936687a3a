// Agreement of rules and pre-aggregators with their definitions, computed by
// tests/golden/make_rules.py.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/sample_helpers.h"
#include "medgrad/registry.h"

namespace medgrad {
namespace {

using sample_test::farthest;
using sample_test::Matrix;

template <class T>
Matrix<T> matrix(const nlohmann::json& rows) {
  Matrix<T> data(rows.size(), rows[0].size());
  for (std::size_t i = 0; i < data.n; ++i)
    for (std::size_t j = 0; j < data.d; ++j) data(i, j) = rows[i][j].get<T>();
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
      sizes[i / data.d] = std::max(sizes[i / data.d], std::abs(data.x[i]));
    std::sort(sizes.begin(), sizes.end());
    for (const auto& want : one.at("results")) {
      const auto text = want.at("rule").get<std::string>();
      SCOPED_TRACE(one.at("name").get<std::string>() + ", " + text);
      std::vector<double> got(data.d), center;
      if (want.contains("center")) center = want.at("center").get<std::vector<double>>();
      aggregate<double>(make_rule(text), data.rows(), got, {.center = center});
      const auto result = want.at("result").get<std::vector<double>>();
      double size = sizes[data.n / 2];
      for (const double x : result) size = std::max(size, std::abs(x));
      EXPECT_LE(farthest(got, result), 1e-12 * size);
      ++count;
    }
  }
  EXPECT_GT(count, 500u);
}

}  // namespace
}  // namespace medgrad
