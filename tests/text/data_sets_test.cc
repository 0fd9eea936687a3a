// Where data is looked for, what is said where it is not there, digests, and putting it into place.
#include "text/data_sets.h"

#include <gtest/gtest.h>

#include "io/temporary_folder.h"
#include "text/data.h"
#include "text/encoder_title.h"
#include "text/prepare.h"
#include "text/sha256.h"
#include "text/verify.h"

namespace medgrad::text {
namespace {

namespace fs = std::filesystem;
using medgrad::testing::content;
using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::message_of;
using medgrad::testing::real_data;
using medgrad::testing::TemporaryFolder;
using medgrad::testing::Variable;

TEST(DataFolders, FollowTheEnvironment) {
  const Variable home("HOME", "/h");
  std::vector<fs::path> expected = {"/d", "/x/medgrad"};
  {
    const Variable data("MEDGRAD_DATA", "/d"), xdg("XDG_DATA_HOME", "/x");
    EXPECT_TRUE(std::ranges::equal(DataFolders::from_environment().places(), expected));
  }
  const Variable data("MEDGRAD_DATA", nullptr), xdg("XDG_DATA_HOME", "relative");
  expected = {"/h/.local/share/medgrad"};
  EXPECT_TRUE(std::ranges::equal(DataFolders::from_environment().places(), expected));
  const Variable no_home("HOME", nullptr);
  EXPECT_TRUE(DataFolders::from_environment().places().empty());
}

void make_ptb(const TemporaryFolder& root, std::initializer_list<const char*> files) {
  fs::create_directory(root / "ptb");
  for (const char* const file : files) (void)root.file(std::string("ptb/") + file, "a b\n");
}

TEST(DataFolders, TakeTheFirstPlaceThatHasAllFiles) {
  const TemporaryFolder first, second;
  const DataFolders folders({first / "", second / ""});
  EXPECT_FALSE(folders.look(data_set("ptb")).complete());
  make_ptb(second, {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"});
  make_ptb(first, {"ptb.train.txt"});
  EXPECT_EQ(folders.require("ptb"), fs::path(second / "ptb"));
  (void)first.file("ptb/ptb.valid.txt", "x");
  (void)first.file("ptb/ptb.test.txt", "x");
  EXPECT_EQ(folders.require("ptb"), fs::path(first / "ptb"));
}

TEST(DataFolders, SayWhatIsMissingAndWhereItIsPublished) {
  const TemporaryFolder root;
  const DataFolders folders({"/a", root / ""});
  const std::string from =
      " from Mikolov's simple-examples.tgz at http://www.fit.vutbr.cz/~imikolov/rnnlm/, or see "
      "medgrad help data.";
  EXPECT_EQ(message_of([&] { return folders.require("ptb"); }),
            "the data set ptb was not found in /a/ptb or " + (root / "ptb") +
                "; get its ptb.train.txt, ptb.valid.txt and ptb.test.txt" + from);
  make_ptb(root, {"ptb.train.txt"});
  EXPECT_EQ(message_of([&] { return folders.require("ptb"); }),
            (root / "ptb") + " lacks ptb.valid.txt and ptb.test.txt; get them" + from);
  EXPECT_EQ(
      message_of([&] { return DataFolders({}).require("ptb"); }),
      "there is no folder to look for the data set ptb in; set MEDGRAD_DATA to a folder, and get "
      "its ptb.train.txt, ptb.valid.txt and ptb.test.txt" +
          from);
  EXPECT_EQ(message_of([&] { return folders.require("pbt"); }),
            "'pbt' is not a data set. Did you mean 'ptb'?");
}

// The examples of FIPS 180-4 and of NIST's validation suite.
TEST(Sha256, EqualsThePublishedExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
             "klmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

TEST(Verify, SaysWhatIsNotAsPublished) {
  const TemporaryFolder root;
  make_ptb(root, {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"});
  (void)root.file("SHA256SUMS", sha256("a b\n") + "  ptb/ptb.test.txt\n" + std::string(64, '0') +
                                    "  ptb/ptb.train.txt\n");
  const Verdict verdict = verify(data_set("ptb"), root / "ptb");
  EXPECT_FALSE(verdict.good());
  ASSERT_EQ(verdict.findings.size(), 5U);
  EXPECT_EQ(verdict.findings[0].what, "train: 3 tokens in 1 line");
  EXPECT_EQ(verdict.findings[0].expected, "train: 929589 tokens in 42068 lines");
  EXPECT_EQ(verdict.findings[4].what,
            "ptb.train.txt: the SHA-256 checksum differs from the one in SHA256SUMS");
  (void)root.file("ptb/ptb.valid.txt", "\xff\n");
  EXPECT_EQ(verify(data_set("ptb"), root / "ptb").findings[0].what,
            (root / "ptb/ptb.valid.txt") + ":1: the line is not UTF-8 text.");
}

TEST(EncoderTitle, IsThatOfTheConfiguration) {
  EXPECT_EQ(encoder_title("distilbert", 6, 768), "DistilBERT");
  EXPECT_EQ(encoder_title("bert", 6, 384), "MiniLM-L6");
  EXPECT_EQ(encoder_title("bert", 6, 768), "a BERT-type encoder of 6 layers of 768");
  EXPECT_EQ(encoder_title("distilbert", 1, 384), "a BERT-type encoder of 1 layer of 384");
}

TEST(Prepare, RefusesWhatIsNotTheDataAndLeavesNothingBehind) {
  const TemporaryFolder from, to;
  const auto error_of = [&](const std::string& what) {
    return message_of([&] { return prepare(data_set("ptb"), what, to / ""); });
  };
  EXPECT_EQ(error_of(from / "none"), (from / "none") + " does not exist.");
  EXPECT_EQ(
      error_of(from.file("x.rar", "")),
      "from is '" + (from / "x.rar") +
          "'; it must be a folder, or a .tar, .tgz, .tar.gz, .tar.bz2, .tar.xz or .zip file.");
  EXPECT_EQ(error_of(from.file("x.tgz", "garbage")),
            (from / "x.tgz") + " cannot be unpacked: tar says that it is damaged.");
  EXPECT_EQ(
      error_of(from / ""),
      (from / "") +
          " has no ptb.train.txt, ptb.valid.txt and ptb.test.txt; ptb is published as Mikolov's "
          "simple-examples.tgz at http://www.fit.vutbr.cz/~imikolov/rnnlm/.");
  make_ptb(from, {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"});
  EXPECT_EQ(error_of(from / ""), (from / "") +
                                     " is not the published ptb: found train: 3 tokens in 1 line, "
                                     "expected train: 929589 tokens in 42068 lines.");
  EXPECT_EQ(to.files(), 0U);
  make_ptb(to, {});
  EXPECT_EQ(error_of(from / ""),
            (to / "ptb") + " already exists; remove it, or choose another to.");
}

TEST(RealData, IsAsPublishedAndIsPutIntoPlace) {
  if (lacks("ptb")) GTEST_SKIP() << kNeedsData;
  const TemporaryFolder to;
  EXPECT_TRUE(prepare(data_set("ptb"), real_data(), to / "new").good());
  EXPECT_EQ(content(to / "new/ptb/ptb.test.txt"), content(real_data() / "ptb" / "ptb.test.txt"));
  EXPECT_EQ(DataFolders({to / "new"}).require("ptb"), fs::path(to / "new/ptb"));
  for (const std::string_view name : {"ptb", "wikitext-2", "minilm-l6"}) {
    if (!fs::exists(real_data() / name)) continue;
    for (const Finding& finding : verify(data_set(name), real_data() / name).findings)
      EXPECT_TRUE(finding.good) << finding.what << ", " << finding.expected;
  }
  if (fs::exists(real_data() / "minilm-l6")) {
    EXPECT_NE(message_of([&] {
                return prepare(data_set("distilbert"), real_data() / "minilm-l6", to / "other");
              }).find("found config.json: MiniLM-L6, expected config.json: DistilBERT"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace medgrad::text
