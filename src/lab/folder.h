// Result folders, which appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace medgrad::lab {

// A folder in the making, under a hidden name beside its place.
class ResultFolder {
 public:
  // Throws Error where `place` exists already and is not a result folder, or cannot be created.
  explicit ResultFolder(std::filesystem::path place);
  ~ResultFolder();
  ResultFolder(ResultFolder&& other) noexcept;
  ResultFolder& operator=(ResultFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return making_; }
  [[nodiscard]] const std::filesystem::path& place() const { return place_; }
  void write(const std::string& name, std::string_view bytes) const;
  // Puts it in its place, in exchange for an older one. Files of the older one that are none of
  // ours move over to the new one.
  void commit();

 private:
  std::filesystem::path place_, making_;
};

// Removes what killed runs left in `out`: folders in the making.
void remove_leftovers(const std::filesystem::path& out);

}  // namespace medgrad::lab
