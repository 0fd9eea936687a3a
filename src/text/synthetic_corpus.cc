#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "text/synthetic.h"
#include "text/uniforms.h"

namespace medgrad::text {
namespace {

void check(bool good, const std::string& sentence) {
  if (!good) throw Error(fmt::format("a synthetic corpus: {}", sentence));
}

void check(const SyntheticCorpusOptions& o) {
  check(o.train >= 1 && o.valid >= 1 && o.test >= 1, "every part must have 1 token or more.");
  check(o.words >= 1 && o.words <= 100'000'000,
        fmt::format("words is {}; it must be in [1, 100000000].", o.words));
  check(std::isfinite(o.exponent) && o.exponent >= 0,
        fmt::format("exponent is {}; it must be 0 or more.", number(o.exponent)));
  check(o.sentence >= 1, "sentence is 0; it must be 1 or more.");
  check(o.topics >= 1, "topics is 0; it must be 1 or more.");
  check(o.passage >= 1, "passage is 0; it must be 1 or more.");
  check(o.copy >= 0 && o.copy < 1,
        fmt::format("copy is {}; it must be in [0, 1).", number(o.copy)));
  check(o.nearest >= 1 && o.farthest >= o.nearest,
        fmt::format("copies come from {} to {} words before; the first must be 1 or more, and the "
                    "second no less.",
                    o.nearest, o.farthest));
}

// A law on some numbers, drawn from by bisection of its distribution function.
class Law {
 public:
  void add(std::size_t value, double weight) {
    values_.push_back(value);
    sums_.push_back((sums_.empty() ? 0 : sums_.back()) + weight);
  }
  [[nodiscard]] double weight() const { return sums_.empty() ? 0 : sums_.back(); }
  [[nodiscard]] std::size_t draw(double u) const {
    const auto at = std::ranges::upper_bound(sums_, u * sums_.back());
    return values_[std::min(static_cast<std::size_t>(at - sums_.begin()), values_.size() - 1)];
  }

 private:
  std::vector<std::size_t> values_;
  std::vector<double> sums_;
};

struct Laws {
  Law common, topic;
  std::vector<Law> of_topic;

  explicit Laws(const SyntheticCorpusOptions& o) : of_topic(o.topics) {
    const std::size_t shared = std::min(o.common, o.words);
    for (std::size_t rank = 1; rank <= o.words; ++rank) {
      const double weight = std::pow(static_cast<double>(rank), -o.exponent);
      (rank <= shared ? common : of_topic[(rank - shared - 1) % o.topics]).add(rank, weight);
    }
    for (std::size_t t = 0; t < o.topics; ++t)
      if (of_topic[t].weight() > 0) topic.add(t, of_topic[t].weight());
  }
};

void add_part(const SyntheticCorpusOptions& o, const Laws& laws,
              const std::vector<std::string>& names, std::size_t tokens, std::uint64_t stream,
              CorpusBuilder& builder) {
  Uniforms uniforms(o.seed, stream);
  std::vector<std::size_t> ranks;  // so far; 0 is <eos>
  ranks.reserve(tokens);
  const double common = laws.common.weight(), content = laws.topic.weight();
  const double ends = 1 / (static_cast<double>(o.sentence) + 1);
  std::size_t topic = 0, distance = 0;
  while (ranks.size() < tokens) {
    if (ranks.size() % o.passage == 0) {
      if (content > 0) topic = laws.topic.draw(uniforms.next());
      distance = o.nearest + uniforms.below(o.farthest - o.nearest + 1);
    }
    std::size_t rank = 0;
    if (uniforms.next() >= ends) {
      const bool copied = uniforms.next() < o.copy && distance <= ranks.size();
      if (copied) rank = ranks[ranks.size() - distance];
      if (rank == 0) {
        const bool shared = content == 0 || uniforms.next() * (common + content) < common;
        rank = (shared ? laws.common : laws.of_topic[topic]).draw(uniforms.next());
      }
      builder.add(names[rank]);
    } else {
      builder.end_line();
    }
    ranks.push_back(rank);
  }
}

}  // namespace

Corpus synthetic_corpus(const SyntheticCorpusOptions& options) {
  check(options);
  const Laws laws(options);
  std::vector<std::string> names = {std::string(kEndOfSentence)};
  for (std::size_t rank = 1; rank <= options.words; ++rank)
    names.push_back("w" + std::to_string(rank));
  CorpusBuilder builder;
  add_part(options, laws, names, options.train, 0, builder);
  builder.next_part();
  add_part(options, laws, names, options.valid, 1, builder);
  builder.next_part();
  add_part(options, laws, names, options.test, 2, builder);
  return builder.finish();
}

}  // namespace medgrad::text
