// What an experiment found, for people.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "lab/results.h"

namespace medgrad::app {

// Every claim on a line, then where everything is.
inline void print_claims(const std::vector<lab::Results>& results, const std::filesystem::path& out,
                         double seconds) {
  std::size_t holding = 0, decided = 0;
  for (const lab::Results& result : results) {
    std::cout << result.experiment << ": " << result.title << "\n";
    for (const lab::Claim& claim : result.claims) {
      decided += claim.holds ? 1 : 0;
      holding += claim.holds.value_or(false) ? 1 : 0;
      std::cout << "  "
                << (!claim.holds   ? "–"
                    : *claim.holds ? "✓"
                                   : "✗")
                << " " << claim.claim << "\n"
                << "      " << claim.evidence << "\n";
    }
  }
  char time[32];
  std::snprintf(time, sizeof time, "%.2f", seconds);
  std::cout << "\n" << counted(results.size(), "experiment") << " in " << time << " s; ";
  if (decided > 0)
    std::cout << holding << " of " << counted(decided, "claim")
              << (decided == 1 ? " holds; " : " hold; ");
  std::cout << "report: " << (out / "index.html").string() << "\n";
}

// "moments", "moments and toy", "moments, toy and rates".
inline std::string enumerated(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace medgrad::app
