// The UD queue pair of one link's number, for all peers: what it receives lies in buffers of its
// own, behind the forty bytes that hold the IP header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/port/verbs/device/outer_header.h"
#include "dataplane/port/verbs/queues/receiver.h"
#include "dataplane/port/verbs/queues/sender.h"
#include "dataplane/port/verbs/queues/tag.h"

namespace cw::verbs {

struct ControlQueue {
  static constexpr uint32_t receives = 256;
  static constexpr uint32_t sends = 256;

  ControlQueue() : sender(sends) {}

  std::optional<Buffers> buffers;  ///< longer than the pair that receives into them
  Sender sender;                   ///< its pair receives, too
  uint32_t buffer_bytes = 0, key = 0;

  /// Empties these buffers; false: the queue takes no more.
  bool post(std::span<const uint16_t> indexes) {
    std::array<ibv_recv_wr, limits::burst_packets_max> requests{};
    std::array<ibv_sge, limits::burst_packets_max> pieces{};
    if (indexes.empty()) return true;
    Tag tag = Tag::of(sender.tag);
    for (size_t i = 0; i < indexes.size(); ++i) {
      tag.count = indexes[i];
      pieces[i] = {reinterpret_cast<uintptr_t>(buffers->at(indexes[i])), buffer_bytes, key};
      requests[i] = {.wr_id = tag.bits(),
                     .next = i + 1 < indexes.size() ? &requests[i + 1] : nullptr,
                     .sg_list = &pieces[i],
                     .num_sge = 1};
    }
    ibv_recv_wr* refused = nullptr;
    return ibv_post_recv(sender.pair.get(), requests.data(), &refused) == 0;
  }
  bool post_all() {
    std::array<uint16_t, limits::burst_packets_max> row;
    for (uint32_t first = 0; first < receives; first += row.size()) {
      for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint16_t>(first + i);
      if (!post(row)) return false;
    }
    return true;
  }
};

}  // namespace cw::verbs
