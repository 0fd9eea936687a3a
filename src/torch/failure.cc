#include "torch/failure.h"

#include <c10/util/Exception.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace medgrad::libtorch {

std::string sentence_of(const std::exception& failure) {
  const auto* const error = dynamic_cast<const c10::Error*>(&failure);
  std::string text = error == nullptr ? failure.what() : error->what_without_backtrace();
  constexpr std::string_view kAsked = "you tried to allocate ";
  if (const std::size_t at = text.find(kAsked); at != std::string::npos) {
    const double gib = std::strtod(text.c_str() + at + kAsked.size(), nullptr) / 0x1p30;
    char size[32];
    std::snprintf(size, sizeof size, gib < 100 ? "%.3g" : "%.0f", gib);
    return fmt::format("there is not enough memory: {} GiB were asked for at once.", size);
  }
  text.resize(std::min(text.find('\n'), text.size()));
  if (error == nullptr) return text;
  // "[enforce fail at file.cpp:12] x > 0. What is wrong": where, then what.
  if (text.starts_with("[enforce fail"))
    text.erase(0, std::min(text.find("] "), text.size() - 2) + 2);
  while (text.ends_with('.') || text.ends_with(' ')) text.pop_back();
  return fmt::format("libtorch: {}.", text);
}

void end_with_a_sentence() {
  std::string sentence = "It ended without a reason.";
  try {
    if (const std::exception_ptr failure = std::current_exception())
      std::rethrow_exception(failure);
  } catch (const std::exception& failure) {
    sentence = sentence_of(failure);
    if (sentence.find("gloo/transport") != std::string::npos)
      sentence = fmt::format(
          "Another worker has broken the protocol of the connection between them, and this Gloo "
          "ends the program then ({}). Start the workers again with --resume; the last checkpoint "
          "counts.",
          sentence);
  } catch (...) {
  }
  std::fprintf(stderr, "medgrad: %s\n", sentence.c_str());
  std::fflush(stderr);
  _exit(1);
}

}  // namespace medgrad::libtorch
