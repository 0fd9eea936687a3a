#include "language/run_log.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "base/file.h"

namespace medgrad::language {

namespace fs = std::filesystem;

void RunLog::open(const fs::path& file) {
  file_.open(file);
  path_ = file;
  bytes_ = fs::file_size(file);
}

void RunLog::take_over(const fs::path& file, std::size_t step) {
  const std::string there = fs::exists(file) ? read_whole(file) : "";
  std::size_t kept = 0, last = 0;
  std::set<std::string> events;  // of the last step
  for (std::size_t end = 0; (end = there.find('\n', kept)) != std::string::npos; kept = end + 1) {
    const Json line = Json::parse(there.substr(kept, end - kept), nullptr, false);
    if (!line.is_object() || line.value("step", std::size_t{0}) > step) break;
    const std::size_t at = line.value("step", std::size_t{0});
    if (at != last) events.clear();
    last = at;
    events.insert(line.value("event", ""));
  }
  if (kept < there.size()) fs::resize_file(file, kept);
  open(file);
  held_.clear();
  for (const Line& one : recent_)
    if (one.step > last || (one.step == last && !events.contains(one.event)))
      held_.push_back(one.text);
}

void RunLog::leave() {
  file_.close();
  held_.clear();
}

void RunLog::write(const Json& line, bool patient) {
  constexpr std::size_t kRecent = 64;
  recent_.push_back({line.at("event"), line.dump() + "\n", line.at("step")});
  if (recent_.size() > kRecent) recent_.pop_front();
  if (!is_open()) return;
  held_.push_back(recent_.back().text);
  try {
    flush();
  } catch (const std::system_error&) {
    if (!patient) throw;
  }
}

void RunLog::finish() {
  if (is_open()) flush();
}

void RunLog::flush() {
  for (; !held_.empty(); held_.pop_front()) {
    try {
      file_.write(held_.front());
    } catch (const std::system_error&) {
      std::error_code ignored;  // half a line is worse than none
      fs::resize_file(path_, bytes_, ignored);
      throw;
    }
    bytes_ += held_.front().size();
  }
}

}  // namespace medgrad::language
