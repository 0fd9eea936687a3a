#include "text/prepare.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/remedy.h"
#include "medgrad/error.h"
#include "medgrad/io.h"

namespace medgrad::text {
namespace {

namespace fs = std::filesystem;

// A folder that is removed with all it holds, and the one around it too where that is new and
// empty.
class Scratch {
 public:
  explicit Scratch(fs::path path) : path_(std::move(path)) {
    std::error_code failed;
    is_new_ = !fs::exists(path_.parent_path(), failed);
    fs::create_directories(path_, failed);
    if (failed)
      throw Error(fmt::format("{} cannot be created: {}.", path_.string(), failed.message()));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (is_new_) fs::remove(path_.parent_path(), ignored);  // does nothing where it holds something
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool is_new_ = false;
};

// Runs a program without a shell, its messages to nowhere. Its exit code; -1 where it cannot be
// started.
int run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_RDWR, 0);
  pid_t process = 0;
  const int failed =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void unpack(const fs::path& archive, const fs::path& into) {
  const std::string name = archive.filename().string();
  const auto ends = [&name](std::string_view ending) { return name.ends_with(ending); };
  const bool zip = ends(".zip");
  if (!zip && !ends(".tar") && !ends(".tgz") && !ends(".tar.gz") && !ends(".tar.bz2") &&
      !ends(".tar.xz")) {
    throw Error("from", fmt::format("'{}'", archive.string()),
                "it must be a folder, or a .tar, .tgz, .tar.gz, .tar.bz2, .tar.xz or .zip file");
  }
  // An absolute path cannot be taken for an option.
  const std::string file = fs::absolute(archive).string(), folder = into.string();
  const int code = zip ? run({"unzip", "-q", "-o", file, "-d", folder})
                       : run({"tar", "--no-same-owner", "-xf", file, "-C", folder});
  const std::string program = zip ? "unzip" : "tar";
  if (code == -1 || code == 127) {
    throw WithRemedy<Error>([program, path = archive.string()](const auto& called) {
      return fmt::format(
          "the program {} is needed to read {}; install it, or unpack the file and give the folder "
          "to {}.",
          program, path, called("from"));
    });
  }
  if (code != 0)
    throw Error(fmt::format("{} cannot be unpacked: {} says that it is damaged.", archive.string(),
                            program));
}

// The file of that name nearest to the top; of equally near ones the first by path.
fs::path find_file(const fs::path& folder, std::string_view name) {
  fs::path best;
  const auto rank = [](const fs::path& path) {
    return std::pair(std::distance(path.begin(), path.end()), path);
  };
  std::error_code failed;
  for (fs::recursive_directory_iterator
           at(folder, fs::directory_options::skip_permission_denied, failed),
       end;
       !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    if (at->path().filename() != name || !at->is_regular_file(ignored)) continue;
    if (best.empty() || rank(at->path()) < rank(best)) best = at->path();
  }
  return best;
}

}  // namespace

Verdict prepare(const DataSet& set, const fs::path& from, const fs::path& to) {
  const fs::path place = to / set.name;
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(place, ignored)))
    throw WithRemedy<Error>([=](const auto& name) {
      return fmt::format("{} already exists; remove it, or choose another {}.", place.string(),
                         name("to"));
    });
  if (!fs::exists(from, ignored)) throw Error(fmt::format("{} does not exist.", from.string()));

  const Scratch scratch(to / fmt::format(".preparing-{}-{}", set.name, getpid()));
  fs::path source = from;
  if (!fs::is_directory(from, ignored)) {
    source = scratch.path() / "archive";
    fs::create_directory(source);
    unpack(from, source);
  }
  const fs::path made = scratch.path() / set.name;
  fs::create_directory(made);
  std::vector<std::string_view> missing;
  for (const std::string_view file : set.files) {
    const fs::path found = find_file(source, file);
    if (found.empty()) {
      missing.push_back(file);
    } else {
      write_file((made / file).string(), MappedFile(found).bytes());
    }
  }
  if (!missing.empty()) {
    throw Error(fmt::format("{} has no {}; {} is published as {}.", from.string(), joined(missing),
                            set.name, set.source));
  }
  Verdict verdict = verify(set, made);
  const auto bad = std::ranges::find_if_not(verdict.findings, &Finding::good);
  if (bad != verdict.findings.end()) {
    throw Error(fmt::format("{} is not the published {}: found {}{}.", from.string(), set.name,
                            bad->what, bad->expected.empty() ? "" : ", expected " + bad->expected));
  }
  fs::rename(made, place);
  return verdict;
}

}  // namespace medgrad::text
