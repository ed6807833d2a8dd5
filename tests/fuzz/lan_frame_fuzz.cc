// A frame of a LAN over DPDK, read by the pure functions that the port reads it by and in the
// port's order: tag, ARP and ND, the ends of its IP packet, echo, open checksums. And a table of
// the machines that such frames tell of.
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/neighbour/echo.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/neighbour/neighbour_message.h"
#include "dataplane/neighbour/open_checksum.h"
#include "dataplane/neighbour/table/neighbour_table.h"
#include "dataplane/wire/outer/checksum.h"

namespace {
using namespace cw;
using ByteVector = std::vector<uint8_t>;
using ByteSpan = std::span<const uint8_t>;

constexpr MacAddress own_mac = {2, 0, 0, 0, 0, 1};
constexpr size_t type_offset = lan_frame::type_offset, header_bytes = lan_frame::header_bytes;

/// What is said to us is answered, and the answer is read as what it is.
void run_neighbour(const NeighbourMessage& message) {
  static NeighbourTable table(16, {1, 2});
  static Instant now;
  now += Duration::from_ms(7);
  if (lan_frame::is_host(message.sender)) {
    table.take(message.sender).hear(message.sender_mac, now);
    CW_ASSERT(number_of(table.find(message.sender)->mac) == number_of(message.sender_mac));
  }
  CW_ASSERT(table.known_count() <= table.size() && (message.sender_mac[0] & 1) == 0);
  if (!message.is_question) return;
  ByteVector answer(neighbour_message_bytes_max);
  answer.resize(encode_neighbour_answer({message.target, own_mac}, message, answer));
  const auto heard = parse_neighbour_message(answer);
  CW_ASSERT(heard && !heard->is_question && heard->sender == message.target);
  CW_ASSERT(number_of(heard->sender_mac) == number_of(own_mac));
}

uint8_t protocol_of(ByteSpan ip) { return ip[0] >> 4 == 4 ? ip[9] : ip[6]; }

/// Whoever asks is answered: the same packet, its ends exchanged.
void run_echo(ByteVector ip) {
  const ByteVector before = ip;
  const auto asked = lan_frame::ends_of(ip);
  if (!try_answer_echo(ip)) return CW_ASSERT(ip == before);
  const auto told = lan_frame::ends_of(ip);
  CW_ASSERT(asked && told && told->source == asked->target && told->target == asked->source);
  CW_ASSERT(ip.size() == before.size() && protocol_of(ip) == protocol_of(before));
}

void run_checksum(ByteVector ip) {
  const ByteVector before = ip;
  if (!finish_open_checksum(ip)) return CW_ASSERT(ip == before);
  CW_ASSERT(!finish_open_checksum(ip));  // it is right now
}

void run_ip(ByteSpan ip) {
  const auto ends = lan_frame::ends_of(ip);
  if (!ends || ends->bytes > ip.size()) return;
  const ByteVector packet(ip.begin(), ip.begin() + ends->bytes);
  CW_ASSERT(lan_frame::is_source_of(packet.data(), ends->source));
  if (lan_frame::is_routable_host(ends->source)) CW_ASSERT(lan_frame::is_host(ends->source));
  run_echo(packet);
  run_checksum(packet);
}

/// What the port remembers a pair of hosts by holds its addresses and nothing beyond them.
void run_pair(ByteSpan frame) {
  if (frame.size() < header_bytes + 40) return;
  const ByteVector exact(frame.begin(), frame.begin() + header_bytes + 40);
  CW_ASSERT(lan_frame::ipv4_pair_of(exact.data()) == lan_frame::ipv4_pair_of(frame.data()));
  CW_ASSERT(lan_frame::ipv6_pair_of(exact.data()) == lan_frame::ipv6_pair_of(frame.data()));
}

ByteVector untagged(ByteSpan frame) {
  ByteVector bytes(frame.begin(), frame.end());
  const bool is_tagged = lan_frame::type_of(frame) == lan_frame::type_vlan &&
                         frame.size() >= header_bytes + lan_frame::tag_bytes;
  if (!is_tagged) return bytes;
  CW_ASSERT(lan_frame::vlan_of(frame) <= lan_frame::vlan_max + 1);
  const auto tag = bytes.begin() + type_offset;
  bytes.erase(tag, tag + lan_frame::tag_bytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteSpan given(data, size);
  CW_ASSERT(size >= header_bytes || !parse_neighbour_message(given));
  if (size < header_bytes) return 0;
  const ByteVector frame = untagged(given);
  if (const auto message = parse_neighbour_message(frame)) {
    CW_ASSERT(may_be_neighbour_message(frame));
    run_neighbour(*message);
  }
  run_pair(frame);
  run_ip(ByteSpan(frame).subspan(header_bytes));
  return 0;
}
