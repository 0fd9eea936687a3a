// A measurement on disk while it runs, so that the next run goes on where this one was stopped.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "language/gradients.h"

namespace medgrad::language {

class MeasurementFile {
 public:
  using Clock = std::chrono::steady_clock;

  // `identity` is everything the numbers depend on beside the version of the program. With an empty
  // path nothing is written or read.
  MeasurementFile(std::filesystem::path file, std::string_view identity,
                  Clock::duration interval = std::chrono::seconds(30));

  // Goes on from what the file has. One that is missing, damaged, or of another identity or version
  // counts for nothing.
  void restore(Measurement& measurement);
  // Replaces the file in one step. Throws Error or std::system_error where it cannot be written.
  void save(const Measurement& measurement);
  // The same at the end of a stage and after every interval (a longer one where writing takes
  // long). A file that cannot be written costs time later, nothing else.
  void save_now_and_then(const Measurement& measurement);

 private:
  std::filesystem::path file_;
  std::string header_;
  Clock::duration interval_;
  Clock::time_point next_;
  std::size_t written_ = 0;  // the position of what is there
};

}  // namespace medgrad::language
