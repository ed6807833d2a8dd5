// Who is at the other ends, as far as turn and keeper tell each other.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/port/verbs/device/handles.h"

namespace cw::verbs {

/// A link's other end.
struct Peer {
  ibv_gid gid{};
  uint16_t link = 0;
  // The keeper's to write, at any time.
  std::array<std::atomic<ibv_ah*>, limits::paths_max> ways{};  ///< null: not known
  std::atomic<uint32_t> control_qp{0};  ///< what it said when asked; 0: nothing
  // The turn's.
  std::atomic<bool> is_wanted{false};  ///< sent to, and not known well enough
};

/// Thread: any, the rows being constant once made.
class Peers {
 public:
  explicit Peers(size_t count) : count_(count), row_(std::make_unique<Peer[]>(count)) {}

  /// Once all have their address and link.
  void index() {
    for (size_t i = 0; i < count_; ++i) order_.push_back(static_cast<uint16_t>(i));
    std::ranges::sort(order_, [&](uint16_t a, uint16_t b) {
      return compare(row_[a], row_[b].gid, row_[b].link) < 0;
    });
  }
  std::optional<uint16_t> find(const ibv_gid& gid, uint16_t link) const {
    const auto found = std::ranges::partition_point(
        order_, [&](uint16_t each) { return compare(row_[each], gid, link) < 0; });
    if (found == order_.end() || compare(row_[*found], gid, link) != 0) return std::nullopt;
    return *found;
  }
  std::span<Peer> all() const { return {row_.get(), count_}; }
  Peer& at(size_t index) const { return row_[index]; }
  size_t count() const { return count_; }

 private:
  static int compare(const Peer& peer, const ibv_gid& gid, uint16_t link) {
    const int order = std::memcmp(peer.gid.raw, gid.raw, sizeof gid.raw);
    return order != 0 ? order : int{peer.link} - int{link};
  }

  size_t count_;
  std::unique_ptr<Peer[]> row_;
  std::vector<uint16_t> order_;
};

}  // namespace cw::verbs
