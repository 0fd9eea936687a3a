// What an interrupted run leaves behind, so that the next one goes on where it stopped.
//
// A journal is a file of records (task, its numbers), each with a checksum; it belongs to one
// experiment, with all its settings, in one version of the program. A record cut off in the middle
// counts for nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::lab {

class Journal {
 public:
  // `identity` is everything the numbers depend on; a journal of another one is begun anew.
  Journal(std::filesystem::path file, std::string_view identity);

  // Fills numbers[task] from the file's records, for tasks below numbers.size(); gives how many.
  std::size_t restore(std::vector<std::vector<double>>& numbers);
  // Any thread may call it. What is added reaches the file within half a second or so of work.
  void add(std::size_t task, std::span<const double> numbers);
  // Writes down what is still held back.
  void flush();

 private:
  void write_out();

  std::filesystem::path file_;
  std::string header_, pending_;
  std::ofstream out_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace medgrad::lab
