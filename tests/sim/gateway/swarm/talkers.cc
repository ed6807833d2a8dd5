#include "tests/sim/gateway/swarm/talkers.h"

#include <algorithm>
#include <array>

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr uint64_t nak = uint64_t{1} << 63;

FlowOptions headers_of(const Talk& talk) {
  FlowOptions headers;
  headers.kind = talk.style == TalkStyle::Udp   ? PacketKind::Udp
                 : talk.style == TalkStyle::Tcp ? PacketKind::Tcp
                                                : PacketKind::RoceRc;
  headers.number = talk.number;
  headers.bytes = talk.bytes;
  headers.from = static_cast<uint8_t>(talk.from);
  headers.to = static_cast<uint8_t>(talk.to);
  headers.is_v6 = talk.is_v6;
  return headers;
}

FlowOptions ack_headers_of(const Talk& talk) {
  constexpr uint8_t acknowledge = 0x11;
  FlowOptions headers = headers_of(talk);
  headers.number = talk.number + ack_flows;
  headers.bytes = frame_bytes_min(talk.is_v6);
  std::swap(headers.from, headers.to);
  if (talk.style == TalkStyle::Rc) headers.opcode = acknowledge;
  return headers;
}

}  // namespace

void Talker::add(const Talk& talk) {
  if (talk.from == site_) {
    ledger_.add_flow(headers_of(talk));
    by_ack_flow_[talk.number + ack_flows] = senders_.size();
    Sender sender{.talk = talk, .headers = headers_of(talk), .due = talk.begin};
    sender.progress = talk.begin;
    senders_.push_back(sender);
  } else {
    ledger_.add_flow(ack_headers_of(talk));
    by_flow_[talk.number] = listeners_.size();
    listeners_.push_back({.talk = talk, .headers = ack_headers_of(talk)});
  }
}

void Talker::fall_silent() {
  for (Sender& sender : senders_) {
    sender.talk.frames = std::min(sender.talk.frames, sender.next);
    // Windows that go back again and again could fill the line for ever.
    sender.talk.rate = Rate::from_bps(sender.talk.rate.bps() / 8);
  }
}

bool Talker::is_done() const { return std::ranges::none_of(senders_, &Sender::is_outstanding); }

bool Talker::Sender::may_send() const {
  if (!has_new()) return false;
  const uint64_t outstanding = next - acked;
  if (talk.style == TalkStyle::Udp) return true;
  return outstanding < (talk.style == TalkStyle::Rc ? talk.window : static_cast<uint64_t>(window));
}

Instant Talker::Sender::next_deadline() const {
  const Instant silence = is_outstanding() ? progress + talk.timeout : Instant::never();
  return may_send() ? std::min(due, silence) : silence;
}

void Talker::Sender::on_ack(uint64_t word, Instant now) {
  if (talk.style == TalkStyle::Rc) {
    const uint64_t position = word & ~nak;
    if (position > sent_end) return;  // damaged: nobody can have that
    if (position > acked) progress = now;
    acked = std::max(acked, position);
    next = (word & nak) != 0 ? acked : std::max(next, acked);
    return;
  }
  const uint64_t high = word >> 32, missing = high - (word & 0xffff'ffff);
  if (high <= acked || high > sent_end) return;
  const auto fresh = static_cast<double>(high - acked);
  acked = std::min(high, next);
  progress = now;
  if (missing > lost) {
    lost = missing;
    if (acked < recover) return;
    recover = next;
    window = threshold = std::max(window / 2, 2.0);
  } else {
    window += window < threshold ? fresh : fresh / window;
    window = std::min(window, static_cast<double>(talk.window));
  }
}

void Talker::Sender::on_silence(Instant now) {
  progress = now;
  if (talk.style == TalkStyle::Rc) {
    next = acked;
  } else {
    acked = next;  // whoever is lost is sent as something new
    threshold = std::max(window / 2, 2.0);
    window = 2;
  }
}

uint64_t Talker::Listener::word() const {
  if (talk.style == TalkStyle::Tcp) return high << 32 | count;
  return asked == high ? high | nak : high;
}

void Talker::take(const Packet& packet, Instant now) {
  FrameText text;
  if (!ledger_.on_arrived(site_, {packet.data, packet.bytes}, text, now)) return;
  if (const auto it = by_ack_flow_.find(text.flow); it != by_ack_flow_.end()) {
    return senders_[it->second].on_ack(text.word, now);
  }
  const auto it = by_flow_.find(text.flow);
  if (it == by_flow_.end()) return;
  Listener& listener = listeners_[it->second];
  listener.owes = listener.talk.style != TalkStyle::Udp;
  if (listener.talk.style == TalkStyle::Rc) {
    if (text.word == listener.high) {
      ++listener.high;
    } else if (text.word > listener.high) {
      listener.asked = listener.high;
    }
  } else {
    listener.high = std::max<uint64_t>(listener.high, text.number + 1);
    ++listener.count;
  }
}

bool Talker::try_send(const FlowOptions& headers, const FrameText& text, Instant now) {
  Port& port = sites_.host_port(site_);
  Packet* packet = nullptr;
  if (port.take_burst({&packet, 1}) == 0) return false;
  write_frame(headers, text, packet->data);
  packet->bytes = headers.bytes;
  packet->peer = packet->path = 0;
  port.tx_burst({&packet, 1}, now);
  ledger_.on_sent(text, now);
  return true;
}

void Talker::turn(Instant now) {
  std::array<Packet*, limits::burst_packets_max> burst;
  Port& port = sites_.host_port(site_);
  while (const size_t count = port.rx_burst(burst, now)) {
    for (const Packet* packet : std::span(burst).first(count)) take(*packet, now);
    port.give_back({burst.data(), count});
  }
  for (Listener& each : listeners_) {
    if (!each.owes) continue;
    const FrameText text{each.headers.number, each.frames, each.word()};
    if (try_send(each.headers, text, now)) ++each.frames, each.owes = false;
    each.asked = UINT64_MAX;
  }
  for (Sender& each : senders_) {
    if (each.is_outstanding() && each.progress + each.talk.timeout <= now) each.on_silence(now);
    while (each.due <= now && each.may_send()) {
      const FrameText text{each.headers.number, each.frames, each.next};
      if (!try_send(each.headers, text, now)) break;
      if (!each.is_outstanding()) each.progress = now;
      ++each.frames, ++each.next;
      each.sent_end = std::max(each.sent_end, each.next);
      each.due = std::max(each.due, now - Duration::from_ms(2)) +
                 each.talk.rate.time_for(Bytes(each.talk.bytes));
    }
  }
}

Instant Talker::next_deadline() const {
  Instant next = Instant::never();
  for (const Sender& each : senders_) next = std::min(next, each.next_deadline());
  return next;
}

}  // namespace cw::sim
