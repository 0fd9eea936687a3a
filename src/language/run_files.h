// What a training run has of the file system: the lines of its metrics, and its folder for itself.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace medgrad::language {

// Lines at the end of a file, each written at once. One that cannot be written whole is a
// std::system_error, and what is there of it is for the next run to cut off.
class LineFile {
 public:
  LineFile() = default;
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  void close();

  void open(const std::filesystem::path& path);
  [[nodiscard]] bool is_open() const { return handle_ >= 0; }
  void write(std::string_view line);

 private:
  std::string path_;
  int handle_ = -1;
};

// A folder that one run at a time may write to, until this is gone. Throws Error where another
// process has it.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int handle_;
};

}  // namespace medgrad::language
