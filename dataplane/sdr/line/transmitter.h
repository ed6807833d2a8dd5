// What a stream needs of its link to put a slot on the wire: routes and transmission numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/serial.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"

namespace cw::sdr {

/// One link's sending side. PSNs count per (channel, path) over all QPs of the link, so that every
/// gap a receiver sees is a packet that this path lost or delayed.
///
/// Packets that may take any path take those that are up in turns, each as often as its weight says
/// and as evenly as that allows.
class Transmitter {
 public:
  /// `weights` by path, each 1 to path_weight_max; empty: all alike.
  explicit Transmitter(uint16_t paths, std::span<const uint8_t> weights = {});

  uint16_t paths() const { return paths_; }
  /// One bit for each path that data may take, at least one.
  void set_up(uint32_t up);
  bool is_up(uint16_t path) const { return path < paths_ && (up_ >> path & 1) != 0; }

  /// A path for one packet; falls back to any path that is up. `last` is not among those that are
  /// chosen from, where there is another.
  uint16_t choose(uint16_t choice, uint16_t wanted, uint16_t last) {
    if (choice == CW_CHOOSE_ID && is_up(wanted)) return wanted;
    uint16_t path = next();
    if (choice == CW_CHOOSE_NOT_LAST && has_several_) {
      while (path == last) path = next();
    }
    return path;
  }
  Psn take_psn(uint16_t channel, uint16_t path) {
    Psn& psn = psns_[channel][path];
    const Psn taken = psn;
    ++psn;
    return taken;
  }
  /// Packets that took the path in this epoch, in 24 bits.
  uint32_t sent(uint16_t path) const;
  /// A new epoch counts anew.
  void restart_psns();

 private:
  // By a table: finding the next one that is up takes longer than all else here.
  uint16_t next() {
    const uint8_t path = turns_[turn_];
    if (++turn_ == turn_count_) turn_ = 0;
    return path;
  }

  uint16_t paths_;
  uint16_t turn_ = 0, turn_count_ = 0;
  bool has_several_ = false;
  uint32_t up_ = 0;
  std::array<uint8_t, limits::paths_max> weights_{};
  std::array<uint8_t, limits::paths_max * path_weight_max> turns_{};
  std::array<std::array<Psn, limits::paths_max>, limits::channels_max> psns_{};
};

}  // namespace cw::sdr
