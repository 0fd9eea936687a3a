#include "torch/dist/launcher.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/torch/crew.h"
#include "torch/dist/meeting_point.h"

namespace medgrad::libtorch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// "with exit code 2", "killed by signal 9 (Killed)"
std::string ending(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

// What a worker has complained of at last: the line of this command, which may be followed by
// results, or the last one where it is another program.
std::string last_complaint(const std::string& log) {
  constexpr std::string_view kName = "medgrad: ";
  std::ifstream in(log);
  std::string line, last, complaint;
  while (std::getline(in, line)) {
    if (line.starts_with(kName)) complaint = line.substr(kName.size());
    if (!line.empty()) last = line;
  }
  return complaint.empty() ? last : complaint;
}

class Launcher {
 public:
  Launcher(const LaunchOptions& options, const std::function<void(const std::string&)>& tell)
      : options_(options),
        tell_(tell),
        token_(options.token.empty() ? random_token() : options.token),
        point_(options.host, options.port, token_),
        store_(visit(point_.address(), token_, std::chrono::minutes(1))),
        children_(static_cast<std::size_t>(options.workers)) {
    const std::string shown = token_ + ".";  // as Crew has it
    store_->set("token", std::vector<std::uint8_t>(shown.begin(), shown.end()));
    set("MEDGRAD_TOKEN", token_);
    set("MEDGRAD_STORE", point_.address());
    set("WORLD_SIZE", std::to_string(std::max(options_.world, options_.workers)));
    set("LOCAL_WORLD_SIZE", std::to_string(options_.workers));
    set("MEDGRAD_LAUNCH", fs::absolute(options_.folder).string());
    set("OMP_WAIT_POLICY", "passive");
    if (!options_.host.empty()) tell_(fmt::format("Workers meet at {}.", point_.address()));
  }
  ~Launcher() {
    end_all(SIGKILL);
    while (alive() > 0) collect(0);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void run(const std::atomic<bool>& stop) {
    for (int worker = 0; worker < options_.workers; ++worker) start(worker);
    constexpr auto kPatience = std::chrono::seconds(60);
    bool asked = false;
    Clock::time_point until;
    while (alive() > 0) {
      if (stop && !asked) {
        end_all(SIGTERM);
        asked = true;
        until = Clock::now() + kPatience;
      }
      if (asked && Clock::now() > until) end_all(SIGKILL);
      if (collect(WNOHANG | WUNTRACED | WCONTINUED, asked)) continue;
      if (nobody_moves()) end_all(SIGKILL);
      if (options_.watch) options_.watch();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    mark_finished(*store_);  // for those of other hosts
    const bool failed = finished_ < std::max(1, options_.quorum);
    if (!asked && !failed) return;
    const std::string where = (options_.folder / "worker-*.log").string();
    const auto first =
        std::find_if(children_.begin(), children_.end(), [](const Child& c) { return c.code > 0; });
    const auto number = first - children_.begin();
    const std::string said = first == children_.end() ? "" : last_complaint(log_of(number));
    if (asked) {
      throw std::runtime_error(
          said.starts_with("stopped; ")
              ? fmt::format("{} What the workers said is in {}.", said, where)
              : fmt::format("stopped; what the workers said is in {}.", where));
    }
    std::string sentence = fmt::format("{} of {} finished; see {}.", finished_,
                                       counted(children_.size(), "worker"), where);
    if (!said.empty()) sentence += fmt::format(" Worker {} said: {}", number, said);
    if (std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.code == 2; }))
      throw Error(sentence);
    throw std::runtime_error(sentence);
  }

 private:
  struct Child {
    pid_t process = 0;  // 0: not running
    int restarts = 0;
    bool stopped = false;  // stands still
    int code = 0;          // its exit code, where it has ended; -1: by a signal
  };

  [[nodiscard]] std::string log_of(std::ptrdiff_t worker) const {
    return (options_.folder / fmt::format("worker-{}.log", worker)).string();
  }

  [[nodiscard]] std::size_t alive() const {
    return static_cast<std::size_t>(std::count_if(children_.begin(), children_.end(),
                                                  [](const Child& c) { return c.process > 0; }));
  }

  // Some have ended, and those that are left stand still: for ever, as far as can be seen.
  [[nodiscard]] bool nobody_moves() const {
    std::size_t running = 0, still = 0;
    for (const Child& child : children_) {
      running += child.process > 0 ? 1 : 0;
      still += child.process > 0 && child.stopped ? 1 : 0;
    }
    return still == running && running < children_.size();
  }

  void set(const std::string& name, const std::string& value) {
    environment_.push_back(name + "=" + value);
  }

  // What a child needs is put together before the fork: after it only calls that are safe there.
  void start(int worker) {
    const std::string log = log_of(worker);
    Child& child = children_[static_cast<std::size_t>(worker)];
    const int mode = child.restarts == 0 ? O_TRUNC : O_APPEND;
    const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | mode, 0644);
    if (out < 0) throw std::system_error(errno, std::generic_category(), log);
    std::vector<std::string> environment = environment_;
    environment.push_back("RANK=" + std::to_string(worker));
    environment.push_back("LOCAL_RANK=" + std::to_string(worker));
    for (char** other = environ; *other != nullptr; ++other) {
      const std::string_view one = *other;
      const std::string_view name = one.substr(0, one.find('=') + 1);
      if (std::none_of(environment.begin(), environment.end(),
                       [&](const std::string& ours) { return ours.starts_with(name); }))
        environment.emplace_back(one);
    }
    const auto pointers = [](const std::vector<std::string>& texts) {
      std::vector<char*> all;
      for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
      all.push_back(nullptr);
      return all;
    };
    const std::vector<char*> argv = pointers(options_.command), envp = pointers(environment);
    // Where the program cannot be started, the child says why; else this is closed by exec.
    int why[2];
    if (::pipe2(why, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    const pid_t parent = ::getpid();
    child.process = ::fork();
    if (child.process < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child.process == 0) {
      ::setpgid(0, 0);  // Ctrl-C is for the launcher, which passes it on
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(out, STDERR_FILENO);
      ::execvpe(argv[0], argv.data(), envp.data());
      const int failed = errno;
      (void)!::write(why[1], &failed, sizeof failed);
      ::_exit(127);
    }
    ::close(out);
    ::close(why[1]);
    int failed = 0;
    const bool started = ::read(why[0], &failed, sizeof failed) != sizeof failed;
    ::close(why[0]);
    if (started) return;
    while (::waitpid(child.process, nullptr, 0) < 0 && errno == EINTR) {
    }
    child.process = 0;
    throw Error(fmt::format("{} cannot be started: {}.", options_.command.front(),
                            std::generic_category().message(failed)));
  }

  void end_all(int signal) {
    for (const Child& child : children_)
      if (child.process > 0) ::kill(child.process, signal);
  }

  // False where nobody has ended.
  bool collect(int how, bool asked = true) {
    int status = 0;
    const pid_t process = ::waitpid(-1, &status, how);
    for (std::size_t i = 0; i < children_.size() && process > 0; ++i) {
      if (children_[i].process != process) continue;
      children_[i].stopped = WIFSTOPPED(status);
      if (WIFSTOPPED(status) || WIFCONTINUED(status)) continue;
      children_[i].process = 0;
      ended(static_cast<int>(i), status, asked);
    }
    return process > 0;
  }

  void ended(int worker, int status, bool asked) {
    Child& child = children_[static_cast<std::size_t>(worker)];
    child.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    mark_gone(*store_, worker);
    if (status == 0) ++finished_;
    if (status == 0 || asked) return;
    const bool again = child.restarts < options_.restarts;
    tell_(fmt::format("Worker {} {}; {}.", worker, ending(status),
                      again ? "it is started again"
                            : fmt::format("{} left", counted(alive(), "other is", "others are"))));
    if (!again) return;
    ++child.restarts;
    child.code = 0;
    start(worker);
  }

  const LaunchOptions& options_;
  const std::function<void(const std::string&)>& tell_;
  std::string token_;
  MeetingPoint point_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::vector<Child> children_;
  std::vector<std::string> environment_;
  int finished_ = 0;
};

}  // namespace

void launch(const LaunchOptions& options, const std::atomic<bool>& stop,
            const std::function<void(const std::string&)>& tell) {
  Launcher(options, tell).run(stop);
}

}  // namespace medgrad::libtorch
