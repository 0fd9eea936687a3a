// Sentences that say what to do, and so name parameters: "runs/a already has a run; resume goes on
// with it, another out begins a new one."
//
// The library knows the parameters; what they are called is known to whoever talks to the user, for
// whom they are options of a command (--resume, --out).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace medgrad {

class Remedy {
 public:
  using Name = std::function<std::string(std::string_view)>;
  using Sentence = std::function<std::string(const Name&)>;

  explicit Remedy(Sentence sentence) : sentence_(std::move(sentence)) {}
  // The sentence with the parameters called as `name` does.
  [[nodiscard]] std::string sentence(const Name& name) const { return sentence_(name); }

 private:
  Sentence sentence_;
};

// An exception with such a sentence: its what() has the parameters' own names.
template <class Base>
class WithRemedy : public Base, public Remedy {
 public:
  explicit WithRemedy(const Sentence& sentence)
      : Base(sentence([](std::string_view name) { return std::string(name); })), Remedy(sentence) {}
};

}  // namespace medgrad
