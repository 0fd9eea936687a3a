// What lies beyond a point of a stable law: expected shortfall and moments of its tails.
//
// A tail of index alpha has moments of order p < alpha; of a tail that falls off faster (alpha = 2,
// or the light side of beta = +-1) all are finite. By parts,
//
//     E (X - q)_+^p = p int_0^inf t^{p-1} P(X > q + t) dt,
//
// integrated in s = t^{p - alpha} far out, where P(X > q + t) t^alpha comes to a constant: 1e-9
// relative. The moment of all of |X - location| has a closed form (Zolotarev 1986).
#pragma once

#include "medgrad/stable.h"
#include "medgrad/tail_index.h"

#pragma GCC visibility push(default)
namespace medgrad {

// E (X - q)_+^p for Tail::right, E (q - X)_+^p for Tail::left, their sum for Tail::both. p > 0 and
// q finite (else an Error); infinite where it is.
[[nodiscard]] double tail_moment(const Stable& law, double q, double p = 1,
                                 Tail tail = Tail::right);

// E(X | X > the point that is exceeded with probability `probability`) for Tail::right, and E(X | X
// < the point below which X lies with that probability) for Tail::left; Tail::both is an Error. 0 <
// probability < 1; +-inf where the tail has no mean.
[[nodiscard]] double expected_shortfall(const Stable& law, double probability,
                                        Tail tail = Tail::right);

// E |X - location|^p in the form S1 for -1 < p, infinite for p >= alpha < 2; for alpha = 1 with
// beta != 0 there is none, and an Error.
[[nodiscard]] double absolute_moment(const Stable& law, double p);

}  // namespace medgrad
#pragma GCC visibility pop
