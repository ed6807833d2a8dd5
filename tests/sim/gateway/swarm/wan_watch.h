// Listens at the WAN ports of all gateways, with the key, and holds what they send against what
// they may: credit, rate, overhead_limit, and how many resends were for nothing. It trusts no
// counter of theirs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dataplane/sdr/endpoint.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/sim/gateway/seal_watch.h"
#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/swarm/verdicts.h"

namespace cw::sim {

/// A bucket that leaks at a rate: how far somebody is ahead of it.
class LeakyBucket {
 public:
  void pour(uint64_t bytes, Rate rate, Instant now);
  uint64_t bytes() const { return static_cast<uint64_t>(level_); }

 private:
  double level_ = 0;
  Instant at_;
};

/// What one SDR QP carries one way, slot by slot.
class SlotWatch {
 public:
  enum class Kind : uint8_t { Data, Resend, Repair };
  explicit SlotWatch(const sdr::StreamConfig& config);

  /// The receiver has begun anew.
  void reset();
  /// `hears`: the sender has been told of late what has arrived.
  Kind on_sent(const SlotWrite& slot, bool hears);
  void on_arrived(const SlotWrite& slot);
  /// Nothing, or how the receiver promises what it does not have.
  std::string on_clear(const ClearToSend& clear);
  /// Nothing, or how the sender uses what it was not given.
  std::string overdraft() const;

  const sdr::StreamConfig& config() const { return config_; }
  uint64_t sent = 0, resent = 0;            ///< slots of data
  uint64_t arrived = 0, arrived_again = 0;  ///< each transmission once
  uint64_t unheard = 0;                     ///< of those again: what left while nothing was heard

 private:
  struct Life {
    uint32_t qpn = UINT32_MAX;
    std::vector<bool> sent;
    std::vector<uint32_t> psns;  // by which a slot came; none: not yet
    std::vector<bool> unheard;   // sent again while nothing was heard
  };
  static constexpr uint32_t none = UINT32_MAX;
  Life& life_of(const SlotWrite& slot) {
    return lives_[config_.split.unpack(slot.immediate).id % config_.messages];
  }

  sdr::StreamConfig config_;
  std::vector<Life> lives_;
  uint64_t lives_begun_ = 0, slots_used_ = 0;
  uint64_t slot_limit_ = 0;
  uint32_t message_limit_ = 0;
};

class WanWatch final : public WanTap {
 public:
  struct Totals {
    uint64_t sent = 0, resent = 0, lost = 0, arrived_again = 0, unheard = 0;
    uint64_t links = 0;  ///< that have carried any, each way
  };
  /// `seals` knows the keys of sites that seal.
  WanWatch(Verdicts& verdicts, const SealWatch& seals) : verdicts_(verdicts), seals_(seals) {}
  /// `sites` are those that it taps; before their first turn. So many bursts may be ahead of the
  /// rate: one of each set of links, and what an older one resends beside the newer. Who has had no
  /// word for `word_patience`, as a burst on the way back may take all, hears nothing until as long
  /// after it.
  void begin(Sites& sites, uint64_t bursts, Duration word_patience);

  void on_sent(const WanEnd& end, const Packet& packet, Instant now) override;
  void on_received(const WanEnd& end, const Packet& packet, Instant now) override;
  /// The next process there has spent nothing yet.
  void on_crash(int site);
  /// Of one class, over all links.
  Totals totals(size_t class_index) const;
  /// Its own, in turns of gateways.
  uint64_t allocation_count() const { return allocations_; }

 private:
  /// One site's sending to another, by one link.
  struct Way {
    std::vector<SlotWatch> streams;
    std::map<uint32_t, size_t> streams_by_qpn;
    std::vector<uint32_t> keys;  // by which the receiver knows the streams
  };
  /// Of the receiver's description, until its link is known.
  struct Parts {
    std::map<uint16_t, std::vector<uint8_t>> bytes;
    std::optional<uint16_t> number;
  };
  /// And by all.
  struct Road {
    PacerOptions pacer;
    uint64_t links = 1;
    LeakyBucket line, overhead;
    Instant word, deaf_until;
  };
  static int key_of(int from, int to, uint16_t link) { return (from * 100 + to) * 100 + link; }
  /// What this end sends, and what it receives, by the link or by the one that takes its place: as
  /// the numbers of its QPs tell.
  Way& sent_by(const WanEnd& end, uint16_t number) {
    return ways_.at(key_of(end.site, end.other(), number));
  }
  Way& sent_to(const WanEnd& end, uint16_t number) {
    return ways_.at(key_of(end.other(), end.site, number));
  }
  void watch_sent(const WanEnd& end, const Packet& packet, Instant now);
  bool hears(const WanEnd& end, Instant now) const;
  void hear(const WanEnd& end, Instant now);
  void on_control(const WanEnd& end, const Packet& packet);
  void on_part(const WanEnd& end, Parts& parts, const Description& part);
  void on_item(Way& back, const QpItem& item);
  void check_line(const WanEnd& end, const Packet& packet, bool is_overhead, Instant now);
  void complain(const char* checker, const WanEnd& end, const std::string& what);

  Verdicts& verdicts_;
  const SealWatch& seals_;
  bool are_sealed_ = false;
  Duration word_patience_;
  cw_mac mac_{};
  std::map<int, Way> ways_;
  std::map<uint64_t, Parts> parts_;  // by the nonce of who says it
  std::map<int, Road> roads_;        // by key of link 0
  uint64_t allocations_ = 0;
};

}  // namespace cw::sim
