#include "text/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/file.h"
#include "base/place.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "medgrad/error.h"
#include "text/corpus.h"
#include "text/encoder_title.h"
#include "text/sha256.h"
#include "text/squad.h"
#include "text/unicode.h"
#include "text/wordpiece.h"

namespace medgrad::text {
namespace {

namespace fs = std::filesystem;

void compare(Verdict& verdict, const std::string& is, const std::string& should_be) {
  verdict.findings.push_back({is, is == should_be, is == should_be ? "" : should_be});
}

// ---- Corpora ------------------------------------------------------------------------------------

struct CorpusFigures {
  std::size_t tokens[3], lines[3], vocabulary;
};
struct KnownCorpus {
  std::string_view name;
  Corpus (*read)(const fs::path&);
  CorpusFigures figures;
};
constexpr KnownCorpus kCorpora[] = {
    {"ptb", read_ptb, {{929589, 73760, 82430}, {42068, 3370, 3761}, 10000}},
    {"wikitext-2", read_wikitext2, {{2088628, 217646, 245569}, {36718, 3760, 4358}, 33278}}};

void verify_corpus(const Corpus& corpus, const CorpusFigures& known, Verdict& verdict) {
  const std::vector<TokenId>* const parts[] = {&corpus.train, &corpus.valid, &corpus.test};
  const char* const names[] = {"train", "valid", "test"};
  const auto told = [](const char* name, std::size_t tokens, std::size_t lines) {
    return fmt::format("{}: {} in {}", name, counted(tokens, "token"), counted(lines, "line"));
  };
  for (std::size_t i = 0; i < 3; ++i) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(*parts[i], 0));
    compare(verdict, told(names[i], parts[i]->size(), lines),
            told(names[i], known.tokens[i], known.lines[i]));
  }
  compare(verdict, "vocabulary: " + counted(corpus.vocabulary.size(), "word"),
          "vocabulary: " + counted(known.vocabulary, "word"));
}

// ---- Questions ----------------------------------------------------------------------------------

void verify_questions(const fs::path& file, std::size_t known, Verdict& verdict) {
  const QuestionSet set = read_squad(file);
  const std::string name = file.filename().string() + ": ";
  compare(verdict, name + counted(set.questions.size(), "question"),
          name + counted(known, "question"));
  std::size_t answers = 0, in_place = 0;
  for (const Question& question : set.questions) {
    for (const Answer& answer : question.answers) {
      ++answers;
      const std::string_view there = characters(set.contexts[question.context], answer.start,
                                                answer.start + count_characters(answer.text));
      in_place += there == answer.text ? 1 : 0;
    }
  }
  // A few may stand elsewhere than they say; a file with many is another text.
  verdict.findings.push_back({fmt::format("{}{} of {} are where they should be", name, in_place,
                                          counted(answers, "answer")),
                              in_place >= answers - answers / 100, ""});
}

// ---- Checkpoints --------------------------------------------------------------------------------

// The value of the first key that is there.
std::size_t setting(const Node& config, std::initializer_list<std::string_view> keys,
                    const std::string& file) {
  const Place root(file);
  for (const std::string_view key : keys)
    if (const Node* const found = config.find(key))
      return whole_number_of(*found, Place(root, key));
  return whole_number_of(member(config, *keys.begin(), root), root);
}

// The encoder that a data set is to hold.
std::string_view title_of(const DataSet& set) {
  return set.name == "distilbert" ? kDistilBert : kMiniLm;
}

void verify_checkpoint(const DataSet& set, const fs::path& folder, Verdict& verdict) {
  const std::string config_name = (folder / "config.json").string();
  const Node config = parse_document(read_whole(config_name), config_name);
  const std::size_t words = setting(config, {"vocab_size"}, config_name);
  const std::size_t width = setting(config, {"hidden_size", "dim"}, config_name);
  const std::size_t layers = setting(config, {"num_hidden_layers", "n_layers"}, config_name);
  const Node* const named = config.find("model_type");
  const std::string type =
      named == nullptr ? "" : text_of(*named, Place(Place(config_name), "model_type"));
  compare(verdict, "config.json: " + encoder_title(type, layers, width),
          "config.json: " + std::string(title_of(set)));

  compare(verdict, "vocab.txt: " + counted(WordPiece::read(folder / "vocab.txt").size(), "piece"),
          "vocab.txt: " + counted(words, "piece"));

  const SafeTensors tensors(folder / "model.safetensors");
  const std::string embedding = "embeddings.word_embeddings.weight";
  std::size_t parameters = 0, not_finite = 0, fitting = 0;
  for (const StoredTensor& tensor : tensors.tensors()) {
    if (tensor.name.ends_with(embedding) && tensor.shape == std::vector{words, width}) ++fitting;
    if (tensor.type != "F32" && tensor.type != "F16" && tensor.type != "BF16") continue;
    parameters += tensor.elements;
    for (const float x : tensors.read(tensor.name)) not_finite += std::isfinite(x) ? 0 : 1;
  }
  verdict.findings.push_back({fmt::format("model.safetensors: {}, {}, {} of them not finite",
                                          counted(tensors.tensors().size(), "tensor"),
                                          counted(parameters, "number"), not_finite),
                              not_finite == 0 && parameters > 0, ""});
  verdict.findings.push_back(
      {fmt::format("model.safetensors: {} {} the vocabulary", embedding,
                   fitting == 1 ? "fits" : "does not fit"),
       fitting == 1, fitting == 1 ? "" : fmt::format("one of shape ({}, {})", words, width)});
}

// ---- Digests ------------------------------------------------------------------------------------

// "<64 digits>  name" or "<64 digits> *name"; other lines belong to somebody else.
std::string digest_in(const fs::path& sums, const std::string& name) {
  const std::string content = read_whole(sums);
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    const std::string_view line = std::string_view(content).substr(at, end - at);
    at = end + 1;
    if (line.size() > 66 && line[64] == ' ' && line.substr(66) == name)
      return std::string(line.substr(0, 64));
  }
  return {};
}

void verify_digests(const DataSet& set, const fs::path& folder, Verdict& verdict) {
  std::size_t right = 0, known = 0;
  for (const std::string_view file : set.files) {
    std::string expected;
    std::error_code ignored;
    if (fs::is_regular_file(folder / "SHA256SUMS", ignored))
      expected = digest_in(folder / "SHA256SUMS", std::string(file));
    const fs::path above = folder.parent_path() / "SHA256SUMS";
    if (expected.empty() && fs::is_regular_file(above, ignored))
      expected = digest_in(above, folder.filename().string() + "/" + std::string(file));
    if (expected.empty()) continue;
    ++known;
    if (sha256(MappedFile(folder / file).bytes()) == expected) {
      ++right;
    } else {
      verdict.findings.push_back(
          {std::string(file) + ": the SHA-256 checksum differs from the one in SHA256SUMS", false,
           expected});
    }
  }
  if (known > 0 && right == known)
    verdict.findings.push_back({"SHA-256 checksums of " + counted(known, "file"), true, ""});
}

// A refusal of a reader is a finding; the checks after it still run.
void guarded(Verdict& verdict, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    verdict.findings.push_back({error.what(), false, ""});
  }
}

}  // namespace

bool Verdict::good() const { return std::ranges::all_of(findings, &Finding::good); }

Verdict verify(const DataSet& set, const fs::path& folder) {
  Verdict verdict;
  switch (set.kind) {
    case DataKind::corpus:
      guarded(verdict, [&] {
        const KnownCorpus& known = *std::ranges::find(kCorpora, set.name, &KnownCorpus::name);
        verify_corpus(known.read(folder), known.figures, verdict);
      });
      break;
    case DataKind::questions:
      guarded(verdict, [&] { verify_questions(folder / "train-v1.1.json", 87599, verdict); });
      guarded(verdict, [&] { verify_questions(folder / "dev-v1.1.json", 10570, verdict); });
      break;
    case DataKind::checkpoint:
      guarded(verdict, [&] { verify_checkpoint(set, folder, verdict); });
      break;
  }
  guarded(verdict, [&] { verify_digests(set, folder, verdict); });
  return verdict;
}

}  // namespace medgrad::text
