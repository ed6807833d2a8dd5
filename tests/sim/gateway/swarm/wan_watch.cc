#include "tests/sim/gateway/swarm/wan_watch.h"

#include <algorithm>

#include "dataplane/wire/control/description.h"
#include "dataplane/wire/roce.h"
#include "tests/sim/checkers/heap_watch.h"

namespace cw::sim {
namespace {

/// Calls the function for its type, and nothing for others.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
  void operator()(const auto&) const {}
};

bool is_slot(const Packet& packet, SlotWrite& slot) {
  return try_parse_slot_write({packet.data, packet.bytes},
                              size_t{packet.bytes} + packet.payload_bytes, slot);
}

}  // namespace

void LeakyBucket::pour(uint64_t bytes, Rate rate, Instant now) {
  const Duration passed = std::max(now - at_, Duration());
  level_ = std::max(0.0, level_ - static_cast<double>(rate.bps()) / 8 * passed.seconds());
  level_ += static_cast<double>(bytes);
  at_ = std::max(at_, now);
}

// ---- one stream ---------------------------------------------------------------------------------

SlotWatch::SlotWatch(const sdr::StreamConfig& config) : config_(config), lives_(config.messages) {}

void SlotWatch::reset() {
  lives_.assign(config_.messages, {});
  lives_begun_ = slots_used_ = slot_limit_ = message_limit_ = 0;
}

SlotWatch::Kind SlotWatch::on_sent(const SlotWrite& slot, bool hears) {
  const uint32_t index = config_.split.unpack(slot.immediate).slot;
  if (index >= config_.data_slots_max) return Kind::Repair;
  Life& life = life_of(slot);
  if (life.qpn != slot.target_qp) {
    life = {slot.target_qp, std::vector<bool>(config_.data_slots_max),
            std::vector<uint32_t>(config_.data_slots_max, none),
            std::vector<bool>(config_.data_slots_max)};
    ++lives_begun_;
  }
  ++sent;
  if (life.sent[index]) {
    ++resent;
    if (!hears) life.unheard[index] = true;
    return Kind::Resend;
  }
  life.sent[index] = true;
  ++slots_used_;
  return Kind::Data;
}

void SlotWatch::on_arrived(const SlotWrite& slot) {
  const uint32_t index = config_.split.unpack(slot.immediate).slot;
  Life& life = life_of(slot);
  if (index >= config_.data_slots_max || life.qpn != slot.target_qp) return;
  uint32_t& psn = life.psns[index];
  if (psn == none) {
    psn = slot.psn.value();
    ++arrived;
  } else if (psn != slot.psn.value()) {
    ++arrived_again;
    unheard += life.unheard[index];
  }
}

std::string SlotWatch::on_clear(const ClearToSend& clear) {
  slot_limit_ = std::max(slot_limit_, clear.slot_limit);
  message_limit_ = std::max(message_limit_, clear.message_limit.value());
  const uint32_t at_once = clear.message_limit.value() - clear.retired_seq.value();
  if (at_once > config_.messages) {
    return std::to_string(at_once) + " messages may be open at once, of a pool of " +
           std::to_string(config_.messages);
  }
  const uint64_t slots = uint64_t{clear.message_limit.value()} * config_.data_slots_max;
  if (clear.slot_limit <= slots) return {};
  return std::to_string(clear.slot_limit) + " slots may be used, and " + std::to_string(slots) +
         " are all that its messages have";
}

std::string SlotWatch::overdraft() const {
  if (slots_used_ > slot_limit_) {
    return std::to_string(slots_used_) + " slots used, of " + std::to_string(slot_limit_);
  }
  if (lives_begun_ <= message_limit_) return {};
  return std::to_string(lives_begun_) + " messages begun, of " + std::to_string(message_limit_);
}

// ---- all of them --------------------------------------------------------------------------------

void WanWatch::begin(Sites& sites, uint64_t bursts, Duration word_patience) {
  word_patience_ = word_patience;
  mac_ = sites.seat(1).plan().key->mac;
  are_sealed_ = sites.seat(1).plan().seal.has_value();
  for (int from = 1; from <= sites.count(); ++from) {
    for (const sdr::LinkOptions& peer : sites.seat(from).plan().peers) {
      const int to = WanEnd{.site = from, .peer = peer.peer}.other();
      roads_[key_of(from, to, 0)] = {.pacer = peer.pacer, .links = sites.links() * bursts};
      for (uint16_t number = 0; number < limits::link_numbers_max; ++number) {
        if (number % limits::links_max >= sites.links()) continue;
        Way& made = ways_[key_of(from, to, number)];
        made.keys.resize(peer.qps.size());
        for (const sdr::QpOptions& qp : peer.qps) made.streams.emplace_back(qp.stream);
      }
    }
  }
}

void WanWatch::on_sent(const WanEnd& end, const Packet& packet, Instant now) {
  const uint64_t before = HeapWatch::allocation_count();
  watch_sent(end, packet, now);
  allocations_ += HeapWatch::allocation_count() - before;
}

void WanWatch::watch_sent(const WanEnd& end, const Packet& packet, Instant now) {
  SlotWrite slot;
  if (!is_slot(packet, slot)) {
    check_line(end, packet, false, now);
    return on_control(end, packet);
  }
  const auto number = static_cast<uint16_t>(link_of_qpn(slot.target_qp));
  if (!ways_.contains(key_of(end.site, end.other(), number))) return;
  Way& here = sent_by(end, number);
  const auto stream = here.streams_by_qpn.find(slot.target_qp);
  if (stream == here.streams_by_qpn.end()) return check_line(end, packet, false, now);
  SlotWatch& watch = here.streams[stream->second];
  const auto kind = watch.on_sent(slot, hears(end, now));
  check_line(end, packet, kind != SlotWatch::Kind::Data, now);
  if (const auto what = watch.overdraft(); !what.empty()) complain("credit", end, what);
}

bool WanWatch::hears(const WanEnd& end, Instant now) const {
  const Road& road = roads_.at(key_of(end.site, end.other(), 0));
  return now - road.word <= word_patience_ && now >= road.deaf_until;
}

void WanWatch::hear(const WanEnd& end, Instant now) {
  Road& road = roads_.at(key_of(end.site, end.other(), 0));
  if (now - road.word > word_patience_) road.deaf_until = now + word_patience_;
  road.word = now;
}

void WanWatch::on_received(const WanEnd& end, const Packet& packet, Instant now) {
  SlotWrite slot;
  if (!is_slot(packet, slot)) return hear(end, now);
  const auto number = static_cast<uint16_t>(link_of_qpn(slot.target_qp));
  if (!ways_.contains(key_of(end.other(), end.site, number))) return;  // nobody's
  Way& there = sent_to(end, number);
  const auto stream = there.streams_by_qpn.find(slot.target_qp);
  if (stream != there.streams_by_qpn.end()) there.streams[stream->second].on_arrived(slot);
}

void WanWatch::on_control(const WanEnd& end, const Packet& packet) {
  const auto transport = parse_transport({packet.data, packet.bytes});
  if (!transport) return complain("wire", end, "a packet that is none");
  if (are_sealed_ && seal::MessageCheck::is_handshake(transport->payload)) return;
  const auto opened = are_sealed_ ? seals_.open(end, packet) : std::nullopt;
  if (are_sealed_ && !opened) return complain("wire", end, "a datagram that nobody can open");
  const std::span<const uint8_t> text = opened ? std::span(*opened) : transport->payload;
  const auto envelope = open_envelope(text, {&mac_, cw_mac_compute});
  if (!envelope) return complain("wire", end, "an envelope that is none");
  Parts& parts = parts_[envelope->header.sender_nonce];
  RecordReader reader = envelope->reader();
  while (const auto record = reader.next()) {
    ControlRecords::visit(*record,
                          Overloaded{[&](const Description& part) { on_part(end, parts, part); },
                                     [&](const ClearToSend& clear) {
                                       if (!parts.number) return;
                                       Way& back = sent_to(end, *parts.number);
                                       if (clear.qp >= back.streams.size()) return;
                                       const auto what = back.streams[clear.qp].on_clear(clear);
                                       if (!what.empty()) complain("credit", end, what);
                                     }});
  }
}

void WanWatch::on_part(const WanEnd& end, Parts& parts, const Description& part) {
  parts.bytes[part.part].assign(part.bytes.begin(), part.bytes.end());
  if (parts.bytes.size() != part.parts) return;
  std::vector<uint8_t> all;
  for (const auto& [number, each] : parts.bytes) all.insert(all.end(), each.begin(), each.end());
  RecordReader items(all, DescriptionItems::types);
  const auto on_qp = [&](const QpItem& qp) {
    parts.number = static_cast<uint16_t>(link_of_qpn(qp.qpns[0].host()));
    on_item(sent_to(end, *parts.number), qp);
  };
  while (const auto item = items.next()) DescriptionItems::visit(*item, Overloaded{on_qp});
}

void WanWatch::on_item(Way& back, const QpItem& item) {
  if (item.qp >= back.streams.size() || back.keys[item.qp] == item.data_key) return;
  back.keys[item.qp] = item.data_key;
  back.streams[item.qp].reset();
  std::erase_if(back.streams_by_qpn, [&](const auto& each) { return each.second == item.qp; });
  for (const be32 qpn : item.qpns) back.streams_by_qpn[qpn.host()] = item.qp;
}

void WanWatch::on_crash(int site) {
  for (auto& [key, each] : roads_) {
    if (key / 10'000 == site) each.line = each.overhead = LeakyBucket();
  }
}

/// Departures are stamped, up to a horizon ahead of the turn. A site that stood still makes up for
/// it; so may each of several links.
void WanWatch::check_line(const WanEnd& end, const Packet& packet, bool is_overhead, Instant now) {
  Road& here = roads_.at(key_of(end.site, end.other(), 0));
  const PacerOptions& pacer = here.pacer;
  // What a seal adds is among the pacer's.
  const uint64_t bytes = packet.bytes + packet.payload_bytes + pacer.packet_overhead_bytes -
                         (are_sealed_ ? seal::seal_bytes : 0);
  const uint64_t slack = 2 * (pacer.packet_overhead_bytes + limits::frame_bytes_max);
  const Instant at = std::max(now, packet.at);
  here.line.pour(bytes, pacer.rate, at);
  const uint64_t burst = (uint64_t{pacer.burst_bytes} + pacer.pause_bytes) * here.links;
  if (here.line.bytes() > burst + slack * here.links) {
    complain("rate", end,
             std::to_string(here.line.bytes()) + " bytes ahead of " +
                 std::to_string(pacer.rate.bps()) + " bit/s, of a burst of " +
                 std::to_string(burst));
  }
  if (!is_overhead) return;
  here.overhead.pour(bytes, pacer.rate.scaled(pacer.overhead_ppm / 1e6), at);
  if (here.overhead.bytes() <= (pacer.overhead_burst_bytes + slack) * here.links) return;
  complain("overhead", end,
           std::to_string(here.overhead.bytes()) + " bytes of resends and repair ahead of " +
               std::to_string(pacer.overhead_ppm) + " ppm, of a burst of " +
               std::to_string(pacer.overhead_burst_bytes));
}

void WanWatch::complain(const char* checker, const WanEnd& end, const std::string& what) {
  verdicts_.complain_of(checker, "site " + std::to_string(end.site) + " to " +
                                     std::to_string(end.other()) + ": " + what);
}

WanWatch::Totals WanWatch::totals(size_t class_index) const {
  Totals totals;
  for (const auto& [number, each] : ways_) {
    const SlotWatch& stream = each.streams[class_index];
    totals.links += stream.sent > 0 ? 1 : 0;
    totals.sent += stream.sent;
    totals.resent += stream.resent;
    totals.lost += stream.sent - std::min(stream.sent, stream.arrived + stream.arrived_again);
    totals.arrived_again += stream.arrived_again;
    totals.unheard += stream.unheard;
  }
  return totals;
}

}  // namespace cw::sim
