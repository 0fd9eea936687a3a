// Reads what an experiment's document says: keys that are known, values of the right kind, methods.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"

namespace medgrad::lab {

// A method as an object: as it is, or made of its text, so that "vclip:tau=0.1" and
// {"name": "vclip", "tau": 0.1} are the same. `what` is how errors call it.
[[nodiscard]] Node method_object(const Node& node, const std::string& file,
                                 const std::string& what);

// The same mistake with file and line ("toy.json:3"), where the document is of a file.
[[nodiscard]] Error placed(const Error& error, const std::string& file, const Node& at);

// Reads the keys of one object. Every key that was asked for is known; finish() throws for the
// others and names the nearest known one.
class Reader {
 public:
  // `what` is how errors call the object: "the noise".
  Reader(const Node& node, std::string file, std::string what);

  [[nodiscard]] double number(std::string_view key, std::optional<double> fallback = {});
  // A parameter of a method, as a number, or as a word or true or false where it has such values;
  // its default where it is left out.
  [[nodiscard]] double number(const Parameter& parameter);
  [[nodiscard]] std::size_t whole(std::string_view key, std::optional<std::size_t> fallback,
                                  std::size_t min, std::size_t max);
  [[nodiscard]] bool truth(std::string_view key, bool fallback);
  [[nodiscard]] std::string text(std::string_view key, std::optional<std::string> fallback = {});
  [[nodiscard]] std::string word(std::string_view key,
                                 std::initializer_list<std::string_view> words,
                                 std::string_view fallback);
  [[nodiscard]] std::string word(std::string_view key, std::span<const std::string_view> words,
                                 std::string_view fallback);
  // "label": what results call a method; `fallback` where there is none.
  [[nodiscard]] std::string label(const std::string& fallback);
  // Throws Error where a text is a number in quotes.
  void refuse_quoted_number(std::string_view key, const Node& text) const;
  // The value of any kind; nullptr where there is none.
  [[nodiscard]] const Node* any(std::string_view key);
  void finish() const;

  // "toy.json:3: " + sentence, as an Error; the sentence alone where the document is of no file.
  [[noreturn]] void fail(const Node& at, const std::string& sentence) const;
  // Runs `make`; an Error it throws gets file and line, and calls parameters as files do.
  template <class Make>
  auto located(const Node& at, Make&& make) const {
    try {
      return make();
    } catch (const Error& error) {
      throw placed(error.called("'" + error.subject() + "'"), file_, at);
    }
  }
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  const Node* take(std::string_view key);
  const Node& must(std::string_view key);

  const Node& node_;
  std::string file_, what_;
  std::vector<std::string> known_;
};

}  // namespace medgrad::lab
