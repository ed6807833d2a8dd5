// That a site asks its peer to send what it can by another one: said there, and heard from there
// (SPEC.md 5.19). Nothing of the link changes by it; who chooses among peers asks.
#pragma once

#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/wire/control/control_link.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::sdr {

/// Thread: the link's owner. Nothing allocates.
class DrainDesk {
 public:
  /// The link is up.
  void begin_epoch(Instant now);
  void end_epoch();

  /// From now on, in this epoch and those that follow.
  void want(bool is_wanted, Instant now);
  Instant due() const { return due_; }
  /// False when `writer` was too full for it.
  bool offer(EnvelopeWriter& writer, Instant now);

  void on_record(const Draining& record);
  /// By the peer, in this epoch.
  bool is_wanted_there() const { return is_wanted_there_; }

 private:
  uint32_t number_ = 0, number_there_ = 0;
  Instant due_ = Instant::never();
  uint8_t said_ = 0;  // times, as far as they count, since it changed or the epoch began
  bool is_up_ = false, is_wanted_ = false, is_wanted_there_ = false;
};

}  // namespace cw::sdr
