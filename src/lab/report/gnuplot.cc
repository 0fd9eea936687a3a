#include "lab/report/gnuplot.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace medgrad::lab {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, Close>;

std::string without_files(const std::string& because) {
  return "There are no SVG and PDF files of the figures: " + because;
}

// The first line that gnuplot wrote to say what is wrong.
std::string complaint(std::FILE* errors) {
  std::rewind(errors);
  std::string line;
  std::array<char, 512> buffer;
  while (std::fgets(buffer.data(), buffer.size(), errors) != nullptr) {
    line = buffer.data();
    line.erase(std::remove_if(line.begin(), line.end(), [](char c) { return c == '\n'; }),
               line.end());
    if (line.find("line ") != std::string::npos) break;
  }
  return line;
}

// Runs gnuplot on a script. Its input and its complaints are files, so that neither side ever waits
// for the other.
std::string run_gnuplot(const std::string& script) {
  const TemporaryFile input(std::tmpfile()), errors(std::tmpfile());
  if (!input || !errors ||
      std::fwrite(script.data(), 1, script.size(), input.get()) != script.size() ||
      std::fflush(input.get()) != 0 || std::fseek(input.get(), 0, SEEK_SET) != 0)
    return without_files(
        fmt::format("a temporary file cannot be written ({}).", std::strerror(errno)));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors.get()), STDERR_FILENO);
  // -d: not the user's own settings. By name, since gnuplot reads standard input byte by byte.
  std::string program = "gnuplot", defaults = "-d", script_file = "/dev/stdin";
  std::array<char*, 4> arguments = {program.data(), defaults.data(), script_file.data(), nullptr};
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT)
    return without_files("gnuplot is not installed (Debian package gnuplot-nox).");
  if (failed != 0)
    return without_files(fmt::format("gnuplot cannot be started ({}).", std::strerror(failed)));

  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return without_files("gnuplot got lost.");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return without_files(fmt::format("gnuplot failed ({}).", complaint(errors.get())));
}

}  // namespace

std::string draw(std::span<const Drawing> drawings, DrawingFormats formats) {
  const bool nothing = std::all_of(drawings.begin(), drawings.end(),
                                   [](const Drawing& one) { return one.figures.empty(); });
  if (nothing || (!formats.svg && !formats.pdf)) return {};
  return run_gnuplot(gnuplot_script(drawings, formats));
}

std::string write_svg(std::span<const Figure> figures, const std::filesystem::path& folder) {
  const Drawing one{figures, folder};
  return draw({&one, 1}, {.svg = true, .pdf = false});
}

std::string write_pdf(std::span<const Figure> figures, const std::filesystem::path& folder) {
  const Drawing one{figures, folder};
  return draw({&one, 1}, {.svg = false, .pdf = true});
}

}  // namespace medgrad::lab
