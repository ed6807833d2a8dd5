// The control half of a link: what its records tell the streams, and what the streams put into
// envelopes.
#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/link/link.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

/// Below which no QP number is drawn: QP 0 and 1 belong to management.
constexpr uint32_t qpn_first = 0x000100;
/// Of path reports: what is told of a short RTT costs as much as its data, and as the echoes.
constexpr Duration report_interval_min = Duration::from_ms(5);

/// Of either policy; a stream may be missing.
bool has_notes(const std::unique_ptr<SendStream>& send, const std::unique_ptr<RecvStream>& recv) {
  return (send && !send->notes().is_empty()) || (recv && !recv->notes().is_empty());
}

}  // namespace

// ---- what the link says ----

void Link::on_epoch(Instant now) {
  ++epoch_;
  swaps_.end_epoch(now);
  drain_.end_epoch();
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->reset(now);
    if (qp.recv) qp.recv->reset(now);
  }
  port_.close_queues(peer_, qpn_base_);
  const auto room = static_cast<uint32_t>(qpns_per_link - qpn_first - targets_.size());
  qpn_base_ = qpn_first + first_qpn_of(number_) + static_cast<uint32_t>(random_.fresh() % room);
  line_.begin_epoch();
  reports_due_ = Instant::never();
  reported_paths_ = 0;
}

bool Link::try_open_queues(std::vector<StreamAddress>& addresses) {
  std::vector<uint32_t> numbers(targets_.size());
  if (!port_.try_open_queues(peer_, qpn_base_, numbers)) return false;
  std::span<const uint32_t> left(numbers);
  for (size_t i = 0; i < qps_.size(); ++i) {
    addresses[i] = make_address(i, left);
    if (qps_[i].recv) qps_[i].recv->set_address(addresses[i]);
  }
  return true;
}

/// Where this end receives, at the first of `numbers`, which are taken from them.
StreamAddress Link::make_address(size_t qp, std::span<const uint32_t>& numbers) {
  const StreamConfig& config = stream_configs_[qp];
  StreamAddress address;
  const uint64_t keys = random_.fresh();  // valid here before they are told [C-23]
  address.data_key = static_cast<uint32_t>(keys);
  address.repair_key = static_cast<uint32_t>(keys >> 32);
  // Software checks addresses by arithmetic, so a window may lie anywhere.
  address.data_base = uint64_t{qp} << 48;
  address.repair_base = uint64_t{qp} << 48 | uint64_t{1} << 47;
  address.data_window_bytes = uint64_t{config.data_slots_max} * config.payload_bytes;
  address.repair_window_bytes = uint64_t{config.repair_slots_max} * config.payload_bytes;
  address.paths = paths_told_apart();
  const size_t count = size_t{config.generations} * config.channels * address.paths;
  address.qpns.assign(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(count));
  numbers = numbers.subspan(count);
  return address;
}

bool Link::try_connect_queues(std::span<const StreamAddress> addresses, uint16_t paths) {
  std::vector<SendQueue> queues;
  for (size_t i = 0; i < qps_.size(); ++i) {
    if (!qps_[i].send) continue;
    const StreamConfig& config = stream_configs_[i];
    for (uint8_t generation = 0; generation < config.generations; ++generation) {
      for (uint16_t channel = 0; channel < config.channels; ++channel) {
        for (uint16_t path = 0; path < paths; ++path) {
          queues.push_back({addresses[i].qpn_of(config, generation, channel, path), path});
        }
      }
    }
  }
  return port_.try_connect_queues(peer_, qpn_base_, queues);
}

void Link::on_up(const std::vector<StreamAddress>& addresses, uint32_t payload_bytes, Instant now) {
  is_used_ = true;
  payload_bytes_ = payload_bytes;
  const bool has_numbers_by_qp = control_.peer_has(Hello::numbers_by_qp);
  size_t rows = 1;
  for (size_t i = 0; i < targets_.size(); ++i) {
    targets_[i].row = has_numbers_by_qp ? static_cast<uint16_t>(i) : targets_[i].channel;
    rows = std::max(rows, size_t{targets_[i].row} + 1);
  }
  watch_.begin_epoch(rows, control_.peer_has(Hello::sees_psns));
  line_.transmitter().set_up(control_.health().up());
  line_.come_up(payload_bytes);
  swaps_.outcomes().begin_epoch(control_.peer_has(Hello::swaps));
  drain_.begin_epoch(now);
  tell_link(now);
  for (size_t i = 0; i < qps_.size(); ++i) {
    if (qps_[i].send) qps_[i].send->start(addresses[i], payload_bytes, now);
    if (qps_[i].recv) qps_[i].recv->start(payload_bytes, now);
  }
}

void Link::on_down(Instant now) {
  is_used_ = true;
  swaps_.end_epoch(now);
  drain_.end_epoch();
  reports_due_ = Instant::never();
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->reset(now);
    if (qp.recv) qp.recv->reset(now);
  }
  port_.close_queues(peer_, qpn_base_);
}

void Link::on_record(const ClearToSend& record, Instant now) {
  if (SendStream* stream = send_stream(record.qp)) stream->on_clear_to_send(record, now);
}
void Link::on_record(const Probe& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_probe(now);
}
void Link::on_record(const Opened& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_opened(record, now);
}
void Link::on_record(const BlockClosed& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_block_closed(record, now);
}
void Link::on_record(const Closed& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_closed(record, now);
}
void Link::on_record(const Abandoned& record, Instant now) {
  if (RecvStream* stream = recv_stream(record.qp)) stream->on_abandoned(record, now);
}
void Link::on_record(const Note& record, Instant now) {
  const auto tell = [&](auto* stream) {
    if (stream == nullptr) return;
    // Of a policy that has gone, or of one that has not come here yet.
    if (stream->seat().numbered(record.policy_epoch) == nullptr) {
      return drops_.add(DropReason::note_policy);
    }
    stream->on_note(record, now);
  };
  if (record.flags & Note::from_sink) return tell(send_stream(record.qp));
  tell(recv_stream(record.qp));
}

void Link::on_record(const PathReport& record, Instant now) {
  if (const auto sums = watch_.on_report(record, now)) {
    line_.on_report(sums->arrived, sums->lost, now);
    control_.on_report(watch_.report_there(record.path), line_.transmitter().sent(record.path),
                       now);
  }
}

void Link::on_record(const Draining& record, Instant) { drain_.on_record(record); }

// ---- a change of policy ----

Result<void> Link::may_swap() {
  wake_();
  if (!is_up()) return failure("the link is down: " + why());
  if (control_.peer_has(Hello::swaps)) return {};
  return failure("the peer runs a version that cannot change policies while traffic flows");
}

Result<void> Link::renew_policy(uint16_t qp, cw_role role, Instant now) {
  if (const auto may = may_swap(); !may) return may;
  return swaps_.renew(qp, role, control_.text_room(), now);
}

// ---- what is measured ----

void Link::on_rtt(uint16_t path, Duration sample, Instant now) {
  watch_.on_rtt(path, sample, now);
  line_.on_rtt(path, sample, now);
  // At most once per RTT; the first sample comes before the streams start.
  if (control_.is_up() && now - link_told_ >= sample) tell_link(now);
}

void Link::on_paths(uint32_t up, Instant now) {
  line_.transmitter().set_up(up);
  tell_link(now);
}

cw_fact_link Link::link_fact(std::span<cw_path_facts> facts, bool is_source, Instant now) const {
  const uint16_t paths = control_.health().paths();
  for (uint16_t path = 0; path < paths; ++path) {
    facts[path] = watch_.facts(path, is_source, now);
    facts[path].mtu = payload_bytes_;
    facts[path].is_up = line_.transmitter().is_up(path);
  }
  return {.paths = paths,
          .reserved = 0,
          .rate_bps = line_.rate().bps(),
          .rtt_ns = std::max<int64_t>(rtt().ns(), 1),
          .path = facts.data()};
}

/// Where none that is up has been measured yet, the others tell: nothing is not the time of any.
Duration Link::rtt() const {
  Duration of_up, of_any;
  for (uint16_t path = 0; path < control_.health().paths(); ++path) {
    const Duration rtt = watch_.rtt(path);
    of_any = std::max(of_any, rtt);
    if (line_.transmitter().is_up(path)) of_up = std::max(of_up, rtt);
  }
  return of_up > Duration() ? of_up : of_any;
}

void Link::tell_link(Instant now) {
  link_told_ = now;
  std::array<cw_path_facts, limits::paths_max> facts;
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->on_link(link_fact(facts, true, now), now);
    if (qp.recv) qp.recv->on_link(link_fact(facts, false, now), now);
  }
}

// ---- envelopes ----

Instant Link::offer_due() const {
  Instant due = control_.offer_due();
  if (!control_.is_up()) return due;
  due = earliest(due, reports_due_, swaps_.offer_due(), drain_.due());
  for (const Qp& qp : qps_) {
    if (has_notes(qp.send, qp.recv)) return Instant();
    if (qp.send) due = std::min(due, qp.send->offer_due());
    if (qp.recv) due = std::min(due, qp.recv->offer_due());
  }
  return due;
}

void Link::write_envelopes(Instant now) {
  for (size_t i = 0; i < envelopes_per_turn; ++i) {
    if (!try_write_envelope(now) || !has_offer(now)) return;
  }
}

bool Link::try_write_envelope(Instant now) {
  if (!line_.has_room_for_control()) return false;
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  const EnvelopeKind kind = control_.next_kind(now);
  const size_t bytes_max = control_.next_bytes_max(now);
  const size_t header = header_bytes_of(Form::Datagram);
  const std::span<uint8_t> body(packet->data + header,
                                std::min<size_t>(bytes_max, packet->bytes_max - header));
  Send send;
  send.path = choose_path(control_.next_path(now));
  EnvelopeWriter writer(body, control_.next_header(kind));
  fill_envelope(kind, writer, now);
  if (writer.is_empty()) {
    port_.give_back({&packet, 1});
    return false;
  }
  control_.pad(writer);
  send.form = Form::Datagram;
  send.head.target_qp = control_.control_qpn(kind);
  send.head.key = control_qkey;
  send.head.payload_bytes = static_cast<uint32_t>(writer.seal(control_.key()));
  send.source_qp = control_qpn_of(number_);
  send.payload = body.data();
  send.packet = packet;
  send.has_packet_alone = true;
  line_.push_control(send, now);
  counters_.add(Counter::controls_sent);
  return true;
}

/// What asks about a path takes it, also where data does not.
uint16_t Link::choose_path(std::optional<uint16_t> wanted) {
  if (wanted && *wanted < watch_.paths()) return *wanted;
  return line_.transmitter().choose(CW_CHOOSE_ANY, 0, 0);
}

/// False when something found no room: another envelope is wanted.
bool Link::fill_envelope(EnvelopeKind kind, EnvelopeWriter& writer, Instant now) {
  if (control_.has_offer(now) && !control_.offer(kind, writer, now)) return false;
  if (kind != EnvelopeKind::Records || !control_.is_up()) return true;
  for (Qp& qp : qps_) {
    if (qp.recv && !qp.recv->offer(writer, now)) return false;
    if (qp.send && !qp.send->offer(writer, now)) return false;
    if (!offer_notes(writer, qp)) return false;
  }
  return offer_path_reports(writer, now) && swaps_.offer(writer, rtt(), now) &&
         drain_.offer(writer, now);
}

bool Link::offer_notes(EnvelopeWriter& writer, Qp& qp) {
  const auto offer = [&](NoteQueue& notes, uint16_t flags) {
    while (!notes.is_empty()) {
      Note note;
      note.qp = qp.config.qp;
      note.policy_epoch = notes.front_policy_epoch();
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

bool Link::offer_path_reports(EnvelopeWriter& writer, Instant now) {
  if (reports_due_ > now) return true;
  Duration rtt;
  for (uint16_t path = 0; path < control_.health().paths(); ++path) {
    rtt = std::max(rtt, watch_.rtt(path));
    if (path < reported_paths_) continue;
    if (!writer.try_add(watch_.report(path, now))) return false;
    ++reported_paths_;
  }
  reported_paths_ = 0;
  // Again when something has arrived, at most once per RTT.
  reports_due_ =
      has_arrivals_since_report_ ? now + std::max(rtt, report_interval_min) : Instant::never();
  has_arrivals_since_report_ = false;
  return true;
}

}  // namespace cw::sdr
