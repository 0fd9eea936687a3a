// What the fuzzers of the file formats share: read everything; an Error is fine, anything else is
// not.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::fuzz {

// All bytes of all rows as double, or the message where there is one.
inline std::string read_rows(const std::string& name, std::string_view bytes, std::size_t chunk) {
  std::string result;
  try {
    RowReader reader(name, bytes, chunk);
    if (reader.dimension() == 0) std::abort();
    std::vector<double> row(reader.dimension());
    while (reader.next(std::span(row))) {
      if (reader.where().empty()) std::abort();
      for (const double x : row) {
        if (std::isnan(x)) {
          result += "nan";
        } else {
          result.append(reinterpret_cast<const char*>(&x), sizeof x);
        }
      }
    }
  } catch (const Error& error) {
    const std::string_view what = error.what();
    // One sentence, whatever the file holds.
    if (!what.ends_with('.') || what.find('\n') != std::string_view::npos) std::abort();
    result += what;
  }
  return result;
}

// Where one read ends and the next begins must not matter.
inline void check(const std::string& name, std::string_view bytes) {
  const std::string whole = read_rows(name, bytes, std::size_t{1} << 16);
  for (const std::size_t chunk : {1U, 2U, 7U}) {
    if (read_rows(name, bytes, chunk) != whole) std::abort();
  }
}

}  // namespace medgrad::fuzz
