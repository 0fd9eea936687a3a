// Attacks: what f lying or broken workers send, given what the honest ones do.
//
// The liars see the rows x_1 … x_h of the honest; mu is their mean and sigma their standard
// deviation (with 1/h), both per component, and n = h + f. All liars send the same row but for
// GaussianAttack and BitFlip. What they send is finite, except for NanAttack, InfAttack, BitFlip,
// and Mimic of a row that is not.
//
// strength = kOptimal ("optimal"): the strength s that takes the result of a rule farthest from mu,
//
//     argmax_s |rule(x_1 … x_h, f rows of strength s) - mu|_2,
//
// by a search that always takes the same steps: the best of s = 2^k, k = -4 … 8, the smallest of
// equals; then, for h = 1/2, 1/4 … 1/64, s 2^-h where that is better, else s 2^h where that is,
// both from 2^-4 to 2^8. Better is by more than 1e-9 of what there is. That ends within 1 % of a
// maximum, not proved to be the largest one, after at most 25 results of the rule.
//
// Random numbers are counted (rng.h): they depend on the seed, the round, the liar and the
// component alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "medgrad/export.h"
#include "medgrad/non_finite.h"
#include "medgrad/registry.h"
#include "medgrad/rows.h"

#pragma GCC visibility push(default)
namespace medgrad {

// The strength that a search finds. (Of a parameter that may be left to be found, its one word is
// what that is called: "optimal" here, "auto" where it has none.)
inline constexpr double kOptimal = kAutomaticNumber;

namespace internal {
template <class S>
constexpr Field<S, double> strength_or_optimal(double S::*member, std::string_view meaning) {
  return {"strength", member, range::or_auto(range::non_negative), meaning, false, {"optimal"}};
}
template <class S>
constexpr Field<S, std::uint64_t> attack_seed(std::uint64_t S::*member) {
  return field("seed", member, range::whole(0, 9e15), "seed of what is drawn");
}
}  // namespace internal

// - mu: IPM of strength 1.
struct SignFlip {
  static constexpr About about{"sign-flip", "- mu", "the opposite of what the honest agree on"};
  static constexpr auto fields() { return std::tuple(); }
};

// A little is enough (Baruch, Baruch and Goldberg, 2019): mu - strength sigma. Where the strength
// is 0, it is theirs, z: with s = floor(n/2 + 1) - f honest rows on their side the liars are a
// majority, and Phi(z) = (h - s)/h of the honest are nearer to the mean; at least 0, where liars
// are too few for that, and at most 2.33, Phi(z) = 0.99, where they are a majority by themselves.
struct Alie {
  static constexpr About about{"alie", "mu - strength sigma",
                               "hides within the spread of the honest (a little is enough)"};
  static constexpr auto fields() {
    return std::tuple(internal::strength_or_optimal(
        &Alie::strength,
        "how many standard deviations; 0 stands for as many as let a majority form around it; "
        "optimal: found against a rule"));
  }
  double strength = 0;
};

// Inner product manipulation (Xie, Koyejo and Gupta, 2020): - strength mu.
struct Ipm {
  static constexpr About about{"ipm", "- strength mu",
                               "turns the mean around, a little or a lot (inner product "
                               "manipulation)"};
  static constexpr auto fields() {
    return std::tuple(internal::strength_or_optimal(
        &Ipm::strength, "how many times the opposite of the mean; optimal: found against a rule"));
  }
  double strength = 0.5;
};

// strength times a normal vector, another one for each liar: liar k has numbers k d … k d + d - 1
// of Philox(seed, 2^41 + round). 200 is what Blanchard et al. (2017) took.
struct GaussianAttack {
  static constexpr About about{"gaussian", "strength N(0, 1)", "noise instead of a gradient"};
  static constexpr auto fields() {
    return std::tuple(
        field("strength", &GaussianAttack::strength, range::non_negative, "standard deviation"),
        internal::attack_seed(&GaussianAttack::seed));
  }
  double strength = 200;
  std::uint64_t seed = 0;
};

// strength in every component: 100 is what Li et al. (2019) took.
struct ConstantAttack {
  static constexpr About about{"constant", "(strength, ..., strength)", "one number everywhere"};
  static constexpr auto fields() {
    return std::tuple(
        field("strength", &ConstantAttack::strength, range::finite, "the number; may be negative"));
  }
  double strength = 100;
};

struct NanAttack {
  static constexpr About about{"nan", "(NaN, ..., NaN)", "what a broken computation sends"};
  static constexpr auto fields() { return std::tuple(); }
};

struct InfAttack {
  static constexpr About about{"inf", "(Inf, ..., Inf)", "what an overflow sends"};
  static constexpr auto fields() { return std::tuple(); }
};

// x_row, as it is (Karimireddy, He and Jaggi, 2022): no lie at all, but one voice is heard f + 1
// times.
struct Mimic {
  static constexpr About about{"mimic", "x_row", "repeats one of the honest"};
  static constexpr auto fields() {
    return std::tuple(
        field("row", &Mimic::row, range::whole(0), "which of the honest, counted from 0"));
  }
  std::size_t row = 0;
};

// What an honest worker sends whose labels are wrong. It takes data: whoever trains has them, and
// computes the rows; attack() throws an Error.
struct LabelFlip {
  static constexpr About about{
      "label-flip", "gradient on flipped labels",
      "an honest worker with wrong labels; in experiments, where there are "
      "labels to flip"};
  static constexpr auto fields() { return std::tuple(); }
};

// Silent data corruption: liar k sends honest row k mod h with a random bit of the exponent of a
// random component flipped, `flips` times over. Flip i takes words 4 (k flips + i) … + 3 of
// Philox(seed, 2^42 + round): component floor(U d / 2^64) with U of words 0 (lower) and 1, and bit
// floor(V b / 2^32) of the exponent, the lowest being 0, with V word 2 and b = 11 bits (float: 8).
struct BitFlip {
  static constexpr About about{"bit-flip", "x_k, a bit of an exponent flipped",
                               "silent data corruption: a number is off by a power of two, some "
                               "by a very large one"};
  static constexpr auto fields() {
    return std::tuple(
        field("flips", &BitFlip::flips, range::whole(1, 1e6), "how many bits of a row"),
        internal::attack_seed(&BitFlip::seed));
  }
  std::size_t flips = 1;
  std::uint64_t seed = 0;
};

// Nothing: fewer rows arrive.
struct Silent {
  static constexpr About about{"silent", "no row at all", "sends nothing: fewer rows arrive"};
  static constexpr auto fields() { return std::tuple(); }
};

using Attack = std::variant<SignFlip, Alie, Ipm, GaussianAttack, ConstantAttack, NanAttack,
                            InfAttack, Mimic, LabelFlip, BitFlip, Silent>;

// Is a rule needed to find its strength?
[[nodiscard]] bool is_optimal(const Attack& attack);
// Does it take data, which attack() does not have?
[[nodiscard]] bool needs_data(const Attack& attack);
// How many rows f liars send: f, or 0 where they are silent.
[[nodiscard]] std::size_t rows_sent(const Attack& attack, std::size_t f);

template <Real T>
struct AttackOptions {
  const Rule* against = nullptr;   // for optimal strengths
  std::span<const T> center = {};  // of that rule, as in SampleOptions
  // What to do about honest rows that are not finite, where mu is needed; as in SampleOptions.
  NonFinite non_finite = NonFinite::reject;
  ThreadPool* pool = nullptr;
  std::uint64_t round = 0;  // which one of many
};

struct AttackInfo {
  double strength = std::numeric_limits<double>::quiet_NaN();  // that was used, where it has one
  // Of an optimal strength: how far the rule's result is from mu, and how many were tried.
  double distance = 0;
  int tried = 0;
  std::size_t nan = 0, inf = 0;  // in the honest rows, where mu was needed
};

// Writes the rows of the liars to `out`, rows_sent(attack, f) x d. The bits do not depend on the
// threads. Throws Error for parameters out of range, lengths that do not fit, no honest rows where
// they are needed, needs_data(), and what aggregate() throws.
template <Real T>
MEDGRAD_EXPORT AttackInfo attack(const Attack& attack, const Rows<T>& honest, std::size_t f,
                                 std::type_identity_t<std::span<T>> out,
                                 const std::type_identity_t<AttackOptions<T>>& options = {});

// Every attack by name, as in registry.h: alie, alie:strength=1.5, alie:strength=optimal.
[[nodiscard]] std::span<const Entry<Attack>> attacks();
[[nodiscard]] const Entry<Attack>& find_attack(std::string_view name);
[[nodiscard]] Attack make_attack(std::string_view text);
// The rule that a text is, told f in every part that has one and does not say: rule_told("krum",
// 2).
[[nodiscard]] Rule rule_told(std::string_view text, std::size_t f);

}  // namespace medgrad
#pragma GCC visibility pop
