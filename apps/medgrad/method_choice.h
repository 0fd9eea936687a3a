// A METHOD argument with its parameters, all from the registry: vclip --tau 0.1, or vclip:tau=0.1.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.h"
#include "medgrad/registry.h"
#include "parameter_options.h"
#include "text.h"

namespace medgrad::app {

template <class Made>
class MethodChoice {
 public:
  // `kind` is the word for a member: "METHOD", "DISTANCE"; `before` are parts that may go before
  // one, joined by '+'.
  MethodChoice(std::string kind, std::span<const Entry<Made>> entries,
               const Entry<Made>& (*find)(std::string_view),
               std::span<const Entry<PreAggregator>> before = {})
      : kind_(std::move(kind)), entries_(entries), before_(before), find_(find) {}

  // The argument, and one option for every parameter that any member has.
  void declare(Options& options);
  // --seed belongs to all commands: whoever runs one passes it on, where the method has a seed.
  void give_seed(const std::string& text);
  // Gives a parameter that the command line does not.
  void give(std::string_view parameter, const std::string& text);
  [[nodiscard]] Made make() const;
  // Runs `make`; an Error about a parameter calls it as it was given.
  template <class Make>
  decltype(auto) named(Make&& make) const {
    return parameters_.named(name_, std::forward<Make>(make));
  }
  [[nodiscard]] const Entry<Made>& entry() const;
  // Was the parameter of that name given?
  [[nodiscard]] bool given(std::string_view parameter) const;
  // All members with their parameters, or all about the one that was named.
  [[nodiscard]] std::string help() const;

 private:
  [[nodiscard]] std::vector<TextRow> parameter_rows() const;
  std::string kind_;
  std::span<const Entry<Made>> entries_;
  std::span<const Entry<PreAggregator>> before_;
  const Entry<Made>& (*find_)(std::string_view);
  std::string name_;
  ParameterOptions parameters_;
};

extern template class MethodChoice<AnyDistance>;
extern template class MethodChoice<OnlineMethod>;
extern template class MethodChoice<Rule>;

}  // namespace medgrad::app
