#include "base/remedy.h"

#include <gtest/gtest.h>

#include "medgrad/error.h"

namespace medgrad {
namespace {

// C++ callers read the names of parameters; whoever has options for them says so, of the same
// sentence.
TEST(Remedy, NamesAreThoseOfWhoeverTalksToTheUser) {
  try {
    throw WithRemedy<Error>([](const auto& name) {
      return std::string("a run is there; choose another ").append(name("out")).append(".");
    });
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a run is there; choose another out.");
    const auto& remedy = dynamic_cast<const Remedy&>(error);
    EXPECT_EQ(remedy.sentence([](std::string_view name) { return std::string("--").append(name); }),
              "a run is there; choose another --out.");
  }
}

}  // namespace
}  // namespace medgrad
