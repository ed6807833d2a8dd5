// What a link is made from: its identity, its line, its streams and their policies. Plain values;
// whoever configures an endpoint fills them in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/core/rate/grants.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/rate/rate_control.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/control/envelope.h"
#include "offload/coding/code_executor.h"

namespace cw::sdr {

using cw::RandomSource;

/// What this end tells the other about itself, and how it asks.
struct ControlOptions {
  std::string site;          ///< what this end is called; empty: it does not say
  std::string peer_site;     ///< what the other must be called; empty: this end does not ask
  std::string peer_address;  ///< where it is, for sentences
  bool is_vacant = false;    ///< there is nobody yet: the link waits for LinkChange to say who
  PairKeys pair_keys;        ///< of `[pair]`, must agree
  /// What each end goes by on its own: where it differs, and streams are alike all the same, people
  /// are told, and the link comes up.
  PairKeys told_keys;
  MacKey key;
  uint16_t number = 0;  ///< of the link, among those of the same pair
  RandomSource random;
  uint32_t payload_bytes = 1024;  ///< the largest slot this end can take
  uint16_t paths = 1;
  uint16_t qps = 1;
  uint8_t icrc_mode = 0;
  bool sees_psns = true, numbers_by_qp = false, places_payload = false;  ///< as PortFacts say
  uint32_t control_qpn = control_qpn_default;  ///< as the peer is to call the link's control QP
  uint32_t datagram_max = 0;                   ///< as PortFacts say
  bool pads = false;  ///< every envelope is filled up to the longest that the peer takes
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

/// A policy as it was configured: its table and one checked value per declared parameter.
struct PolicyChoice {
  const cw_policy_ops* ops = nullptr;
  std::span<const double> params;  ///< as many as ops->param_count; outlives the instances
};

/// Decisions a policy may make in one RTT; beyond them it is refused.
struct PolicyQuota {
  uint32_t decisions_per_rtt = 1u << 16;
  uint32_t notes_per_rtt = 1u << 10;
  uint32_t strikes_max = 8;  ///< RTTs in a row with refusals before the instance is replaced
};

struct SendOptions {
  uint16_t extents_max = 64;        ///< pieces of one message that do not continue each other
  uint32_t outbox_ranges = 1024;    ///< per class
  bool slot_by_slot = false;        ///< messages grow by append_slot(), and any slot may be short
  Duration hold = Duration::max();  ///< a slot leaves this long after its append, or never
  Duration block_age = Duration::max();  ///< as Source::set_block_age()
};

/// One SDR QP: its two directions and its policy.
struct QpOptions {
  StreamConfig stream;
  SendOptions send;
  PolicyChoice policy;
  /// What else it can do, should the peer not have that one, or want another: the stream has room
  /// for the blocks of all.
  std::vector<PolicyChoice> policies;
  /// What both ends swap to after a quarantine, in which the link's fallback stands in; no table:
  /// nothing, and that stays.
  PolicyChoice after_quarantine;
  bool send_enable = true, recv_enable = true;
  /// Of the pacer's bytes, while QPs compete; what one leaves the others take.
  uint32_t weight = 1;
};

/// Where rows are coded.
struct CodingOptions {
  /// No threads: what exceeds a turn waits for the next, so that every run is the same.
  CodeExecutorOptions executor{.threads = 0};
  size_t rows_max = 32;  ///< under way at once, of all streams
};

/// How much more often than another a path may be taken.
inline constexpr uint8_t path_weight_max = 16;

/// How an endpoint tells its links apart: by the port's number for the peer, and the link's among
/// those of the pair.
using LinkKey = uint16_t;
constexpr LinkKey key_of(uint32_t peer, uint32_t number) {
  return static_cast<LinkKey>(peer * limits::link_numbers_max + number);
}
/// That have a key.
inline constexpr size_t peer_numbers_max = (size_t{1} << 16) / limits::link_numbers_max;

struct LinkOptions {
  uint16_t peer = 0;  ///< the port's number for who is at the other end
  ControlOptions control;
  PacerOptions pacer;
  RateControlOptions rate_control;
  /// Where several links share the pair's rate: what this one may take of `pacer.rate`. Null: all.
  GrantLine* grants = nullptr;
  std::vector<uint8_t> path_weights;  ///< 1 to path_weight_max each; empty: all alike
  PolicyChoice fallback;              ///< what a quarantined policy is replaced by
  PolicyQuota quota;
  std::vector<QpOptions> qps;
};

/// What of a link's options can be others while it is up. Plain values.
struct LinkChange {
  /// As in ControlOptions; where they differ, the link's epoch ends, and nobody is told whose
  /// address is forgotten with it: so who leaves is vacant for a while first.
  std::string peer_site, peer_address;
  bool is_vacant = false;
  PacerOptions pacer;  ///< save the capacities, and what is around a packet
  bool adapts = false;
  struct Qp {
    uint32_t weight = 1;
    Duration hold = Duration::max();
  };
  std::vector<Qp> qps;  ///< in the order of LinkOptions::qps

  static LinkChange of(const LinkOptions& options);
};

}  // namespace cw::sdr
