#include "dist/shared_part.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/sample/gram.h"

namespace medgrad::dist {
namespace {

std::vector<std::vector<std::size_t>> chunks_of_all(const Deal& deal, std::size_t d,
                                                    std::size_t ranks) {
  const Chunks chunks = chunks_for(d);
  std::vector<std::vector<std::size_t>> all(ranks);
  for (std::size_t k = 0; k < deal.pieces(); ++k) {
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t at = deal.begin(k, r); at < deal.end(k, r); at += chunks.size)
        all[r].push_back(at / chunks.size);
    }
  }
  return all;
}

// The groups that somebody has whose chunks are these.
std::vector<std::size_t> groups_of(const std::vector<std::size_t>& chunks, std::size_t group) {
  std::vector<std::size_t> groups;
  for (const std::size_t c : chunks) {
    if (c % group == 0) groups.push_back(c / group);
  }
  return groups;
}

}  // namespace

std::size_t SharedPart::cell(std::size_t n, std::size_t d) {
  const estimators::GramRuns runs(n + 1, d);
  return runs.chunks.size * runs.group;
}

SharedPart::SharedPart(Communicator& group, const Deal& deal, std::size_t d)
    : SharedPart(group, chunks_of_all(deal, d, static_cast<std::size_t>(group.size())), d) {}

SharedPart::SharedPart(Communicator& group, std::vector<std::vector<std::size_t>> chunks,
                       std::size_t d)
    : Part(d, chunks[static_cast<std::size_t>(group.rank())]),
      group_(&group),
      all_(std::move(chunks)) {}

void SharedPart::share(std::byte* parts, std::size_t bytes, std::size_t group) const {
  const std::size_t n = all_.size();
  std::vector<std::vector<std::size_t>> groups(n);
  std::size_t most = 0;
  for (std::size_t r = 0; r < n; ++r) {
    groups[r] = groups_of(all_[r], group);
    most = std::max(most, groups[r].size());
  }
  std::vector<std::byte> mine(most * bytes), theirs(n * most * bytes);
  const std::vector<std::size_t>& own = groups[static_cast<std::size_t>(group_->rank())];
  for (std::size_t k = 0; k < own.size(); ++k)
    std::memcpy(mine.data() + k * bytes, parts + own[k] * bytes, bytes);
  group_->all_gather(mine, theirs);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t k = 0; k < groups[r].size(); ++k)
      std::memcpy(parts + groups[r][k] * bytes, theirs.data() + (r * most + k) * bytes, bytes);
  }
}

}  // namespace medgrad::dist
