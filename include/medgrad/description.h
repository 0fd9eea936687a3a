// What a method says about itself: its name, its formula, and every one of its parameters, once.
//
//     struct Huber {
//       static constexpr About about{"huber", "1/2 |x|^2 up to |x| = mu, …", "between …"};
//       static constexpr auto fields() {
//         return std::tuple(field("mu", &Huber::mu, range::positive, "where it turns linear"));
//       }
//       double mu = 1.345;
//     };
//
// Everything else follows from that list: validation, the line that tells saved states apart, the
// registry, and with it command-line options, JSON, help and docs/methods.md. The default of a
// parameter is the member's own initialiser. A member that is missing in the list does not compile
// (where the struct is an aggregate), or does not fit its size.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "medgrad/error.h"

#pragma GCC visibility push(default)
namespace medgrad {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// "auto" as the value of a parameter that can be found from the data: of a count, and as a number.
inline constexpr std::size_t kAutomatic = std::numeric_limits<std::size_t>::max();
inline constexpr double kAutomaticNumber = -kInfinity;

// The fewest characters that read back to the same number: "0.1", "inf", "nan".
[[nodiscard]] std::string number(double x);

// ---- Ranges -------------------------------------------------------------------------------------

// The numbers that a parameter may take.
struct Range {
  double min = -kInfinity, max = kInfinity;
  bool min_open = false, max_open = false;  // is the bound itself excluded?
  bool whole = false;
  bool automatic = false;  // may it be "auto"?

  [[nodiscard]] bool contains(double x) const {
    if (automatic && x == kAutomaticNumber) return true;
    return (min_open ? x > min : x >= min) && (max_open ? x < max : x <= max) &&
           (!whole || x == std::floor(x));
  }
  // "0 < tau < inf", "p >= 1, inf allowed", "a whole number from 0 to 1e9, or auto".
  [[nodiscard]] std::string text(std::string_view name) const;
};

namespace range {
inline constexpr Range positive{0, kInfinity, true, true};
inline constexpr Range non_negative{0, kInfinity, false, true};
inline constexpr Range finite{-kInfinity, kInfinity, true, true};
inline constexpr Range share{0, 1};
inline constexpr Range decay{0, 1, false, true};
inline constexpr Range exponent{1, kInfinity};  // of a norm
constexpr Range whole(double min, double max = 1e9) { return {min, max, false, false, true}; }
constexpr Range or_auto(Range range) {
  range.automatic = true;
  return range;
}
}  // namespace range

// Throws Error ("tau is -1; it must satisfy 0 < tau < inf.") unless the value is in range.
void check(std::string_view name, double value, const Range& range);

// ---- What there is to say -----------------------------------------------------------------------

// A few words, at compile time.
class Words {
 public:
  constexpr Words() = default;
  constexpr Words(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) words_[size_++] = word;
  }
  [[nodiscard]] constexpr const std::string_view* begin() const { return words_.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const { return words_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

 private:
  std::array<std::string_view, 4> words_{};
  std::size_t size_ = 0;
};

struct About {
  std::string_view name;     // kebab case: "geometric-median"
  std::string_view formula;  // "argmin sum |m - x_i|_2"
  std::string_view meaning;  // "the point with the smallest sum of distances"
  Words aliases = {};
};

// A parameter: a member of S under its name.
template <class S, class V>
struct Field {
  std::string_view name;  // kebab case, as on the command line: "max-iter"
  V S::*member;
  Range range;
  std::string_view meaning;
  bool required = false;  // is there no sensible default?
  // The values 0, 1, … by name; where the range has "auto", the one word for that instead.
  Words words = {};
};

template <class S, class V>
constexpr Field<S, V> field(std::string_view name, V S::*member, Range range,
                            std::string_view meaning) {
  return {name, member, range, meaning};
}
// One that has to be given.
template <class S, class V>
constexpr Field<S, V> required(std::string_view name, V S::*member, Range range,
                               std::string_view meaning) {
  return {name, member, range, meaning, true};
}
// One of a few words: an enumeration or a bool, in the order of its values.
template <class S, class V>
constexpr Field<S, V> choice(std::string_view name, V S::*member, Words words,
                             std::string_view meaning) {
  return {name,    member, range::whole(0, static_cast<double>(words.size()) - 1),
          meaning, false,  words};
}
// One that is no number: another method, or data. It is part of the description, and whoever makes
// the method sets it.
template <class S, class V>
constexpr Field<S, V> part(V S::*member) {
  return {{}, member, {}, {}};
}

template <class S>
concept Described = requires {
  { S::about.name } -> std::convertible_to<std::string_view>;
  std::tuple_size<decltype(S::fields())>::value;
};

// ---- What follows from it -----------------------------------------------------------------------

namespace internal {

struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): never called
};
template <class S, class... A>
consteval std::size_t members() {
  if constexpr (requires { S{A{}..., AnyMember{}}; }) {
    return members<S, A..., AnyMember>();
  } else {
    return sizeof...(A);
  }
}
template <class... S, class... V>
consteval std::size_t bytes(const std::tuple<Field<S, V>...>&) {
  return (std::size_t{0} + ... + sizeof(V));
}

// Every member is listed: as many as there are, or, where members are private, as many bytes.
template <Described S>
consteval bool complete_fields() {
  constexpr auto fields = S::fields();
  constexpr std::size_t count = std::tuple_size_v<decltype(fields)>;
  if constexpr (std::is_empty_v<S>) {
    return count == 0;
  } else if constexpr (std::is_aggregate_v<S>) {
    return members<S>() == count;
  } else {
    return bytes(fields) == sizeof(S);
  }
}

template <class V>
concept Scalar = std::is_arithmetic_v<V> || std::is_enum_v<V>;

// The value of a member as a number, and back; a count has its own way to say "auto".
template <Scalar V>
constexpr double to_number(V value) {
  if constexpr (std::same_as<V, std::size_t>) {
    if (value == kAutomatic) return kAutomaticNumber;
  }
  return static_cast<double>(value);
}
template <Scalar V>
constexpr V from_number(double value) {
  if constexpr (std::same_as<V, std::size_t>) {
    if (value == kAutomaticNumber) return kAutomatic;
  }
  return static_cast<V>(value);
}

}  // namespace internal

// f(field) for every field of S.
template <Described S, class F>
constexpr void for_each_field(const F& f) {
  static_assert(internal::complete_fields<S>(), "a member of this method is not among its fields");
  std::apply([&](const auto&... fields) { (f(fields), ...); }, S::fields());
}

// Throws Error where a parameter is out of its range. Parts and data are whoever's has them.
template <Described S>
void check_fields(const S& method) {
  for_each_field<S>([&]<class V>(const Field<S, V>& f) {
    if constexpr (internal::Scalar<V>)
      check(f.name, internal::to_number(method.*f.member), f.range);
  });
}

// "huber mu=1.345": name and every parameter, for telling methods apart; `skip` names one to leave
// out. Two methods of equal lines are the same method.
template <Described S>
[[nodiscard]] std::string describe(const S& method, std::string_view skip = {});
template <Described... S>
[[nodiscard]] std::string describe(const std::variant<S...>& method, std::string_view skip = {}) {
  return std::visit([&](const auto& m) { return describe(m, skip); }, method);
}

namespace internal {
void describe_number(std::string& line, std::string_view name, double value, const Words& words);
void describe_numbers(std::string& line, std::span<const double> values);
}  // namespace internal

template <Described S>
std::string describe(const S& method, std::string_view skip) {
  std::string line(S::about.name);
  for_each_field<S>([&]<class V>(const Field<S, V>& f) {
    if constexpr (internal::Scalar<V>) {
      if (f.name != skip)
        internal::describe_number(line, f.name, internal::to_number(method.*f.member), f.words);
    } else if constexpr (std::same_as<V, std::vector<double>>) {
      internal::describe_numbers(line, method.*f.member);
    } else {
      line += ' ';
      line += describe(method.*f.member, skip);
    }
  });
  return line;
}

}  // namespace medgrad
#pragma GCC visibility pop
