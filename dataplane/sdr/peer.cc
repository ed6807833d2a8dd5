#include "dataplane/sdr/peer.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw::sdr {
namespace {

constexpr size_t lost_capacity = 256;
constexpr uint8_t ecn_congestion = 3;
constexpr size_t ahead_packets_min = 16, ahead_packets_max = 256;
constexpr int64_t share_bytes = 1500;  // of the stream with the smallest weight, in each round
constexpr int64_t debt_bytes_max = 256 * 1024;

uint32_t wire_bytes(uint32_t payload) {
  return static_cast<uint32_t>(slot_write_header_bytes + payload);
}

}  // namespace

Result<std::unique_ptr<Peer>> Peer::make(const PeerOptions& options, Port& port, PacketStock& stock,
                                         CodeDesk& desk, Counters& counters, Drops& drops,
                                         Instant now) {
  if (options.link.paths == 0 || options.link.paths > limits::paths_max) {
    return failure("paths is " + std::to_string(options.link.paths) + " and must be 1 to " +
                   std::to_string(limits::paths_max));
  }
  std::unique_ptr<Peer> peer(new Peer(options, port, stock, desk, counters, drops, now));
  for (const QpOptions& qp : options.qps) {
    if (const auto added = peer->add_qp(qp, now); !added) return std::unexpected(added.error());
  }
  return peer;
}

Peer::Peer(const PeerOptions& options, Port& port, PacketStock& stock, CodeDesk& desk,
           Counters& counters, Drops& drops, Instant now)
    : port_(port),
      stock_(stock),
      desk_(desk),
      peer_(options.peer),
      counters_(counters),
      drops_(drops),
      random_(options.link.random),
      fallback_(options.fallback),
      quota_(options.quota),
      transmitter_(options.link.paths),
      pacer_(options.pacer),
      packet_overhead_bytes_(options.pacer.packet_overhead_bytes),
      rate_control_(options.rate_control, options.pacer.rate),
      link_(options.link, stream_configs_, *this, counters, drops, now),
      payload_bytes_(options.link.payload_bytes),
      paths_count_(options.link.paths),
      paths_(options.link.paths, PathEstimates(options.link.path)),
      trackers_(options.link.paths),
      peer_reports_(options.link.paths),
      peer_losses_(options.link.paths, LossEstimator(options.link.path.loss_window)),
      lost_(lost_capacity),
      link_told_(now),
      control_(control_packets_max) {
  apply_rate();
}

Peer::~Peer() {
  while (!control_.is_empty()) {
    Packet* packet = control_.pop();
    port_.give_back({&packet, 1});
  }
}

cw_env Peer::env_of(const QpOptions& qp, cw_role role) const {
  cw_env env{};
  env.size = sizeof(env);
  env.role = role;
  env.peers = 1;
  env.messages = qp.stream.messages;
  env.data_slots_max = qp.stream.data_slots_max;
  env.repair_slots_max = qp.stream.repair_slots_max;
  env.chunk_slots = qp.stream.chunk_slots;
  env.rows = qp.stream.rows;
  env.k = qp.stream.k;
  env.m_cap = qp.stream.m_cap;
  env.codecs = qp.stream.codec_count();
  env.paths = paths_count_;
  env.note_bytes_max = note_bytes_for(payload_bytes_);
  env.payload_bytes = payload_bytes_;
  env.slot_wire_bytes = wire_bytes(payload_bytes_);
  env.rate_bps = pacer_.rate().bps();
  return env;
}

Result<void> Peer::check_qp(const QpOptions& qp) const {
  if (const auto checked = check(qp.stream); !checked) return checked;
  const std::string name = "qp " + std::to_string(qp.stream.qp);
  const bool is_taken = std::ranges::any_of(
      stream_configs_, [&](const StreamConfig& config) { return config.qp == qp.stream.qp; });
  if (is_taken) return failure(name + " exists already");
  if (qp.stream.qp >= limits::qps_max || stream_configs_.size() == limits::qps_max) {
    return failure(name + " is one too many: a link has " + std::to_string(limits::qps_max) +
                   " at most, numbered from 0");
  }
  if (qp.weight == 0 || qp.weight > weight_max) {
    return failure(name + ": weight is " + std::to_string(qp.weight) + " and must be 1 to " +
                   std::to_string(weight_max));
  }
  if (!link_.has_room_for(qp.stream)) {
    return failure(name +
                   ": the link's description has no room for it; use fewer channels, "
                   "generations or QPs");
  }
  return {};
}

Result<void> Peer::add_qp(const QpOptions& qp, Instant now) {
  if (const auto checked = check_qp(qp); !checked) return checked;
  Qp made{.config = qp.stream, .send = nullptr, .recv = nullptr, .weight = qp.weight};
  made.config.payload_bytes = payload_bytes_;
  if (const auto reserved = desk_.reserve(made.config); !reserved) return reserved;
  if (qp.send_enable) {
    auto host = PolicyHost::make(qp.policy, fallback_, env_of(qp, CW_SOURCE), quota_, now);
    if (!host) return std::unexpected(host.error());
    SendStream::Options send = qp.send;
    send.external_payload = port_.facts().external_payload;
    made.send = std::make_unique<SendStream>(made.config, send, std::move(*host), desk_, stock_,
                                             transmitter_, counters_);
  }
  if (qp.recv_enable) {
    auto host = PolicyHost::make(qp.policy, fallback_, env_of(qp, CW_SINK), quota_, now);
    if (!host) return std::unexpected(host.error());
    made.recv =
        std::make_unique<RecvStream>(made.config, std::move(*host), desk_, counters_, drops_);
  }
  const auto index = static_cast<uint16_t>(qps_.size());
  for (uint8_t generation = 0; generation < made.config.generations; ++generation) {
    for (uint16_t channel = 0; channel < made.config.channels; ++channel) {
      targets_.push_back({made.recv.get(), index, channel, generation});
    }
  }
  trackers_.resize(std::max(trackers_.size(), size_t{made.config.channels} * paths_count_));
  stream_configs_.push_back(made.config);
  link_.add_pair_keys(pair_keys(made.config));
  // The notes of both ends must be in one language.
  link_.add_pair_keys(
      {{"qp" + std::to_string(made.config.qp) + ".policy",
        std::string(qp.policy.ops->name) + "/" + std::to_string(qp.policy.ops->wire_version)}});
  weight_min_ = std::min(weight_min_, qp.weight);
  qps_.push_back(std::move(made));
  for (Qp& each : qps_) each.share_bytes = share_bytes * each.weight / weight_min_;
  return {};
}

SendStream* Peer::send_stream(uint16_t qp) {
  for (Qp& each : qps_) {
    if (each.config.qp == qp) return each.send.get();
  }
  return nullptr;
}

RecvStream* Peer::recv_stream(uint16_t qp) {
  for (Qp& each : qps_) {
    if (each.config.qp == qp) return each.recv.get();
  }
  return nullptr;
}

// ---- packets in ----

void Peer::on_data(const SlotWrite& slot, const uint8_t* payload, const Packet& packet,
                   Instant now) {
  const uint16_t path = packet.path;
  if (!link_.is_up()) return drops_.add(DropReason::link_down);
  if (path >= paths_count_) return drops_.add(DropReason::path_unknown);
  const uint32_t index = slot.target_qp - qpn_base_;
  if (index >= targets_.size()) return drops_.add(DropReason::qpn_unknown);
  const Target& target = targets_[index];
  RecvStream* const stream = target.recv;
  if (stream == nullptr) return drops_.add(DropReason::qpn_unknown);
  const ImmediateSplit::Parts parts = stream->config().split.unpack(slot.immediate);
  if (stream->has_key(slot.key)) track(slot.psn, parts, target, path, now);
  has_arrivals_ = true;
  stream->on_slot({.slot = slot,
                   .parts = parts,
                   .payload = payload,
                   .channel = target.channel,
                   .path = path,
                   .generation = target.generation,
                   .is_marked = packet.ecn == ecn_congestion});
}

inline void Peer::track(Psn psn, const ImmediateSplit::Parts& parts, const Target& target,
                        uint16_t path, Instant now) {
  Tracked& tracked = trackers_[size_t{target.channel} * paths_count_ + path];
  if (tracked.psns.try_next(psn)) {
    paths_[path].on_next(now);
  } else {
    const PsnArrival arrival = tracked.psns.on_arrival(psn, awake(now), lost_);
    paths_[path].on_arrival(arrival, now);
    if (arrival.kind != PsnArrival::Kind::Fresh) return;
  }
  const StreamConfig& config = target.recv->config();
  if (parts.id < config.messages) {
    tracked.gaps.on_fresh(psn, {.qp_index = target.qp_index,
                                .place = parts.id,
                                .seq = target.recv->seq_in(parts.id),
                                .slot = parts.slot,
                                .is_repair = parts.slot >= config.data_slots_max});
  }
}

void Peer::flush_arrivals(Instant now) {
  if (!has_arrivals_) return;
  has_arrivals_ = false;
  for (Qp& qp : qps_) {
    if (qp.recv) qp.recv->flush_facts(now);
  }
  if (!link_.is_up()) return;  // the same burst has ended the epoch: nobody would hear of it
  has_arrivals_since_report_ = true;
  link_.on_data(now);
  if (reports_due_ == Instant::never()) reports_due_ = now;
}

bool Peer::settle_gaps(Instant now) {
  for (Tracked& tracked : trackers_) {
    if (!tracked.psns.has_gaps()) continue;
    const Duration reorder = reorder_time_of(tracked);
    if (tracked.psns.next_settle(reorder) <= awake(now)) {
      tracked.psns.settle(awake(now), reorder, lost_);
    }
  }
  if (lost_.is_empty()) return false;
  tell_lost(now);
  return true;
}

void Peer::tell_lost(Instant now) {
  while (!lost_.is_empty()) {
    const LostRange range = lost_.pop();
    const auto path = static_cast<uint16_t>(range.tracker % paths_count_);
    paths_[path].on_lost(range, now);
    const auto slots = trackers_[range.tracker].gaps.find(range.first, range.count);
    if (slots) {
      qps_[slots->qp_index].recv->on_lost(*slots, path, now);
      continue;
    }
    for (Qp& qp : qps_) {
      if (qp.recv) qp.recv->on_lost({.count = range.count}, path, now);
    }
  }
}

// ---- time ----

bool Peer::on_time(Instant now) {
  bool is_due = own_due() <= now;
  if (rate_control_.on_time(now)) apply_rate();
  link_.on_time(now);
  if (link_.is_up()) is_due |= run_streams(now);
  if (!has_room_for_envelope() || !has_offer(now)) return is_due;
  write_envelopes(now);
  return true;
}

// What is due, and nothing else: this runs in every turn.
bool Peer::run_streams(Instant now) {
  bool is_due = settle_gaps(now);
  for (PathEstimates& path : paths_) path.on_time(now);
  for (Qp& qp : qps_) {
    if (qp.send && qp.send->next_due() <= now) {
      qp.send->on_time(now);
      is_due = true;
    }
    if (qp.recv && qp.recv->next_due() <= now) {
      qp.recv->on_time(now);
      is_due = true;
    }
  }
  return is_due || has_ready();
}

// Of what is no stream's.
Instant Peer::own_due() const {
  return earliest(link_.next_due(), pacer_.next_departure(), rate_control_.next_due());
}

Instant Peer::next_wakeup() const {
  Instant due = own_due();
  // What is to be said waits with the envelopes that are written already.
  if (has_room_for_envelope()) due = std::min(due, offer_due());
  if (!link_.is_up()) return due;
  if (has_ready()) return Instant();
  for (const Qp& qp : qps_) {
    if (qp.send) due = std::min(due, qp.send->next_due());
    if (qp.recv) due = std::min(due, qp.recv->next_due());
  }
  for (const Tracked& tracked : trackers_) {
    if (!tracked.psns.has_gaps()) continue;
    due = std::min(due, tracked.psns.next_settle(reorder_time_of(tracked)) + slept_);
  }
  return due;
}

// What the outboxes hold and the pacer has room for: it comes to be after the pacer was fed.
bool Peer::has_ready() const {
  for (const Qp& qp : qps_) {
    if (!qp.send) continue;
    for (const Priority priority : {Priority::Resend, Priority::Data, Priority::Repair}) {
      if (qp.send->has_ready(priority) && has_room(priority)) return true;
    }
  }
  return false;
}

void Peer::rebase(Duration shift, Instant now) {
  link_.rebase(shift, now);
  slept_ += shift;
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->rebase(shift);
    if (qp.recv) qp.recv->rebase(shift);
  }
}

// ---- packets out ----

void Peer::set_rate(Rate rate) {
  rate_control_.restart(rate);
  apply_rate();
}

void Peer::apply_rate() {
  const Rate rate = rate_control_.rate();
  pacer_.set_rate(rate);
  // A millisecond is enough to keep the line busy between two turns; what waits longer waits in the
  // outboxes, where shares are decided and holds end.
  const uint64_t ahead = rate.bps() / 1000 / 8 / wire_bytes(payload_bytes_);
  ahead_packets_ = std::clamp<uint64_t>(ahead, ahead_packets_min, ahead_packets_max);
}

size_t Peer::room(Priority priority) const {
  const size_t queued = pacer_.queued_packets(priority);
  return queued < ahead_packets_ ? std::min(ahead_packets_ - queued, pacer_.free_packets(priority))
                                 : 0;
}

void Peer::feed_pacer(Instant now) {
  feed_class(Priority::Resend, now);
  feed_data(now);
  feed_class(Priority::Repair, now);
}

// Resends and repair are taken in turn, and are on account of their stream's share.
void Peer::feed_class(Priority priority, Instant now) {
  size_t idle = 0;
  while (idle < qps_.size()) {
    const size_t turn = next_turn(class_turn_);
    Qp& qp = qps_[turn];
    const bool is_ready = qp.send && qp.send->has_ready(priority);
    if (is_ready && !has_room(priority)) return;
    class_turn_ = turn;
    const auto departure = is_ready ? qp.send->take_ready(priority, now) : std::nullopt;
    if (!departure) {
      ++idle;
      continue;
    }
    idle = 0;
    qp.bytes_due = std::max(qp.bytes_due - departure->bytes, -debt_bytes_max);
    CW_ASSERT(pacer_.try_push(*departure, now));
  }
}

// Deficit round robin. A stream takes packets while it is owed bytes, the last of them on credit;
// what is not wanted is not saved up. One that waits alone takes what there is room for at once.
void Peer::feed_data(Instant now) {
  const auto waits = [](const Qp& qp) { return qp.send && qp.send->has_ready(Priority::Data); };
  const bool is_alone = std::ranges::count_if(qps_, waits) == 1;
  size_t idle = 0;
  while (idle < qps_.size()) {
    const auto room = static_cast<uint32_t>(this->room(Priority::Data));
    if (room == 0) break;
    Qp& qp = qps_[data_turn_];
    const bool is_waiting = waits(qp);
    if (is_waiting && !has_share_) qp.bytes_due += qp.share_bytes;
    has_share_ = true;
    if (!is_waiting || qp.bytes_due <= 0) {
      qp.bytes_due = std::min<int64_t>(qp.bytes_due, 0);
      idle = is_waiting ? 0 : idle + 1;
      data_turn_ = next_turn(data_turn_);
      has_share_ = false;
      continue;
    }
    const RowLimit most{.packets = room, .bytes = is_alone ? INT64_MAX : qp.bytes_due};
    const auto row = qp.send->take_ready(Priority::Data, now, most);
    if (!row) continue;  // it held only what has become pointless
    idle = 0;
    qp.bytes_due -= int64_t{row->bytes} * row->count;
    if (is_alone) give_rounds(qp, row->bytes);
    CW_ASSERT(pacer_.try_push(*row, now));
  }
}

// What a row alone has cost more than was owed, rounds would have given: before its final packet
// too, something was owed.
void Peer::give_rounds(Qp& qp, int64_t final_bytes) {
  const int64_t missing = -(qp.bytes_due + final_bytes);
  if (missing >= 0) qp.bytes_due += (missing / qp.share_bytes + 1) * qp.share_bytes;
}

size_t Peer::collect(std::span<Packet*> out, Instant now) {
  feed_pacer(now);
  if (pacer_.next_departure() > now) return 0;
  // Whether a packet of the stock is needed is not known before, and what departs must leave.
  const size_t most = std::min({out.size(), limits::burst_packets_max, pacer_.queued_packets()});
  const size_t room = stock_.fill(most);
  const Pacer::Counts counts = pacer_.depart(now, std::span(departed_).first(room), expired_);
  size_t filled = 0, sent = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < counts.departed; ++i) {
    const SendTicket ticket = SendTicket::unpacked(departed_[i].cookie);
    if (ticket.kind == SendTicket::kind_control) {
      out[filled] = control_.pop();
      bytes += out[filled]->bytes + packet_overhead_bytes_;  // a part of what data costs
      out[filled++]->at = departed_[i].at;
      continue;
    }
    Packet* const packet = build(ticket, departed_[i].at, now);
    if (packet == nullptr) continue;
    packet->peer = peer_;
    bytes += packet->bytes + packet->payload_bytes + packet_overhead_bytes_;
    out[filled++] = packet;
    ++sent;
  }
  rate_control_.on_sent(sent, bytes);
  if (sent > 0) link_.on_data(now);
  for (size_t i = 0; i < counts.expired; ++i) {
    const SendTicket ticket = SendTicket::unpacked(expired_[i]);
    if (SendStream* stream = send_stream(ticket.qp)) stream->on_expired(ticket);
  }
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->flush_facts(now);
  }
  return filled;
}

Packet* Peer::build(const SendTicket& ticket, Instant at, Instant now) {
  SendStream* stream = send_stream(ticket.qp);
  return stream == nullptr ? nullptr : stream->build(ticket, at, now);
}

}  // namespace cw::sdr
