// Everything that experiments can be: the synthetic kinds, and those on language models.
//
// To add a kind: a function that reads a document and gives a study, one line in the table of
// experiments.cc; files of that kind go into experiments/ and the list in src/CMakeLists.txt.
#pragma once

#include "lab/study.h"

namespace medgrad::language {

[[nodiscard]] const lab::Catalogue& catalogue();

}  // namespace medgrad::language
