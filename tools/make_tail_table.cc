// Writes src/noise/tail_table_data.cc, the quantiles that src/noise/tail_table.h interpolates.
//
// To be run again only when the nodes or probabilities change (a few seconds), from the top folder:
//   g++ -std=c++20 -O2 -Iinclude -Isrc tools/make_tail_table.cc src/noise/tail_table.cc
//     src/noise/stable.cc src/noise/zolotarev.cc src/core/thread_pool.cc
//     src/noise/tail_table_data.cc -pthread -o make_tail_table && ./make_tail_table >
//     src/noise/tail_table_data.cc.new
#include <cmath>
#include <cstdio>

#include "medgrad/stable.h"
#include "noise/tail_table.h"

int main() {
  using namespace medgrad;
  using namespace medgrad::noise;
  std::puts("// Quantiles of the standard stable law (S0). Written by tools/make_tail_table.cc.");
  std::puts("#include \"noise/tail_table.h\"\n\nnamespace medgrad::noise {\nnamespace {\n");
  std::puts("// clang-format off");
  std::puts("constexpr FiveQuantiles kTable[kAlphaNodes][kBetaNodes / 2 + 1] = {");
  for (std::size_t i = 0; i < kAlphaNodes; ++i) {
    std::printf("  {  // alpha = %.6g\n", 1 / table_inverse_alpha(i));
    for (std::size_t j = 0; j <= kBetaNodes / 2; ++j) {
      const Stable law({1 / table_inverse_alpha(i), table_beta(j), 1, 0, StableForm::S0});
      std::printf("    {{");
      for (std::size_t k = 0; k < 5; ++k) {
        const double q = law.quantile(kFitProbabilities[k]);
        std::printf("%s%.10g", k > 0 ? ", " : "", std::fabs(q) < 1e-12 ? 0 : q);
      }
      std::puts("}},");
    }
    std::puts("  },");
  }
  std::puts("};\n// clang-format on\n\n}  // namespace\n");
  std::puts(
      "const FiveQuantiles& table_quantiles(std::size_t i, std::size_t j) { return kTable[i][j]; "
      "}");
  std::puts("\n}  // namespace medgrad::noise");
}
