// Puts downloaded files into place as a data set.
#pragma once

#include <filesystem>

#include "text/data_sets.h"
#include "text/verify.h"

namespace medgrad::text {

// Finds the files of the set, by name, anywhere in `from`: a folder, or an archive (.tar, .tgz,
// .tar.gz, .tar.bz2, .tar.xz, .zip), which the system's tar or unzip unpacks. They are copied,
// verified, and appear as the folder `to`/NAME, whole or not at all. Returns what verification
// found.
//
// Throws Error where `from` is none of these, a file of the set is missing, verification finds
// something wrong, or the folder is there already: nothing is overwritten.
Verdict prepare(const DataSet& set, const std::filesystem::path& from,
                const std::filesystem::path& to);

}  // namespace medgrad::text
