#include "language/measurement_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <istream>
#include <ostream>
#include <streambuf>
#include <system_error>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "language/checked_file.h"
#include "medgrad/error.h"
#include "medgrad/version.h"

namespace medgrad::language {
namespace {

namespace fs = std::filesystem;

// A file as what streams write to.
class Sink final : public std::streambuf {
 public:
  explicit Sink(CheckedFile& file) : file_(file) {}

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize size) override {
    file_.write({bytes, static_cast<std::size_t>(size)});
    return size;
  }
  int_type overflow(int_type byte) override {
    const char one = traits_type::to_char_type(byte);
    if (!traits_type::eq_int_type(byte, traits_type::eof())) file_.write({&one, 1});
    return traits_type::not_eof(byte);
  }

 private:
  CheckedFile& file_;
};

// Bytes in memory as what streams read from.
class Source final : public std::streambuf {
 public:
  explicit Source(std::string_view bytes) {
    char* const begin = const_cast<char*>(bytes.data());  // which a stream for reading leaves alone
    setg(begin, begin, begin + bytes.size());
  }
};

// The folder of a file. A file in its place is of another study of that name, which is no more.
void make_folder(const fs::path& folder) {
  std::error_code ignored;  // what cannot be made, cannot be written to either
  if (fs::is_regular_file(folder, ignored)) fs::remove(folder, ignored);
  fs::create_directories(folder, ignored);
}

}  // namespace

MeasurementFile::MeasurementFile(fs::path file, std::string_view identity, Clock::duration interval)
    : file_(std::move(file)), interval_(interval), next_(Clock::now() + interval) {
  Checksum sum;
  sum.add(identity);
  header_ = fmt::format("medgrad measurement {} {}\n", kVersion, sum.text());
}

void MeasurementFile::restore(Measurement& measurement) {
  if (file_.empty()) return;
  try {
    const MappedFile mapped(file_);
    const std::string_view bytes = checked(mapped.bytes());
    if (!bytes.starts_with(header_)) return;
    Source source(bytes.substr(header_.size()));
    std::istream in(&source);
    measurement.load(in);
    written_ = measurement.position();
  } catch (const Error&) {  // there is none, or it is not what it says
  }
}

void MeasurementFile::save(const Measurement& measurement) {
  if (file_.empty() || measurement.position() == written_) return;
  const Clock::time_point begin = Clock::now();
  next_ = begin + interval_;
  make_folder(file_.parent_path());
  CheckedFile file(file_);
  file.write(header_);
  Sink sink(file);
  std::ostream out(&sink);
  out.exceptions(std::ios::badbit);  // what goes wrong in the sink is not kept back
  measurement.save(out);
  file.commit();
  written_ = measurement.position();
  constexpr int kRest = 20;  // writing takes a twentieth of the time at most
  const Clock::time_point end = Clock::now();
  next_ = end + std::max(interval_, kRest * (end - begin));
}

void MeasurementFile::save_now_and_then(const Measurement& measurement) {
  if (!measurement.between_stages() && Clock::now() < next_) return;
  try {
    save(measurement);
  } catch (const Error&) {
  } catch (const std::system_error&) {
  }
}

}  // namespace medgrad::language
