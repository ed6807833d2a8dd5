// A host's packet on its way through the LAN side of a gateway: read, admitted by rules that look
// at everything, changed in place, and complained about. The IPv4 header checksum is made right
// first, or nearly nothing would get past it.
#include <algorithm>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace {
using namespace cw;
using namespace cw::gateway;
using ByteVector = std::vector<uint8_t>;

GatewayOptions make_options(bool decrement_ttl) {
  GatewayOptions options;
  ClassOptions ports, prefixes, kinds;
  ports.name = "ports";
  ports.matches = {{.source_ports = PortRange{1, 1000}, .target_ports = PortRange{0, 0x7fff}}};
  prefixes.name = "prefixes";
  prefixes.qp = 1;
  prefixes.matches = {{.dscp = 8, .source = Prefix{{10}, 8, false}},
                      {.target = Prefix{{0xfd}, 8, true}}};
  kinds.name = "kinds";
  kinds.qp = 2;
  kinds.matches = {{.kind = PacketKind::RoceRc}, {.kind = PacketKind::Tcp}};
  options.classes = {ports, prefixes, kinds};
  options.peers = {{0, "a", {Prefix{{}, 0, false}, Prefix{{}, 0, true}}},
                   {1, "b", {Prefix{{10}, 8, false}, Prefix{{0xfd}, 16, true}}}};
  options.lan_mtu = 1500;
  options.decrement_ttl = decrement_ttl;
  return options;
}

void make_checksum_right(ByteVector& bytes) {
  if (bytes.size() < 20 || bytes[0] >> 4 != 4) return;
  const size_t header = std::min<size_t>(bytes[0] % 16 * 4, bytes.size());
  if (header < 20) return;
  ip_layout::store16(&bytes[10], 0);
  const uint16_t sum = sum_of(std::span(bytes).first(header));
  ip_layout::store16(&bytes[10], static_cast<uint16_t>(~sum));
}

/// Everything but what has been changed is as it was.
void check_edit(const ByteVector& bytes, IpPacket expected) {
  const auto packet = parse_ip_packet(bytes);
  CW_ASSERT(packet);
  CW_ASSERT(packet->ecn == expected.ecn && packet->dscp == expected.dscp);
  CW_ASSERT(packet->ttl == expected.ttl && packet->bytes == expected.bytes);
  CW_ASSERT(packet->source == expected.source && packet->target == expected.target);
  CW_ASSERT(packet->kind == expected.kind && packet->target_qp == expected.target_qp);
}

void run_edits(ByteVector bytes, IpPacket packet) {
  if (try_decrement_ttl(bytes)) --packet.ttl;
  check_edit(bytes, packet);
  if (try_set_ce(bytes)) packet.ecn = ecn_ce;
  check_edit(bytes, packet);
  set_dscp(bytes, packet.dscp ^= 0x15);
  set_ecn(bytes, packet.ecn ^= 1);
  check_edit(bytes, packet);
}

/// By what is known of its flow now.
void run_admit_again(ByteVector bytes, const Admitted& first, Ingress& ingress) {
  Admitted again;
  DropReason why{};
  CW_ASSERT(ingress.try_admit(bytes, again, why));
  CW_ASSERT(again.peer == first.peer && again.class_index == first.class_index);
  CW_ASSERT(again.bucket == first.bucket && again.order == first.order);
  CW_ASSERT(again.bytes == first.bytes && again.ecn == first.ecn && again.dscp == first.dscp);
}

void run_admit(ByteVector bytes, Ingress& ingress) {
  static IcmpErrors errors({.per_second = 1'000'000'000, .burst = 1'000'000});
  static Instant now;
  const ByteVector before = bytes;
  Admitted admitted;
  DropReason why{};
  if (ingress.try_admit(bytes, admitted, why)) {
    CW_ASSERT(admitted.bytes <= bytes.size() && admitted.class_index < 3 && admitted.peer < 2);
    return run_admit_again(before, admitted, ingress);
  }
  CW_ASSERT(bytes == before);
  const auto error = icmp_error_of(why);
  ByteVector out(icmp_bytes_max);
  now += Duration::from_us(1);
  const size_t written = error ? errors.write(*error, bytes, 1400, out, now) : 0;
  if (written > 0) CW_ASSERT(parse_ip_packet(std::span(out).first(written))->bytes == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto kept = Ingress::make(make_options(false));
  static auto stepped = Ingress::make(make_options(true));
  CW_ASSERT(kept && stepped);
  ByteVector bytes(data, data + size);
  parse_ip_packet(bytes);
  make_checksum_right(bytes);
  run_admit(bytes, *kept);
  run_admit(bytes, *stepped);
  const auto packet = parse_ip_packet(bytes);
  if (!packet) return 0;
  CW_ASSERT(packet->header_bytes <= packet->bytes && packet->bytes <= bytes.size());
  run_edits(bytes, *packet);
  return 0;
}
