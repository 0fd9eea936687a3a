// Whole files in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace medgrad {

// Throws Error where the file does not exist, is a folder, or cannot be read.
[[nodiscard]] std::string read_whole(const std::filesystem::path& path);

// The bytes of a regular file, mapped: what is not looked at is not read.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace medgrad
