// What a link is made from, and what it tells those who stand behind it (link.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/core/paths.h"
#include "dataplane/sdr/stream_config.h"
#include "dataplane/wire/control.h"
#include "dataplane/wire/description.h"
#include "dataplane/wire/envelope.h"

namespace cw::sdr {

/// 64 bits that nobody can guess, never zero: from the operating system, or from a seed in
/// simulation.
struct RandomSource {
  void* state = nullptr;
  uint64_t (*next)(void* state) = nullptr;

  /// From a seed; `prng` lives longer.
  static RandomSource of(Prng& prng) {
    return {&prng, [](void* state) { return static_cast<Prng*>(state)->next(); }};
  }
  uint64_t fresh() const {
    uint64_t bits = 0;
    while (bits == 0) bits = next(state);
    return bits;
  }
};

/// What this end tells the other about itself.
struct LinkOptions {
  std::string site;          ///< what this end is called; empty: it does not say
  std::string peer_site;     ///< what the other must be called; empty: this end does not ask
  std::string peer_address;  ///< where it is, for sentences
  PairKeys pair_keys;        ///< of `[pair]`, must agree
  MacKey key;
  RandomSource random;
  uint32_t payload_bytes = 1024;  ///< the largest slot this end can take
  uint16_t paths = 1;
  uint16_t qps = 1;
  uint8_t icrc_mode = 0;
  bool sees_psns = true;
  PathOptions path;
  Duration hello_interval_min = Duration::from_ms(20);  ///< while not up, doubling up to ...
  Duration hello_interval_max = Duration::from_ms(500);
  Duration keepalive = Duration::from_s(1);        ///< while up
  Duration probe_interval = Duration::from_s(10);  ///< of a full-size hello on each path, while up
  Duration dead_time = Duration::from_s(15);  ///< of silence, after which the epoch ends [C-29]
  /// The same for an epoch in which no echo has come back: plus an RTT, and doubling from one such
  /// epoch to the next [C-29].
  Duration unconfirmed_time = Duration::from_ms(300);
};

/// What the next envelope of a link is. It decides nonces, size and path.
enum class EnvelopeKind : uint8_t {
  Answer,   ///< a hello to a stranger, in nonces of its own
  Hello,    ///< a hello alone, padded to the size of a full data packet [C-10]
  Records,  ///< whatever is due
};

/// What the records of an envelope mean to the rest of the link. Called while an envelope is read.
class LinkEvents {
 public:
  /// A new epoch is in force: reset all streams, then fill `addresses` (one per QP, in order) with
  /// where this end receives.
  virtual void on_epoch(std::vector<StreamAddress>& addresses, Instant now) = 0;
  /// The link is up: start all streams. `addresses` is where the peer receives, one per QP.
  virtual void on_up(const std::vector<StreamAddress>& addresses, uint32_t payload_bytes,
                     Instant now) = 0;
  /// The epoch is over and no other has begun.
  virtual void on_down(Instant now) = 0;
  virtual void on_record(const ClearToSend& record, Instant now) = 0;
  virtual void on_record(const Probe& record, Instant now) = 0;
  virtual void on_record(const Opened& record, Instant now) = 0;
  virtual void on_record(const BlockClosed& record, Instant now) = 0;
  virtual void on_record(const Closed& record, Instant now) = 0;
  virtual void on_record(const Abandoned& record, Instant now) = 0;
  virtual void on_record(const Note& record, Instant now) = 0;
  virtual void on_record(const PathReport& record, Instant now) = 0;
  virtual void on_rtt(uint16_t path, Duration sample, Instant now) = 0;

 protected:
  ~LinkEvents() = default;
};

}  // namespace cw::sdr
