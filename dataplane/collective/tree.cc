#include "dataplane/collective/tree.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw::group {
namespace {

/// Between the first of a row and its last.
uint32_t levels_of(size_t members) {
  uint32_t levels = 0;
  for (size_t place = members - 1; place > 0; place = (place - 1) / Tree::fan_out) ++levels;
  return levels;
}

}  // namespace

Tree::Tree(uint16_t rank, const std::vector<uint16_t>& sites) {
  CW_ASSERT(rank < sites.size());
  std::vector<uint16_t> leaders;
  std::vector<bool> has_leader(size_t{1} << 16);
  for (size_t each = 0; each < sites.size(); ++each) {
    const auto number = static_cast<uint16_t>(each);
    if (sites[each] == sites[rank]) neighbours_.push_back(number);
    if (has_leader[sites[each]]) continue;
    has_leader[sites[each]] = true;
    leaders.push_back(number);
  }
  leader_ = neighbours_.front();
  levels_ = std::max(1u, levels_of(sites.size()) + levels_of(leaders.size()));
  hang(rank, neighbours_);
  if (rank == leader_) hang(rank, leaders);
}

/// Into a row whose first has no parent.
void Tree::hang(uint16_t rank, const std::vector<uint16_t>& row) {
  const auto place = static_cast<size_t>(std::ranges::find(row, rank) - row.begin());
  if (place > 0) parent_ = row[(place - 1) / fan_out];
  for (size_t i = 1; i <= fan_out; ++i) {
    const size_t child = place * fan_out + i;
    if (child < row.size()) children_.push_back(row[child]);
  }
}

}  // namespace cw::group
