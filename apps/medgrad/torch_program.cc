#include "torch_program.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "medgrad/error.h"

namespace medgrad::app {
namespace {

constexpr auto kName = "medgrad-torch";

// Replaces this process. Returns only where that fails.
void become(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // Threads that wait for each other sleep. Spinning is no faster on an idle machine, and many
  // times slower on one that has other work. libgomp reads this when it is loaded.
  constexpr int kKeepTheUsers = 0;
  ::setenv("OMP_WAIT_POLICY", "passive", kKeepTheUsers);
  ::execv(program.c_str(), argv.data());
}

// Where it may be, relative to this program.
std::vector<std::filesystem::path> places() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (self.empty()) return {};
  const std::filesystem::path folder = self.parent_path();
  return {folder / kName, folder.parent_path() / "libexec" / "medgrad" / kName};
}

class TorchCommand final : public Command {
 public:
  TorchCommand(std::string_view name, std::string_view summary) : name_(name), summary_(summary) {}
  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return summary_; }
  std::string_view usage() const override { return ""; }
  void declare(Options&) override {}
  void run(const Common&) override {}

  void start(std::vector<std::string> arguments) override {
    arguments.insert(arguments.begin(), name_);
    start_torch_program(arguments);
  }

 private:
  std::string name_, summary_;
};

}  // namespace

std::string torch_program() {
  for (const std::filesystem::path& path : places())
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  return {};
}

void start_torch_program(const std::vector<std::string>& arguments) {
  const std::string program = torch_program();
  if (program.empty()) {
    std::string where;
    for (const std::filesystem::path& path : places())
      where += (where.empty() ? "" : " nor ") + path.string();
    throw Error(
        fmt::format("medgrad {} needs the program {} here, but {}; it is built together with "
                    "medgrad where CMake finds libtorch (the Debian package libtorch-dev).",
                    arguments.front(), kName,
                    where.empty() ? "nothing shows where it could be"
                                  : fmt::format("neither {} exists", where)));
  }
  become(program, arguments);
  throw std::system_error(errno, std::generic_category(), program + " cannot be started");
}

std::string output_of_torch_program(const std::vector<std::string>& arguments) {
  const std::string program = torch_program();
  int ends[2];
  if (program.empty() || ::pipe(ends) != 0)
    throw std::runtime_error(std::string(kName) + " cannot be started.");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    become(program, arguments);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || status != 0) throw std::runtime_error(program + " failed.");
  return text;
}

std::unique_ptr<Command> make_torch_command(std::string_view name, std::string_view summary) {
  return std::make_unique<TorchCommand>(name, summary);
}

}  // namespace medgrad::app
