// The control half of a peer: what its link tells the streams, and what the streams put into
// envelopes.
#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/peer.h"

namespace cw::sdr {
namespace {

/// Room below which no QP number is drawn: QP 0 and 1 belong to management.
constexpr uint32_t qpn_first = 0x000100;
/// Of path reports: what is told of a short RTT costs as much as its data, and as the echoes.
constexpr Duration report_interval_min = Duration::from_ms(5);

}  // namespace

// ---- what the link says ----

void Peer::on_epoch(std::vector<StreamAddress>& addresses, Instant now) {
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->reset(now);
    if (qp.recv) qp.recv->reset(now);
  }
  const auto room = static_cast<uint32_t>((1u << 24) - qpn_first - targets_.size());
  qpn_base_ = qpn_first + static_cast<uint32_t>(random_.fresh() % room);
  uint32_t qpn = qpn_base_;
  for (size_t i = 0; i < qps_.size(); ++i) {
    const StreamConfig& config = qps_[i].config;
    StreamAddress& address = addresses[i];
    const uint64_t keys = random_.fresh();  // valid here before they are told [C-23]
    address.data_key = static_cast<uint32_t>(keys);
    address.repair_key = static_cast<uint32_t>(keys >> 32);
    // Software checks addresses by arithmetic, so a window may lie anywhere.
    address.data_base = uint64_t{i} << 48;
    address.repair_base = uint64_t{i} << 48 | uint64_t{1} << 47;
    address.data_window_bytes = uint64_t{config.data_slots_max} * stream_configs_[i].payload_bytes;
    address.repair_window_bytes =
        uint64_t{config.repair_slots_max} * stream_configs_[i].payload_bytes;
    const size_t count = size_t{config.generations} * config.channels;
    for (size_t q = 0; q < count; ++q) address.qpn[q] = qpn++;
    if (qps_[i].recv) qps_[i].recv->set_address(address);
  }
  for (size_t i = 0; i < trackers_.size(); ++i) {
    trackers_[i].psns = PsnTracker(static_cast<uint32_t>(i));
    trackers_[i].gaps.clear();
  }
  lost_.clear();
  std::ranges::fill(peer_reports_, PathReport{});
  reports_due_ = Instant::never();
  reported_paths_ = 0;
  transmitter_.restart_psns(Psn());
}

void Peer::on_up(const std::vector<StreamAddress>& addresses, uint32_t payload_bytes, Instant now) {
  payload_bytes_ = payload_bytes;
  avoid_small_paths();
  rate_control_.restart(rate_control_.configured());
  apply_rate();
  tell_link(now);
  for (size_t i = 0; i < qps_.size(); ++i) {
    if (qps_[i].send) qps_[i].send->start(addresses[i], payload_bytes, now);
    if (qps_[i].recv) qps_[i].recv->start(payload_bytes, now);
  }
}

void Peer::on_down(Instant now) {
  reports_due_ = Instant::never();
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->reset(now);
    if (qp.recv) qp.recv->reset(now);
  }
}

void Peer::on_record(const ClearToSend& record, Instant now) {
  if (SendStream* stream = send_stream(record.qp)) stream->on_clear_to_send(record, now);
}
void Peer::on_record(const Probe& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_probe(now);
}
void Peer::on_record(const Opened& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_opened(record, now);
}
void Peer::on_record(const BlockClosed& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_block_closed(record, now);
}
void Peer::on_record(const Closed& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_closed(record, now);
}
void Peer::on_record(const Abandoned& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_abandoned(record, now);
}
void Peer::on_record(const Note& record, Instant now) {
  if (record.flags & Note::from_sink) {
    if (SendStream* stream = send_stream(record.qp)) stream->on_note(record, now);
  } else {
    if (RecvStream* stream = recv_stream(record.qp)) stream->on_note(record, now);
  }
}

void Peer::on_record(const PathReport& record, Instant now) {
  if (record.path >= paths_count_) return;
  PathReport& last = peer_reports_[record.path];
  // Cumulative, and they may overtake each other.
  if (record.received < last.received || record.lost < last.lost) return;
  peer_losses_[record.path].add_arrived(record.received - last.received, now);
  if (record.lost > last.lost) {
    const uint64_t bursts = record.bursts > last.bursts ? record.bursts - last.bursts : 1;
    peer_losses_[record.path].add_lost(record.lost - last.lost, bursts, now);
  }
  last = record;
  uint64_t arrived = 0, lost = 0;
  for (const PathReport& report : peer_reports_) {
    arrived += report.received;
    lost += report.lost;
  }
  rate_control_.on_report(arrived, lost, now);
}

void Peer::on_rtt(uint16_t path, Duration sample, Instant now) {
  avoid_small_paths();
  paths_[path].on_rtt(sample, now);
  rate_control_.on_rtt(path, sample, now);
  // At most once per RTT; the first sample comes before the streams start.
  if (link_.is_up() && now - link_told_ >= sample) tell_link(now);
}

/// Data takes the paths that carry it, unless none does.
void Peer::avoid_small_paths() {
  const uint32_t small = link_.sizes().too_small();
  const bool is_any_fit = small != (uint32_t{1} << paths_count_) - 1;
  for (uint16_t path = 0; path < paths_count_; ++path) {
    transmitter_.set_up(path, !is_any_fit || (small >> path & 1) == 0);
  }
}

cw_fact_link Peer::link_fact(std::span<cw_path_facts> facts, bool is_source, Instant now) const {
  Duration rtt;
  for (uint16_t path = 0; path < paths_count_; ++path) {
    const PathState state = paths_[path].report(now);
    const Share loss = is_source ? peer_losses_[path].loss(now) : state.loss;
    const double burst = is_source ? peer_losses_[path].burst_mean(now) : state.burst_packets_mean;
    facts[path] = {
        .rtt_min_ns = state.rtt_min.ns(),
        .rtt_smooth_ns = state.rtt_smoothed.ns(),
        .rtt_var_ns = state.rtt_variance.ns(),
        .loss = loss.ratio,
        .loss_low = loss.low,
        .loss_high = loss.high,
        .burst_mean = std::max(burst, 1.0),
        .reorder_ns = state.reorder_budget.ns(),
        .queue_delay_ns = std::max<int64_t>(0, (state.rtt_smoothed - state.rtt_min).ns()),
        .mtu = payload_bytes_,
        .is_up = transmitter_.is_up(path)};
    rtt = std::max(rtt, state.rtt_smoothed);
  }
  return {.paths = paths_count_,
          .reserved = 0,
          .rate_bps = pacer_.rate().bps(),
          .rtt_ns = std::max<int64_t>(rtt.ns(), 1),
          .path = facts.data()};
}

void Peer::tell_link(Instant now) {
  link_told_ = now;
  std::array<cw_path_facts, limits::paths_max> facts;
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->on_link(link_fact(facts, true, now), now);
    if (qp.recv) qp.recv->on_link(link_fact(facts, false, now), now);
  }
}

// ---- envelopes ----

Instant Peer::offer_due() const {
  Instant due = link_.offer_due();
  if (!link_.is_up()) return due;
  due = std::min(due, reports_due_);
  for (const Qp& qp : qps_) {
    if (has_notes(qp)) return Instant();
    if (qp.send) due = std::min(due, qp.send->offer_due());
    if (qp.recv) due = std::min(due, qp.recv->offer_due());
  }
  return due;
}

void Peer::write_envelopes(Instant now) {
  for (size_t i = 0; i < envelopes_per_turn; ++i) {
    if (!try_write_envelope(now) || !has_offer(now)) return;
  }
}

bool Peer::try_write_envelope(Instant now) {
  if (!has_room_for_envelope()) return false;
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  const EnvelopeKind kind = link_.next_kind(now);
  const size_t bytes_max = link_.next_bytes_max(now);
  packet->path = choose_path(link_.next_path(now));
  packet->ecn = packet->dscp = 0;
  Transport transport;
  transport.opcode = opcode_ud_send_only;
  transport.target_qp = link_.control_qpn();
  transport.datagram = DatagramSource{control_qkey, control_qpn_default};
  const size_t header = encode_transport_headers(transport, {packet->data, packet->bytes_max});
  const std::span<uint8_t> body(packet->data + header,
                                std::min<size_t>(bytes_max, packet->bytes_max - header));
  EnvelopeWriter writer(body, link_.next_header(kind));
  fill_envelope(kind, writer, now);
  if (writer.is_empty()) {
    port_.give_back({&packet, 1});
    return false;
  }
  packet->bytes = static_cast<uint32_t>(header + writer.seal(link_.key()));
  packet->peer = peer_;
  CW_ASSERT(control_.try_push(packet));
  const SendTicket ticket{.kind = SendTicket::kind_control};
  const Departure departure{.cookie = ticket.packed(),
                            .bytes = packet->bytes,
                            .priority = Priority::Control,
                            .not_before = Instant()};
  CW_ASSERT(pacer_.try_push(departure, now));
  counters_.add(Counter::controls_sent);
  return true;
}

/// What asks about a path takes it, also where data does not.
uint16_t Peer::choose_path(std::optional<uint16_t> wanted) {
  if (wanted && *wanted < paths_count_) return *wanted;
  return transmitter_.choose(CW_CHOOSE_ANY, 0, 0);
}

/// False when something found no room: another envelope is wanted.
bool Peer::fill_envelope(EnvelopeKind kind, EnvelopeWriter& writer, Instant now) {
  if (link_.has_offer(now) && !link_.offer(kind, writer, now)) return false;
  if (kind != EnvelopeKind::Records || !link_.is_up()) return true;
  for (Qp& qp : qps_) {
    if (qp.recv && !qp.recv->offer(writer, now)) return false;
    if (qp.send && !qp.send->offer(writer, now)) return false;
    if (!offer_notes(writer, qp)) return false;
  }
  return offer_path_reports(writer, now);
}

bool Peer::offer_notes(EnvelopeWriter& writer, Qp& qp) {
  const auto offer = [&](NoteQueue& notes, uint16_t flags) {
    while (!notes.is_empty()) {
      Note note;
      note.qp = qp.config.qp;
      note.flags = flags;
      note.bytes = Row<uint8_t>(notes.front().data(), notes.front().size());
      if (!writer.try_add(note)) return false;
      counters_.add(Counter::notes_sent);
      if (notes.pop_copy()) return false;
    }
    return true;
  };
  return (!qp.send || offer(qp.send->notes(), 0)) &&
         (!qp.recv || offer(qp.recv->notes(), Note::from_sink));
}

bool Peer::offer_path_reports(EnvelopeWriter& writer, Instant now) {
  if (reports_due_ > now) return true;
  for (; reported_paths_ < paths_count_; ++reported_paths_) {
    const PathState state = paths_[reported_paths_].report(now);
    PathReport record;
    record.path = reported_paths_;
    record.channels = static_cast<uint16_t>(trackers_.size() / paths_count_);
    record.received = state.arrived;
    record.lost = state.lost;
    record.reordered = state.reordered;
    record.duplicates = state.duplicates;
    record.bursts = state.bursts;
    record.reorder_depth_max = state.reorder_packets_max;
    if (!writer.try_add(record)) return false;
  }
  reported_paths_ = 0;
  // Again when something has arrived, at most once per RTT.
  const Duration rtt = paths_.front().rtt().smoothed();
  reports_due_ =
      has_arrivals_since_report_ ? now + std::max(rtt, report_interval_min) : Instant::never();
  has_arrivals_since_report_ = false;
  return true;
}

}  // namespace cw::sdr
