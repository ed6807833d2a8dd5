#include "tests/sim/gateway/host.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/endian.h"
#include "dataplane/base/limits.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr size_t v4_bytes = 20, v6_bytes = 40;
constexpr size_t upper_bytes = 32;        // what comes before the story behind an IP header
constexpr uint64_t number_max = 1 << 24;  // beyond it somebody lies
constexpr uint64_t magic = 0x43617573'65776179;

struct Story {
  uint64_t magic, flow, number, sent_ns;
};

uint8_t pattern(uint64_t flow, uint64_t number, size_t at) {
  return static_cast<uint8_t>(flow * 131 + number * 31 + at * 7 + (at >> 8));
}

void put16(uint8_t* at, uint64_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

uint16_t get16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

uint16_t header_checksum(const uint8_t* ip) {
  uint32_t sum = 0;
  for (size_t i = 0; i < v4_bytes; i += 2) sum += get16(ip + i);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

size_t ip_bytes_of(bool is_v6) { return is_v6 ? v6_bytes : v4_bytes; }

bool is_roce(PacketKind kind) { return kind == PacketKind::RoceRc || kind == PacketKind::RoceUd; }

void write_v4(const FlowOptions& flow, uint64_t number, uint8_t* ip) {
  ip[0] = 0x45;
  ip[1] = static_cast<uint8_t>(flow.dscp << 2 | flow.ecn);
  put16(ip + 2, flow.bytes);
  put16(ip + 4, number);
  ip[6] = 0x40;  // do not fragment
  ip[8] = flow.ttl;
  ip[9] = flow.kind == PacketKind::Tcp ? 6 : 17;
  ip[12] = 10, ip[13] = flow.from, ip[15] = 1;
  ip[16] = 10, ip[17] = flow.to, ip[19] = 1;
  if (flow.group != 0) ip[16] = 239, ip[17] = 1, ip[18] = 2, ip[19] = flow.group;
  put16(ip + 10, header_checksum(ip));
}

void write_v6(const FlowOptions& flow, uint8_t* ip) {
  put16(ip, 0x6000u | flow.dscp << 6u | flow.ecn << 4u);
  put16(ip + 4, flow.bytes - v6_bytes);
  ip[6] = flow.kind == PacketKind::Tcp ? 6 : 17;
  ip[7] = flow.ttl;
  ip[8] = 0xfd, ip[11] = flow.from, ip[23] = 1;
  ip[24] = 0xfd, ip[27] = flow.to, ip[39] = 1;
  if (flow.group != 0) ip[24] = 0xff, ip[25] = 5, ip[27] = 0, ip[39] = flow.group;
}

/// Whether the IP header is one of its packet.
bool is_sound(const Packet& packet) {
  const uint8_t* ip = packet.data;
  if (ip[0] >> 4 == 6) return get16(ip + 4) + v6_bytes == packet.bytes;
  return get16(ip + 2) == packet.bytes && header_checksum(ip) == 0;
}

void note_header(const uint8_t* ip, FlowReport& report) {
  const bool is_v6 = ip[0] >> 4 == 6;
  const auto traffic = static_cast<uint8_t>(is_v6 ? get16(ip) >> 4 & 0xff : ip[1]);
  const uint8_t ttl = is_v6 ? ip[7] : ip[8];
  const auto dscp = static_cast<uint8_t>(traffic >> 2);
  ++report.ecn[traffic & 3];
  if ((traffic & 3) == 3) ++report.marked;
  report.ttl_min = std::min(report.ttl_min, ttl);
  report.ttl_max = std::max(report.ttl_max, ttl);
  report.dscp_min = std::min(report.dscp_min, dscp);
  report.dscp_max = std::max(report.dscp_max, dscp);
}

}  // namespace

void write_headers(const FlowOptions& flow, uint64_t number, uint8_t* ip) {
  const size_t ip_bytes = ip_bytes_of(flow.is_v6);
  std::memset(ip, 0, ip_bytes + upper_bytes);
  flow.is_v6 ? write_v6(flow, ip) : write_v4(flow, number, ip);
  uint8_t* upper = ip + ip_bytes;
  put16(upper, flow.number);
  put16(upper + 2, is_roce(flow.kind) ? 4791 : 9);
  if (flow.kind == PacketKind::Tcp) {
    upper[12] = 0x50;
  } else {
    put16(upper + 4, flow.bytes - ip_bytes);
  }
  if (!is_roce(flow.kind)) return;
  // RDMA WRITE ONLY, UD SEND ONLY
  upper[8] = flow.opcode != 0 ? flow.opcode : flow.kind == PacketKind::RoceRc ? 0x0a : 0x64;
  put16(upper + 14, flow.target_qp != 0 ? flow.target_qp : flow.number);
}

void Host::turn(Instant now) {
  std::array<Packet*, limits::burst_packets_max> burst;
  while (const size_t count = port_.rx_burst(burst, now)) {
    for (size_t i = 0; i < count; ++i) take(*burst[i], now);
    port_.give_back({burst.data(), count});
  }
  for (Flow& flow : flows_) {
    while (flow.due <= now && flow.sent < flow.options.packets && try_send(flow, now)) {
      flow.due += flow.options.rate.time_for(Bytes(flow.options.bytes));
    }
  }
  for (HostProgram* program : programs_) {
    while (writes_ && try_send(*program, now)) {
    }
  }
}

bool Host::try_send(HostProgram& program, Instant now) {
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  packet->bytes = static_cast<uint32_t>(program.write_next({packet->data, packet->bytes_max}, now));
  if (packet->bytes > 0) return try_send(*packet, now);
  port_.give_back({&packet, 1});
  return false;
}

bool Host::try_send(Packet& packet, Instant now) {
  packet.peer = gateway_;
  packet.path = 0;
  Packet* const one = &packet;
  if (port_.tx_burst({&one, 1}, now) == 1) return true;
  port_.give_back({&one, 1});
  return false;
}

bool Host::try_send(Flow& flow, Instant now) {
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  const FlowOptions& options = flow.options;
  uint8_t* ip = packet->data;
  write_headers(options, flow.sent, ip);
  const Story story{magic, options.number, flow.sent, static_cast<uint64_t>(now.ns())};
  const size_t story_at = ip_bytes_of(options.is_v6) + upper_bytes;
  std::memcpy(ip + story_at, &story, sizeof(story));
  for (size_t i = story_at + sizeof(story); i < options.bytes; ++i) {
    ip[i] = pattern(options.number, flow.sent, i);
  }
  packet->bytes = options.bytes;
  if (!try_send(*packet, now)) return false;
  ++flow.sent;
  ++sent_;
  return true;
}

void Host::take(const Packet& packet, Instant now) {
  const auto is_taker = [&](HostProgram* program) { return program->try_take(packet, now); };
  if (std::ranges::any_of(programs_, is_taker)) return;
  Story story{};
  const size_t story_at = ip_bytes_of(packet.data[0] >> 4 == 6) + upper_bytes;
  if (packet.bytes >= story_at + sizeof(story)) {
    std::memcpy(&story, packet.data + story_at, sizeof(story));
  }
  if (story.magic != magic) {
    ++foreign_;
    if (foreign_packets_.size() < 64) {
      foreign_packets_.emplace_back(packet.data, packet.data + packet.bytes);
    }
    return;
  }
  ++received_;
  FlowReport& report = reports_[static_cast<uint16_t>(story.flow)];
  ++report.received;
  bool is_right = is_sound(packet);
  for (size_t i = story_at + sizeof(story); i < packet.bytes; ++i) {
    is_right &= packet.data[i] == pattern(story.flow, story.number, i);
  }
  if (!is_right) ++report.wrong;
  if (story.number > number_max) {
    ++report.wrong;
    return;
  }
  if (story.number >= report.seen.size()) report.seen.resize(story.number + 1);
  if (report.seen[story.number]) ++report.doubled;
  report.seen[story.number] = true;
  if (story.number < report.next) ++report.overtaken;
  report.next = std::max(report.next, story.number + 1);
  note_header(packet.data, report);
  report.arrivals.push_back(now);
  report.delays.push_back(now - Instant::from_ns(static_cast<int64_t>(story.sent_ns)));
  report.delay_max = std::max(report.delay_max, report.delays.back());
  report.last = now;
}

Instant Host::next_deadline() const {
  Instant next = Instant::never();
  for (const Flow& flow : flows_) {
    if (flow.sent < flow.options.packets) next = std::min(next, flow.due);
  }
  for (const HostProgram* program : programs_) {
    if (writes_) next = std::min(next, program->next_due());
  }
  return next;
}

bool Host::has_sent_all() const {
  return std::ranges::all_of(flows_,
                             [](const Flow& flow) { return flow.sent == flow.options.packets; });
}

}  // namespace cw::sim
