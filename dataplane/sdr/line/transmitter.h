// What a stream needs of its link to put a slot on the wire: routes and transmission numbers.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/serial.h"
#include "dataplane/policy.h"

namespace cw::sdr {

/// One link's sending side. PSNs count per (channel, path) over all QPs of the link, so that every
/// gap a receiver sees is a packet that this path lost or delayed.
class Transmitter {
 public:
  explicit Transmitter(uint16_t paths)
      : paths_(paths), up_(static_cast<uint16_t>((1u << paths) - 1)) {
    CW_ASSERT(paths >= 1 && paths <= limits::paths_max);
  }

  uint16_t paths() const { return paths_; }
  bool is_up(uint16_t path) const { return path < paths_ && (up_ >> path & 1); }
  void set_up(uint16_t path, bool up) {
    up_ = static_cast<uint16_t>(up ? up_ | 1u << path : up_ & ~(1u << path));
  }
  bool has_path() const { return up_ != 0; }

  /// A path for one packet; falls back to any path that is up. There must be one.
  uint16_t choose(uint16_t choice, uint16_t wanted, uint16_t last) {
    if (choice == CW_CHOOSE_ID && is_up(wanted)) return wanted;
    uint16_t path = next_up(turn_);
    if (choice == CW_CHOOSE_NOT_LAST && path == last) path = next_up(after(path));
    turn_ = after(path);
    return path;
  }
  Psn take_psn(uint16_t channel, uint16_t path) {
    Psn& psn = psns_[channel][path];
    const Psn taken = psn;
    ++psn;
    return taken;
  }
  /// A new epoch counts anew, from where the caller likes.
  void restart_psns(Psn first) {
    for (auto& row : psns_) row.fill(first);
  }

 private:
  // Not by a remainder: a division for each packet takes longer than all else here.
  uint16_t after(uint16_t path) const {
    return path + 1 == paths_ ? uint16_t{0} : static_cast<uint16_t>(path + 1);
  }
  uint16_t next_up(uint16_t from) const {
    uint16_t path = from;
    do {
      if (up_ >> path & 1) return path;
      path = after(path);
    } while (path != from);
    return 0;
  }

  uint16_t paths_, up_, turn_ = 0;
  std::array<std::array<Psn, limits::paths_max>, limits::channels_max> psns_{};
};

}  // namespace cw::sdr
