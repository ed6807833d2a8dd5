// Payload that a port has copied, so that whoever lent it may have it back: a packet's at once, and
// memory outside by its cookie, when somebody asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/wan.h"

namespace cw::pass {

/// Thread: the port's.
class Copied {
 public:
  /// For so many more, of memory outside.
  size_t room() const { return cookies_.size() - count_; }
  /// There is room.
  void release(const Send& send);
  /// Packets that were released, to `port`, whose they are. Before a send() returns.
  void give_back(PortBase& port);
  /// As WanPort::take_done().
  size_t take(std::span<uint64_t> out);

 private:
  std::array<uint64_t, limits::burst_packets_max> cookies_{};
  size_t count_ = 0;
  std::array<Packet*, limits::burst_packets_max> packets_{};
  size_t packets_count_ = 0;
};

}  // namespace cw::pass
