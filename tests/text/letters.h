// A tokenizer and questions small enough to follow by eye.
#pragma once

#include <string>
#include <vector>

#include "text/squad.h"
#include "text/wordpiece.h"

namespace medgrad::text {

// Letters and continuation letters: every letter of a word is a token.
inline WordPiece letters() {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  for (char c = 'a'; c <= 'z'; ++c) {
    pieces.push_back({c});
    pieces.push_back({'#', '#', c});
  }
  return WordPiece(std::move(pieces));
}

inline QuestionSet one_question(const std::string& context, const std::string& question,
                                const std::string& answer) {
  return {{context}, {{"id", question, 0, {{answer, context.find(answer)}}}}};
}

}  // namespace medgrad::text
