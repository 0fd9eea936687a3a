#include "medgrad/attack.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/attack_line.h"
#include "core/overloaded.h"
#include "medgrad/rng.h"

namespace medgrad {
namespace {

constexpr std::uint64_t kGaussianStreams = std::uint64_t{1} << 41,
                        kBitStreams = std::uint64_t{1} << 42;

template <Real T>
void flip_bits(const BitFlip& flip, const Rows<T>& honest, std::size_t liar, std::uint64_t round,
               std::span<T> row) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr std::uint64_t kExponent = 8 * sizeof(T) - 1 - static_cast<std::size_t>(kMantissa);
  std::copy_n(honest.row(liar % honest.n()), row.size(), row.begin());
  const Philox random(flip.seed, kBitStreams + round);
  for (std::size_t i = 0; i < flip.flips; ++i) {
    std::uint32_t words[4] = {};
    random.fill_bits(words, 4 * (liar * flip.flips + i));
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t u = words[0] | static_cast<std::uint64_t>(words[1]) << 32;
    const auto at = static_cast<std::size_t>((static_cast<Wide>(u) * row.size()) >> 64);
    const auto bit = static_cast<int>(words[2] * kExponent >> 32) + kMantissa;
    row[at] = std::bit_cast<T>(std::bit_cast<Bits>(row[at]) ^ (Bits{1} << bit));
  }
}

template <Real T>
AttackInfo send(const Attack& attack, const Rows<T>& honest, std::size_t f, std::span<T> out,
                const AttackOptions<T>& options) {
  const std::size_t d = honest.d();
  AttackInfo info;
  const auto all = [&](double x) { std::ranges::fill(out, to_finite<T>(x)); };
  const auto along = [&](const auto& a, Along what, double strength) {
    info = attack_along<T>(what, a.about.name, strength, honest, f, out, options);
  };
  std::visit(
      Overloaded{
          [&](const SignFlip& a) { along(a, Along::mu, 1); },
          [&](const Alie& a) { along(a, Along::sigma, a.strength); },
          [&](const Ipm& a) { along(a, Along::mu, a.strength); },
          [&](const GaussianAttack& a) {
            Philox(a.seed, kGaussianStreams + options.round).fill_normal(out, 0, options.pool);
            for (T& x : out) x = to_finite<T>(a.strength * static_cast<double>(x));
            info.strength = a.strength;
          },
          [&](const ConstantAttack& a) { all(info.strength = a.strength); },
          [&](const NanAttack&) { std::ranges::fill(out, std::numeric_limits<T>::quiet_NaN()); },
          [&](const InfAttack&) { std::ranges::fill(out, std::numeric_limits<T>::infinity()); },
          [&](const Mimic& a) {
            check_honest(honest.n(), a.about.name);
            if (a.row >= honest.n())
              throw Error("row", std::to_string(a.row),
                          fmt::format("rows are counted from 0, and with {} it must be at "
                                      "most {}",
                                      counted(honest.n(), "row"), honest.n() - 1));
            std::copy_n(honest.row(a.row), d, out.begin());
            repeat_first(out, d);
          },
          [&](const LabelFlip&) {
            throw Error(
                "label-flip takes data with labels to flip, and rows have none; "
                "experiments (kind byzantine) have it.");
          },
          [&](const BitFlip& a) {
            check_honest(honest.n(), a.about.name);
            for (std::size_t k = 0; k < f; ++k)
              flip_bits<T>(a, honest, k, options.round, out.subspan(k * d, d));
          },
          [](const Silent&) {}},
      attack);
  return info;
}

}  // namespace

bool is_optimal(const Attack& attack) {
  const auto* alie = std::get_if<Alie>(&attack);
  const auto* ipm = std::get_if<Ipm>(&attack);
  return (alie != nullptr && alie->strength == kOptimal) ||
         (ipm != nullptr && ipm->strength == kOptimal);
}

bool needs_data(const Attack& attack) { return std::holds_alternative<LabelFlip>(attack); }

std::size_t rows_sent(const Attack& attack, std::size_t f) {
  return std::holds_alternative<Silent>(attack) ? 0 : f;
}

template <Real T>
AttackInfo attack(const Attack& attack, const Rows<T>& honest, std::size_t f,
                  std::type_identity_t<std::span<T>> out,
                  const std::type_identity_t<AttackOptions<T>>& options) {
  std::visit(
      [](const auto& a) {
        for (const Parameter& one : parameters_of(a)) one.check(one.fallback);
      },
      attack);
  const std::size_t rows = rows_sent(attack, f);
  if (out.size() != rows * honest.d())
    throw Error(fmt::format("The rows of {} with {} take {}; there is room for {}.",
                            counted(rows, "liar"), counted(honest.d(), "component"),
                            counted(rows * honest.d(), "number"), out.size()));
  return out.empty() && !needs_data(attack) ? AttackInfo()
                                            : send<T>(attack, honest, f, out, options);
}
template AttackInfo attack(const Attack&, const Rows<float>&, std::size_t, std::span<float>,
                           const AttackOptions<float>&);
template AttackInfo attack(const Attack&, const Rows<double>&, std::size_t, std::span<double>,
                           const AttackOptions<double>&);

std::span<const Entry<Attack>> attacks() {
  static const std::vector<Entry<Attack>> table = []<class... S>(const std::variant<S...>*) {
    return std::vector<Entry<Attack>>{entry_of<Attack>(S{})...};
  }(static_cast<const Attack*>(nullptr));
  return table;
}

const Entry<Attack>& find_attack(std::string_view name) {
  return find_entry(attacks(), "an attack", name);
}

Attack make_attack(std::string_view text) {
  const MethodText given = parse_method_text(text);
  const Entry<Attack>& entry = find_attack(given.name);
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

Rule rule_told(std::string_view text, std::size_t f) {
  MethodText given = parse_method_text(text);
  const Entry<Rule>& entry = find_rule(given.name);
  if (entry.find("f") != nullptr) given.parameters.emplace("f", std::to_string(f));
  return entry.make(read_parameters(entry.name, entry.parameters, given.parameters));
}

}  // namespace medgrad
