// What to say about a name that does not exist.
//
// A suggestion helps only where it is a likely slip of the pen: a wrong guess is worse than none.
// So a name has to be near, and otherwise the sentence says what there is, or what lists it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace medgrad {

// The candidate that `name` is nearest to, where that is near: at most a third of its characters
// are wrong, missing, too many or swapped with their neighbour, or it is the beginning of that
// candidate alone. Capitals and underscores instead of hyphens are no difference.
[[nodiscard]] std::optional<std::string_view> near_match(
    std::string_view name, std::span<const std::string_view> candidates);

// " Did you mean 'x'?", to follow a sentence; empty where no candidate is near. Options stand
// without quotes.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     std::span<const std::string_view> candidates);

// How a sentence ends that has said that `name` is wrong: ". Did you mean 'x'?" where one is near;
// else, where they are few, "; it must be a, b or c."; else what lists them, as in "; medgrad list
// methods shows all of them." for `listed_by` = "medgrad list methods".
[[nodiscard]] std::string instead_of(std::string_view name,
                                     std::span<const std::string_view> candidates,
                                     std::string_view listed_by = {});

}  // namespace medgrad
