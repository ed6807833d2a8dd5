// One peer's control side: who it is (epoch), what it is (hello, description), how far it is
// (echo), and the envelopes that carry all records of the link.
//
//   down --hello(a,0)--> offered --peer proves our nonce--> in force --description, echo--> up
//
// An epoch is in force when the peer has named the nonce we drew, and confirmed when an echo of
// ours has come back in it; it is *up* when, besides, the peer's whole description has arrived and
// agrees with ours. Only then do streams start. A new epoch begins everything anew: keys, QP
// numbers, sequences, counters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/sdr/line/path/path_health.h"
#include "dataplane/sdr/link/epoch/knocks.h"
#include "dataplane/sdr/link/epoch/link_shape.h"
#include "dataplane/sdr/link/epoch/strangers.h"
#include "dataplane/sdr/link/link_events.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/policy_offer.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/control/epoch.h"

namespace cw::sdr {

/// Thread: the link's owner. Allocates when an epoch begins and never in between.
class LinkControl {
 public:
  LinkControl(const ControlOptions& options, const std::vector<StreamConfig>& streams,
              LinkEvents& events, Counters& counters, Drops& drops, Instant now);

  /// Before the first epoch: what a further stream must have alike at both ends.
  void add_pair_keys(const PairKeys& keys);
  /// Whether the description still fits its parts with one more such stream and its pair keys.
  bool has_room_for(const StreamConfig& stream, std::span<const PolicyOffer> offers) const;
  /// How much an envelope seems to be for this one of two links to a peer; 0: not at all. It names
  /// a nonce of ours, or is a hello of our shape: of a newer or older one for its like, of an only
  /// one for that which carries.
  int claim(const EnvelopePeek& peek) const;
  void on_control(const ControlArrival& arrival, Instant now);
  /// What the peer has counted on a path by which `sent` packets have left, in 24 bits.
  void on_report(const PathReport& report, uint32_t sent, Instant now) {
    health_.on_report(report.path, report.received, report.lost, sent, now);
  }

  /// Ends an epoch that has fallen silent, and judges the paths of one that has not.
  void on_time(Instant now);
  /// Whether the link itself has records to send, and when on_time() and offer() are due.
  bool has_offer(Instant now) const { return offer_due() <= now; }
  Instant next_due() const;
  Instant offer_due() const;
  /// Data crosses, either way: while none does, echoes come ever less often, four times a second at
  /// last. Hot.
  void on_data(Instant now) {
    has_data_ = true;
    if (quiet_echoes_ == 0) return;
    quiet_echoes_ = 0;
    echo_due_ = std::min(echo_due_, now + echo_interval());
  }
  /// None has crossed for a while, or the link is down.
  bool is_quiet() const { return !is_up_ || quiet_echoes_ == quiet_echoes_max; }
  /// Of ours. Hot.
  void on_data_sent(Instant now) {
    data_sent_ = now;
    on_data(now);
  }

  // One envelope is made of these, in this order and at one instant.
  EnvelopeKind next_kind(Instant now) const;
  size_t next_bytes_max(Instant now) const;
  /// The path it must take, when what it carries belongs to one.
  std::optional<uint16_t> next_path(Instant now) const;
  /// Each call takes a sequence.
  EnvelopeHeader next_header(EnvelopeKind kind);
  /// Writes the link's own records; false when `writer` was too full for one of them.
  bool offer(EnvelopeKind kind, EnvelopeWriter& writer, Instant now);
  void pad(EnvelopeWriter& writer, bool is_probe = false) const;

  /// Comes up if nothing is missing any more.
  void try_come_up(Instant now);
  /// Ends the epoch here at once, tells the peer, and stays down: a later life is another one.
  void leave(Instant now);
  bool has_left() const { return is_leaving_ && hello_due_ == Instant::never(); }
  /// Which it is of two links of its number, and whether the other one carries.
  void set_beside(LinkAge age, bool is_beside);
  /// Then it says hello to nobody that has not done so.
  void set_mute(bool is_mute) { is_mute_ = is_mute; }
  const Knocks& knocks() const { return knocks_; }
  uint32_t shape() const { return shape_.bits(); }
  /// There is somebody else at the other end, or nobody, if the change says so.
  void change_peer(LinkChange& change, Instant now);
  /// This thread stood still for `shift` until `now`.
  void rebase(Duration shift, Instant now);
  bool is_up() const { return is_up_; }
  bool answers(Instant now) const;  ///< it is up, and has done so just now
  bool is_in_force() const { return exchange_.is_in_force(); }
  /// Of the paths that both ends have, once the link is up.
  const PathHealth& health() const { return health_; }
  uint32_t control_qpn(EnvelopeKind kind) const;  ///< where such envelopes go [C-2]
  /// Of its latest hello; so is peer_shape().
  bool peer_has(uint32_t capability) const { return (peer_capabilities_ & capability) != 0; }
  uint32_t peer_shape() const { return peer_capabilities_ >> Hello::shape_shift; }
  const MacKey& key() const { return options_.key; }
  /// Of a record that is alone in an envelope: what is left for its texts.
  size_t text_room() const {
    return part_bytes_for(std::min(control_bytes(), peer_control_bytes_));
  }
  /// What is missing until the link is up, for a person; empty when it is.
  std::string why() const;
  /// Of ControlOptions::told_keys, as sentences.
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  static constexpr size_t part_bytes_max = 960;
  static constexpr size_t description_bytes_max = part_bytes_max * description_parts_max;
  static constexpr size_t echoes_max = 64;
  static constexpr uint8_t quiet_echoes_max = 8;
  static constexpr uint16_t control_bytes_first = 256;           // before the peer's hello [C-9]
  static constexpr Duration catching_up = Duration::from_ms(1);  // with what waited meanwhile
  static constexpr uint8_t goodbyes_max = 3;
  /// And four round trips: so long without data of ours, and none is sent.
  static constexpr Duration traffic_pause_max = Duration::from_ms(100);

  struct PendingEcho {
    uint16_t path = 0;     // as the asker calls it
    uint16_t came_by = 0;  // as it is called here
    uint64_t token = 0;
    Instant arrived;
    bool has_waited = false;  // nobody knows how long
  };

  void read_records(const Envelope& envelope, uint16_t path, Instant now);
  void on_stranger(const EnvelopePeek& peek, Instant now);
  bool try_prove_by_session(const Envelope& envelope, uint32_t session);
  bool is_for_another(const EnvelopePeek& peek, Instant now);
  void begin_epoch(Instant now);
  void try_describe(Instant now);
  void end_epoch(Instant now);
  void judge_paths(Instant now);
  void on_hello(const Hello& hello, Instant now);
  void on_description(const Description& part, Instant now);
  bool may_have_waited(Instant now);
  void take_sample(const Echo& echo, Instant now);
  void on_echo(const Echo& echo, uint16_t path, Instant now);
  void read_description(Instant now);
  void read_item(const PairKeyItem& item);
  bool try_compare_told(const PairKeyItem& item);
  void blame_what_they_follow_from();
  void read_item(const QpItem& item);
  void read_item(const SiteItem& item);
  void read_item(const PeerItem& item);
  void read_item(const PolicyItem& item);
  std::string paths_misfit() const;
  std::string misfit(const Hello& hello) const;
  void write_description(const std::vector<StreamAddress>& addresses);
  bool try_write_known(RecordWriter& writer, std::span<const StreamAddress> addresses,
                       bool has_wishes) const;
  bool try_write_stream(RecordWriter& writer, const StreamConfig& stream,
                        const StreamAddress& address) const;
  static uint32_t all_parts(size_t parts);
  /// What fits one envelope of this size, beside nothing else.
  static size_t part_bytes_for(size_t envelope_bytes);
  size_t description_room() const;
  size_t part_count() const { return (description_.size() + part_bytes_ - 1) / part_bytes_; }

  bool wants_parts() const { return has_hello_ && parts_due_; }
  bool offer_answer(EnvelopeWriter& writer, Instant now);
  bool offer_hello(EnvelopeKind kind, EnvelopeWriter& writer, Instant now);
  bool offer_long_question(EnvelopeWriter& writer, Instant now);
  bool offer_description(EnvelopeWriter& writer);
  bool offer_echoes(EnvelopeWriter& writer, Instant now);
  Hello hello(HelloState state) const;
  size_t full_bytes() const;
  uint16_t control_bytes() const {
    return static_cast<uint16_t>(std::min(full_bytes(), limits::control_bytes_max) / 4 * 4);
  }
  Duration echo_interval() const;
  /// After how long a silence the epoch ends.
  Duration silence_max() const;

  ControlOptions options_;
  const std::vector<StreamConfig>& streams_;
  LinkEvents& events_;
  Counters& counters_;
  Drops& drops_;

  EpochExchange exchange_;
  uint32_t session_ = 0;  // that the latest epoch was proven in; 0: there are none
  LinkShape shape_;
  Knocks knocks_;
  uint64_t sequence_ = 0;
  Strangers strangers_;
  uint8_t goodbyes_ = 0;  // hellos that said that this end leaves
  bool is_up_ = false, has_hello_ = false, has_rtt_ = false, is_leaving_ = false;
  bool is_mute_ = false, is_beside_ = false;
  LinkAge age_ = LinkAge::Only;
  // Ours, as bytes to be sent in parts; and which of them the peer has.
  std::vector<uint8_t> description_;
  size_t part_bytes_ = part_bytes_max;
  uint32_t parts_heard_ = 0;                       // by the peer, one bit each
  bool parts_due_ = false, is_described_ = false;  // which takes the queues of the epoch
  Instant queues_due_ = Instant::never();          // when the port is asked again for what it lacks
  // The peer's.
  uint32_t peer_control_qpn_;
  uint32_t peer_payload_bytes_ = 0, peer_capabilities_ = 0;
  uint16_t peer_control_bytes_ = control_bytes_first;
  uint16_t peer_paths_ = 1;
  LazyMemory peer_memory_;
  Table<uint8_t> peer_description_;  // until the link is up
  uint32_t peer_parts_ = 0, peer_part_bytes_ = 0, peer_parts_received_ = 0;
  size_t peer_description_bytes_ = 0;
  bool is_description_read_ = false;
  std::vector<StreamAddress> peer_addresses_;
  std::vector<bool> peer_has_qp_, peer_has_key_;
  std::vector<std::vector<PolicyOffer>> peer_offers_;  // by stream
  std::string mismatch_;                  // the first one found; empty: both ends agree
  std::vector<std::string> differences_;  // that keep nobody from coming up
  std::string parting_;                   // how the last epoch ended

  PathHealth health_;
  Instant hello_due_, echo_due_, data_sent_;
  Instant dead_due_ = Instant::never();
  Duration hello_interval_, unconfirmed_time_;
  Duration rtt_ = Duration::from_ms(100);
  Instant awake_since_;  // the end of the last pause
  uint32_t echoes_waited_ = 0;
  uint16_t echo_path_ = 0, hello_path_ = 0;
  bool has_data_ = false;     // since the last question
  uint8_t quiet_echoes_ = 0;  // questions in a row without any, as far as they count
  Ring<PendingEcho> echoes_{echoes_max};
};

}  // namespace cw::sdr
