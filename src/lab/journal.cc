#include "lab/journal.h"

#include <cstdint>
#include <cstring>

#include "base/checksum.h"
#include "base/file.h"
#include "medgrad/version.h"

namespace medgrad::lab {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(500);

std::uint64_t checksum(std::string_view bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

void append(std::string& bytes, std::uint64_t value) {
  char raw[8];
  std::memcpy(raw, &value, 8);
  bytes.append(raw, 8);
}

std::uint64_t read_word(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, 8);
  return value;
}

}  // namespace

Journal::Journal(std::filesystem::path file, std::string_view identity)
    : file_(std::move(file)),
      header_(std::string("medgrad journal ") + kVersion + " "),
      last_(std::chrono::steady_clock::now()) {
  append(header_, checksum(identity));
}

std::size_t Journal::restore(std::vector<std::vector<double>>& numbers) {
  std::error_code ignored;
  if (!std::filesystem::exists(file_, ignored)) return 0;
  const std::string bytes = read_whole(file_);
  if (!bytes.starts_with(header_)) {
    std::filesystem::remove(file_, ignored);
    return 0;
  }
  std::size_t restored = 0, at = header_.size();
  while (bytes.size() - at >= 24) {
    const std::uint64_t task = read_word(bytes, at), count = read_word(bytes, at + 8);
    if (count > (bytes.size() - at - 24) / 8) break;
    const std::size_t length = 16 + 8 * static_cast<std::size_t>(count);
    if (checksum(std::string_view(bytes).substr(at, length)) != read_word(bytes, at + length))
      break;
    if (task < numbers.size() && numbers[task].empty()) {
      numbers[task].resize(count);
      std::memcpy(numbers[task].data(), bytes.data() + at + 16, 8 * count);
      ++restored;
    }
    at += length + 8;
  }
  // What follows is cut off or damaged; new records must not come after it.
  std::filesystem::resize_file(file_, at, ignored);
  return restored;
}

void Journal::add(std::size_t task, std::span<const double> numbers) {
  std::string record;
  append(record, task);
  append(record, numbers.size());
  record.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  append(record, checksum(record));
  const std::scoped_lock lock(mutex_);
  pending_ += record;
  if (std::chrono::steady_clock::now() - last_ > kInterval) write_out();
}

void Journal::flush() {
  const std::scoped_lock lock(mutex_);
  write_out();
}

void Journal::write_out() {
  if (!out_.is_open()) {
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    const bool fresh = !std::filesystem::exists(file_, ignored);
    out_.open(file_, std::ios::binary | std::ios::app);
    if (fresh) out_ << header_;
  }
  out_ << pending_;
  out_.flush();  // a journal that cannot be written costs time later, nothing else
  pending_.clear();
  last_ = std::chrono::steady_clock::now();
}

}  // namespace medgrad::lab
