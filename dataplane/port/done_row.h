// What a port that sends payload from where it lies keeps until it is asked: whose payload it has
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/port.h"

namespace cw {

/// A port's packets whose payload elsewhere has been read, until their cookies are asked for. They
/// are free again only then, so that there is a place for each.
class DoneRow {
 public:
  /// Of a port with so many packets.
  explicit DoneRow(size_t packets) : packets_(packets) {}

  /// False: nobody waits to hear of this packet, it is free.
  bool try_keep(Packet& packet) {
    if (packet.payload == nullptr || packet.cookie == 0) return false;
    CW_ASSERT(packets_.try_push(&packet));
    return true;
  }
  /// Fills `out` from the front; returns how many. `set_free(packet)` for each of theirs.
  template <class SetFree>
  size_t take(std::span<uint64_t> out, const SetFree& set_free) {
    size_t count = 0;
    while (count < out.size() && !packets_.is_empty()) {
      Packet* const packet = packets_.pop();
      out[count++] = packet->cookie;
      set_free(packet);
    }
    return count;
  }

 private:
  Ring<Packet*> packets_;
};

}  // namespace cw
