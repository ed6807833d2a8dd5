// Whom a member hears from, and whom it tells, when something is added up over all of a group
// (SPEC.md 18.13): members of a site below its leader, leaders below rank 0, eight to each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cw::group {

/// Thread: any, once made.
class Tree {
 public:
  static constexpr size_t fan_out = 8;

  /// `sites` by rank.
  Tree(uint16_t rank, const std::vector<uint16_t>& sites);

  std::optional<uint16_t> parent() const { return parent_; }  ///< nothing: of rank 0
  std::span<const uint16_t> children() const { return children_; }
  /// From the lowest member to rank 0, or more.
  uint32_t levels() const { return levels_; }
  /// The first of its site.
  uint16_t leader() const { return leader_; }
  /// All of its own site, itself included.
  std::span<const uint16_t> neighbours() const { return neighbours_; }

 private:
  void hang(uint16_t rank, const std::vector<uint16_t>& row);

  std::optional<uint16_t> parent_;
  std::vector<uint16_t> children_, neighbours_;
  uint16_t leader_ = 0;
  uint32_t levels_ = 1;
};

}  // namespace cw::group
