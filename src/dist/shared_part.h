// The columns of a rank as a part of the whole (core/sample/part.h), shared through a communicator.
#pragma once

#include <cstddef>
#include <vector>

#include "core/sample/part.h"
#include "dist/deal.h"
#include "medgrad/dist/communicator.h"

namespace medgrad::dist {

class SharedPart : public estimators::Part {
 public:
  // The cells of a deal for n workers: whole chunks, and as many as make whole runs of the Gram
  // matrix of n rows and an origin. Those of fewer rows are as long or shorter.
  [[nodiscard]] static std::size_t cell(std::size_t n, std::size_t d);

  SharedPart(Communicator& group, const Deal& deal, std::size_t d);

  void share(std::byte* parts, std::size_t bytes, std::size_t group) const override;

 private:
  SharedPart(Communicator& group, std::vector<std::vector<std::size_t>> chunks, std::size_t d);

  Communicator* group_;
  std::vector<std::vector<std::size_t>> all_;  // the chunks of every rank
};

}  // namespace medgrad::dist
