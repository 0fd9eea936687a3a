// Files of work in progress: replaced in one step, with the checksum of all their bytes as the last
// line. What is damaged or cut off is told from what is whole.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/checksum.h"
#include "medgrad/io.h"

namespace medgrad::language {

// The file appears at commit(). Throws Error where the place cannot be written, std::system_error
// where writing fails; the one that was there is still there then.
class CheckedFile {
 public:
  explicit CheckedFile(const std::filesystem::path& file) : out_(file.string()) {}
  void write(std::string_view bytes) {
    out_.write(bytes);
    sum_.add(bytes);
  }
  void commit();

 private:
  OutputFile out_;
  Checksum sum_;
};

// What was written, in the bytes of such a file; empty where the checksum does not fit.
[[nodiscard]] std::string_view checked(std::string_view bytes);

}  // namespace medgrad::language
