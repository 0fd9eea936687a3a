// metrics.jsonl of a run that several processes train together: all of them have the same lines to
// write, and one does. Another one goes on where that is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "language/run_files.h"

namespace medgrad::language {

class RunLog {
 public:
  // Writes to the end of the file from now on.
  void open(const std::filesystem::path& file);
  // The same for one whose run is at `step`, and who has not written so far: what another one left
  // there is cut behind that step, and lines that it had no time to write are added.
  void take_over(const std::filesystem::path& file, std::size_t step);
  // Writes no more: somebody else does.
  void leave();
  [[nodiscard]] bool is_open() const { return file_.is_open(); }

  // Every line has an event and a step. Where `patient`, one that cannot be written (a full disk)
  // is kept for later; else that is a std::system_error.
  void write(const Json& line, bool patient);
  // Nothing is left to be written. Throws std::system_error where something cannot be.
  void finish();

 private:
  struct Line {
    std::string event, text;
    std::size_t step = 0;
  };
  void flush();

  std::filesystem::path path_;
  LineFile file_;
  std::uint64_t bytes_ = 0;  // that were written whole
  std::deque<std::string> held_;
  std::deque<Line> recent_;
};

}  // namespace medgrad::language
