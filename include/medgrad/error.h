// The one exception type of medgrad: a mistake of the caller or of the input, said in one sentence.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#pragma GCC visibility push(default)
namespace medgrad {

// what() is a sentence a user can act on: what is wrong, and what would be right. The command line
// prints it and leaves with exit code 2.
//
// Where the mistake is the value of a parameter, the sentence is kept in parts,
//
//     [PLACE: ]SUBJECT is VALUE; REQUIREMENT.      "tau is -1; it must satisfy 0 < tau < inf."
//     [PLACE: ]SUBJECT REQUIREMENT.                "mu is not a parameter of vclip."
//
// (without the full stop where it ends with a question),
// so that whoever knows more can say it better: a command calls tau "--tau", a reader of files
// adds file and line. The library itself only knows the parameter's name.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
  // An empty value gives the second form.
  Error(std::string subject, std::string value, std::string requirement)
      : Error(std::move(subject), std::move(value), std::move(requirement), {}) {}

  // Empty where the sentence has no such part.
  [[nodiscard]] const std::string& subject() const { return subject_; }
  [[nodiscard]] const std::string& value() const { return value_; }
  [[nodiscard]] const std::string& requirement() const { return requirement_; }
  [[nodiscard]] const std::string& place() const { return place_; }

  // The same mistake under another name ("--tau"). A sentence without parts stays as it is.
  [[nodiscard]] Error called(const std::string& name) const {
    return subject_.empty() ? *this : Error(name, value_, requirement_, place_);
  }
  // The same mistake, in a place ("toy.json:3").
  [[nodiscard]] Error at(const std::string& place) const {
    return subject_.empty() ? Error(place + ": " + what())
                            : Error(subject_, value_, requirement_, place);
  }

 private:
  Error(std::string subject, std::string value, std::string requirement, std::string place)
      : std::runtime_error((place.empty() ? "" : place + ": ") + subject +
                           (value.empty() ? " " : " is " + value + "; ") + requirement +
                           (requirement.ends_with('?') ? "" : ".")),
        subject_(std::move(subject)),
        value_(std::move(value)),
        requirement_(std::move(requirement)),
        place_(std::move(place)) {}

  std::string subject_, value_, requirement_, place_;
};

// Throws Error ("'vlcip' is not an online method. Did you mean 'vclip'?") about a name that is none
// of the known ones; where none is near it says what there is, or which command lists them. `kind`
// has its article.
[[noreturn]] void fail_unknown(std::string_view kind, std::string_view name,
                               std::span<const std::string_view> known,
                               std::string_view listed_by = {});

}  // namespace medgrad
#pragma GCC visibility pop
