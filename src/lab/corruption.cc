#include "lab/corruption.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace medgrad::lab {

std::string_view name(Corruption::Kind kind) {
  return kCorruptionKinds[static_cast<std::size_t>(kind)];
}

Corruption::Kind corruption_named(std::string_view text) {
  const auto* const found = std::ranges::find(kCorruptionKinds, text);
  assert(found != kCorruptionKinds.end());
  return static_cast<Corruption::Kind>(found - kCorruptionKinds.begin());
}

Corruption read_corruption(Reader& reader) {
  Corruption made;
  made.kind =
      corruption_named(reader.word("kind", kCorruptionKinds, lab::name(Corruption::Kind::scaled)));
  made.share = reader.number("share");
  if (made.kind == Corruption::Kind::scaled) made.factor = reader.number("factor", made.factor);
  if (made.kind == Corruption::Kind::bit_flip)
    made.flips = reader.whole("flips", made.flips, 1, kMostFlips);
  if (!range::share.contains(made.share) || !std::isfinite(made.factor))
    reader.fail(reader.node(), "'share' must be from 0 to 1, and 'factor' finite.");
  return made;
}

}  // namespace medgrad::lab
