// What a link's control tells the rest of the link, and asks of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/sdr/seat/policy_offer.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/sdr/swap/swap_desk.h"
#include "dataplane/wire/control/control.h"

namespace cw::sdr {

/// What the next envelope of a link is. It decides nonces, size and path.
enum class EnvelopeKind : uint8_t {
  Answer,   ///< a hello to a stranger, in nonces of its own
  Hello,    ///< a hello alone, padded to the size of a full data packet [C-10]
  Records,  ///< whatever is due
};

/// The UD payload of a control packet, and how it came.
struct ControlArrival {
  std::span<const uint8_t> bytes;
  uint16_t path = 0;
  uint32_t session = 0;  ///< as Arrival has it
};

/// What the records of an envelope mean to the rest of the link. Called while an envelope is read.
class LinkEvents {
 public:
  /// A new epoch is in force: reset all streams.
  virtual void on_epoch(Instant now) = 0;
  /// Fill `addresses` (one per QP, in order) with where this end receives in it; false: the port
  /// has no queues for that yet.
  virtual bool try_open_queues(std::vector<StreamAddress>& addresses) = 0;
  /// The same for what leaves on these paths, to where the peer receives.
  virtual bool try_connect_queues(std::span<const StreamAddress> addresses, uint16_t paths) = 0;
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
  virtual void on_record(const Draining& record, Instant now) = 0;
  /// Who hears the records of swaps.
  virtual SwapDesk& swaps() = 0;
  /// They have heard one, before anything else of the envelope is: successors know nothing of the
  /// link yet.
  virtual void on_swap(Instant now) = 0;
  virtual void on_rtt(uint16_t path, Duration sample, Instant now) = 0;
  /// Data may take these paths from now on, one bit each.
  virtual void on_paths(uint32_t up, Instant now) = 0;
  /// What this end offers for a QP, by its place in the row of streams; with what a swap has made
  /// its wish, or as it was configured.
  virtual std::vector<PolicyOffer> offers(size_t stream, bool has_wish) const = 0;
  /// The peer's offers, one row for each QP: what both can do is the streams' from now on. Returns
  /// why that is nothing, or an empty text.
  virtual std::string on_offers(std::span<const std::vector<PolicyOffer>> theirs, Instant now) = 0;
  /// Whether the streams have policies for an epoch; until then the link is not up.
  virtual bool has_policies() const = 0;

 protected:
  ~LinkEvents() = default;
};

}  // namespace cw::sdr
