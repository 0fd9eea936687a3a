// The options that say how many workers train together, and how.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "command.h"
#include "language/team_options.h"

namespace medgrad::app {

class WorkersChoice {
 public:
  void declare(Options& options);
  [[nodiscard]] static std::string help();
  [[nodiscard]] bool given() const { return !aggregate_.empty(); }
  // --f where it is not for a rule but for the method; it is then as if it was not given.
  [[nodiscard]] std::string take_f() { return std::exchange(f_, {}); }
  // Nothing where no rule was given. `world` is how many there are in processes of their own; 0:
  // none, they are simulated here.
  [[nodiscard]] std::optional<language::TeamOptions> read(std::size_t world) const;

 private:
  std::string workers_, aggregate_, f_, topology_ = "sharded", byzantine_, attack_, deadline_,
                                        quorum_, events_;
};

}  // namespace medgrad::app
