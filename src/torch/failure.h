// What went wrong inside libtorch, for people.
#pragma once

#include <exception>
#include <string>

namespace medgrad::libtorch {

// One sentence. libtorch's own text has a stack trace behind it and a place in its source before;
// of memory that could not be had it says how much it was, in bytes.
[[nodiscard]] std::string sentence_of(const std::exception& failure);

}  // namespace medgrad::libtorch
