// Which path a slot takes to a member: the slots of a message go over all of them in turn, so that
// the holes of it name the path that lost them, without a number on any packet. A path that loses
// much more than the others is left out, but for a slot now and then that looks whether it still
// does.
//
//   up --- lost 8 or more, and more than four times the median's ---> down
//      <-- a period in which it lost none of those that looked ------
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"

namespace cw::group {

/// Towards each member. Thread: one. Allocates when made.
class Spray {
 public:
  static constexpr uint32_t paths_max = 16;
  static constexpr uint32_t period_slots = 1024;  ///< to one member, after which losses count half

  Spray(size_t members, uint32_t paths) : rows_(paths > 1 ? members : 0), paths_(paths) {
    CW_ASSERT(paths >= 1 && paths <= paths_max);
  }
  uint32_t paths() const { return paths_; }

  /// Of a slot that leaves for the first time.
  uint8_t path_of(uint16_t rank, uint32_t message, uint32_t slot) const {
    if (paths_ == 1) return 0;
    const uint32_t turn = turn_of(message, slot), path = turn % paths_;
    const Row& row = rows_[rank];
    if ((row.down >> path & 1) == 0 || turn == path) return static_cast<uint8_t>(path);
    return nth_up(row, turn / paths_);
  }
  /// Of one that leaves again, where another path is up: not the one before; `salt` spreads them.
  uint8_t other_path(uint16_t rank, uint32_t message, uint32_t slot, uint32_t salt) const {
    if (paths_ == 1) return 0;
    const uint8_t before = path_of(rank, message, slot);
    const uint8_t path = nth_up(rows_[rank], salt);
    return path == before ? nth_up(rows_[rank], salt + 1) : path;
  }
  void note_sent(uint16_t rank, uint32_t slots) {
    if (paths_ == 1) return;
    Row& row = rows_[rank];
    row.sent += slots;
    if (row.sent >= period_slots) begin_period(row);
  }
  /// It has left once, and is asked for.
  void note_lost(uint16_t rank, uint32_t message, uint32_t slot) {
    if (paths_ == 1) return;
    Row& row = rows_[rank];
    const uint8_t path = path_of(rank, message, slot);
    if (row.lost[path] < UINT8_MAX) ++row.lost[path];
    const bool is_alone = std::popcount(static_cast<unsigned>(row.down)) + 1u >= paths_;
    if (row.lost[path] >= lost_min && row.lost[path] > 4 * median(row) && !is_alone) {
      row.down = static_cast<uint16_t>(row.down | 1u << path);
    }
  }
  bool is_down(uint16_t rank, uint8_t path) const {
    return paths_ > 1 && (rows_[rank].down >> path & 1) != 0;
  }

 private:
  static constexpr uint8_t lost_min = 8;
  static constexpr uint32_t turns = 64;

  struct Row {
    std::array<uint8_t, paths_max> lost{};
    uint16_t down = 0;
    uint32_t sent = 0;
  };
  static uint32_t turn_of(uint32_t message, uint32_t slot) { return (slot + 7 * message) % turns; }
  uint8_t nth_up(const Row& row, uint32_t n) const {
    uint32_t up = ~uint32_t{row.down} & ((1u << paths_) - 1);
    for (n %= static_cast<uint32_t>(std::popcount(up)); n > 0; --n) up &= up - 1;
    return static_cast<uint8_t>(std::countr_zero(up));
  }
  uint32_t median(const Row& row) const {
    std::array<uint8_t, paths_max> sorted = row.lost;
    const auto middle = sorted.begin() + (paths_ - 1) / 2;
    std::nth_element(sorted.begin(), middle, sorted.begin() + paths_);
    return *middle;
  }
  void begin_period(Row& row) const {
    row.sent = 0;
    for (uint32_t path = 0; path < paths_; ++path) {
      const bool was_down = (row.down >> path & 1) != 0;
      if (was_down && row.lost[path] == 0)
        row.down = static_cast<uint16_t>(row.down & ~(1u << path));
      row.lost[path] = was_down ? 0 : row.lost[path] / 2;
    }
  }

  std::vector<Row> rows_;
  uint32_t paths_;
};

}  // namespace cw::group
