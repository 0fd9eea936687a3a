// What went wrong inside libtorch, for people.
#pragma once

#include <exception>
#include <string>

namespace medgrad::libtorch {

// One sentence. libtorch's own text has a stack trace behind it and a place in its source before;
// of memory that could not be had it says how much it was, in bytes.
[[nodiscard]] std::string sentence_of(const std::exception& failure);

// For std::set_terminate: what nobody caught, as a sentence on stderr, and exit code 1. The Gloo of
// some libtorchs throws in a thread of its own where another worker breaks its protocol
// (dist/guarded_device.h).
[[noreturn]] void end_with_a_sentence();

}  // namespace medgrad::libtorch
