// Bytes of a file, of standard input or of memory, through one buffer. What is gzipped, which its
// first bytes tell, is decompressed on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace medgrad::internal {

class Gunzip;

class Input {
 public:
  // Throws Error if there is no such file, it is a folder, it may not be read, or it is compressed
  // in a way that cannot be undone here. "-" is stdin.
  explicit Input(const std::string& path);
  Input(std::string name, std::span<const char> bytes, std::size_t chunk);
  ~Input();
  Input(Input&& other) noexcept;
  Input& operator=(Input&&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // Bytes in all; unknown for pipes, devices and compressed files.
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  // Of a regular file, for mapping it; -1 otherwise.
  [[nodiscard]] int regular_file() const { return size_ ? file_ : -1; }

  // What is buffered and not skipped. more() and read() invalidate it.
  [[nodiscard]] std::string_view peek() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void skip(std::size_t n) { begin_ += n; }
  // Reads on, behind what is buffered; false at the end. Whoever calls it has less than
  // kLongestPeek bytes in hand.
  [[nodiscard]] bool more();
  // Buffers up to n <= kLongestPeek bytes; fewer only where the input ends.
  [[nodiscard]] std::string_view peek(std::size_t n);
  // Fills `out` past the buffer where that saves a copy; returns less than its size only at the
  // end.
  [[nodiscard]] std::size_t read(std::span<char> out);

  // Called before a read that has to wait for more, as on a pipe whose writer pauses.
  void before_waiting(std::function<void()> call) { before_waiting_ = std::move(call); }

  static constexpr std::size_t kLongestPeek = 4096;

 private:
  Input(std::string name, int file, std::span<const char> bytes, std::size_t chunk,
        std::size_t capacity);
  // Decompresses from here on where the first bytes are gzip's.
  void look_for_compression();
  [[nodiscard]] std::size_t read_some(char* out, std::size_t n);
  [[nodiscard]] std::size_t read_raw(char* out, std::size_t n);

  std::string name_;
  int file_ = -1;
  std::span<const char> memory_;
  std::size_t chunk_;
  std::optional<std::uint64_t> size_;
  std::size_t capacity_, begin_ = 0, end_ = 0;
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<Gunzip> gunzip_;
  std::function<void()> before_waiting_;
};

}  // namespace medgrad::internal
