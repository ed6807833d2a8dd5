#include "control/gateway/derive.h"

#include <algorithm>

#include "dataplane/base/memory/stock.h"
#include "dataplane/device/device_text.h"
#include "dataplane/gateway/to_lan/inbound_stock.h"
#include "dataplane/gateway/to_wan/queue_memory.h"
#include "dataplane/port/xdp/xdp_frames.h"
#include "offload/codec/codecs.h"

namespace cw::site {
namespace {

constexpr uint32_t messages = 64;
constexpr uint32_t chunk_slots = 64;  // a word of the bitmap
constexpr size_t port_packets = 4096;
constexpr size_t impaired_packets_max = 1 << 20;

/// Of a port's packets and descriptors. Buffers are at least 2 KiB, and as large as a slot of the
/// device's (bsize, framesz). Without hugepages what is not copied has a page of its own.
uint64_t eal_bytes_of(const std::string& device, const DpdkConfig& port, size_t packets,
                      uint32_t packet_bytes, size_t shards) {
  constexpr uint64_t around_a_packet = 768, cached = 512, page_bytes = 4096;
  const auto wanted = static_cast<uint16_t>(std::max<size_t>(port.queues, 1));
  const uint64_t slot = slot_bytes_of(complete_device(device, packet_bytes + 80, wanted));
  uint64_t room = std::max<uint64_t>({packet_bytes, slot, 2048}) + around_a_packet;
  if (!copies_packets(device)) room = std::max(room, page_bytes);
  // As attachment.cc counts them: what queues hold, each shard's packets, and a queue to send by.
  const uint64_t queues = std::max<uint64_t>(port.queues, shards);
  constexpr uint64_t handed = 1024 + 384, of_a_pool = 1100 << 10;
  const uint64_t each = packets + cached + port.descriptors + (shards - 1) * handed;
  return (shards * each + queues * port.descriptors) * room + shards * of_a_pool;
}

/// Of a port over AF_XDP whose shard has one queue.
uint64_t xdp_bytes_of(size_t packets, uint32_t packet_bytes, const DpdkConfig& port) {
  return (packets + 2 * port.descriptors) * uint64_t{XdpFrames::frame_bytes_for(packet_bytes)};
}

/// Of the WAN port over sockets, headers and all.
uint64_t socket_bytes_of(size_t packets, uint32_t payload_bytes) {
  constexpr uint64_t around_a_payload = 320;
  return packets * (payload_bytes + around_a_payload);
}

}  // namespace

sdr::StreamConfig outline_of(const Config& config) {
  sdr::StreamConfig stream;
  stream.messages = messages;
  stream.chunk_slots = chunk_slots;
  stream.payload_bytes = config.payload_bytes();
  return stream;
}

/// From when a slot is written until the place of its message is free. Over the longest route a
/// slot is kept for no longer than hold, which is all that the gateway promises.
static Duration life_of(const ClassConfig& it, const Config& config) {
  Duration life = it.hold + config.pair.rtt_max * 2;
  for (const ClassPolicy& each : it.policies) {
    const auto retain = Duration::from_ns(each.needs.retain_ns);
    life = std::max(life, retain + config.pair.rtt * 2);
  }
  return life;
}

Result<sdr::StreamConfig> stream_of(const ClassConfig& it, uint16_t qp, const Config& config) {
  sdr::StreamConfig stream = outline_of(config);
  stream.qp = qp;
  const Duration life = life_of(it, config);
  const uint64_t bytes = config.link_rate().bytes_in(life).count() / (messages / 2);
  const uint64_t slots = bytes / stream.payload_bytes / chunk_slots * chunk_slots + chunk_slots;
  if (slots > stream.split.slots()) {
    return failure("class \"" + it.name + "\": " + about(config.link_rate()) + " held for " +
                   about(life) + " (hold and two pair.rtt_max) are more than messages can have; " +
                   "lower hold, pair.rtt_max or pair.rate");
  }
  stream.data_slots_max = static_cast<uint32_t>(slots);
  for (const ClassPolicy& each : it.policies) {
    const uint32_t block_slots = each.needs.rows * each.needs.k;
    const uint32_t least = (block_slots + chunk_slots - 1) / chunk_slots * chunk_slots;
    stream.data_slots_max = std::max(stream.data_slots_max, least);
  }
  for (const ClassPolicy& each : it.policies) {
    stream = sdr::coded(stream, each.needs, code::all());
  }
  if (const auto fits = sdr::check(stream); !fits) return std::unexpected(fits.error());
  return stream;
}

size_t full_links(const Config& config) {
  const uint64_t rate = std::max<uint64_t>(config.link_rate().bps(), 1);
  const uint64_t links = (config.wan.rate.bps() + rate - 1) / rate;
  return std::clamp<size_t>(links, 1, std::max<size_t>(config.places(), 1));
}

Bytes queue_memory_of(const Config& config) {
  Duration worst;
  for (const auto& each : config.classes) {
    worst = std::max(worst, each->queue_worst(config.pair.rtt_max));
  }
  // Notes before frames take a quarter, where those are not small.
  const Bytes one = config.link_rate().bytes_in(worst + worst / 4) + Bytes(64 << 10);
  return Bytes(one.count() * full_links(config));
}

/// Each way, in one shard.
static size_t streams(const Config& config) {
  return config.places() * config.links_per_shard() * config.classes.size();
}

/// What a link's stream, each way, has for itself at most, about: what its policies have decided
/// and wait for, notes, numbers of flows, and of each slot where it left and what has come of it.
/// All of it lazily: a link at rest has its share of idle_links_memory_of().
static uint64_t tables_of(const sdr::StreamConfig& stream) {
  constexpr uint64_t each = 936 << 10, of_codes = 1 << 20, of_a_slot = 7;
  const uint64_t repair = uint64_t{stream.repair_slots_max} * stream.shard_bytes();
  return each + uint64_t{stream.messages} * (stream.data_slots_max * of_a_slot + 2 * repair) +
         (stream.k > 0 ? of_codes : 0);
}

/// Where an RNIC puts what is sealed, of one link's stream: all of it, since the device has it.
static uint64_t landing_of(const Config& config, sdr::StreamConfig stream) {
  if (config.wan.port != WanKind::Verbs || !config.is_sealed() || !config.pair.seal) return 0;
  stream.seal_bytes = seal::seal_bytes;
  return stream.messages * (stream.data_landing_bytes() + stream.repair_landing_bytes());
}

/// Of all messages that one class has under way, sixteen bytes a slot (sdr's SlotTableStock).
static uint64_t slot_tables_of(const sdr::StreamConfig& stream, size_t links) {
  constexpr uint64_t of_a_slot = 16, few = 8;
  return (Stock::count_for(stream.messages, links) + few * (links - 1)) * stream.data_slots_max *
         of_a_slot;
}

/// Any link may have the whole rate of its pair, so each shard has room for all of it.
static uint64_t shard_memory_of(const Config& config) {
  gateway::InboundStockOptions inbound{.streams = streams(config), .messages = 1};
  inbound.data_slots_max = 1;
  inbound.payload_bytes_max = config.payload_bytes();
  uint64_t tables = 0;
  for (const auto& each : config.classes) {
    const auto stream = stream_of(*each, 0, config);
    if (!stream) continue;
    inbound.messages = stream->messages * full_links(config);
    inbound.data_slots_max = std::max(inbound.data_slots_max, stream->data_slots_max);
    const size_t links = std::max<size_t>(config.places(), 1) * config.links_per_shard();
    tables += links * (tables_of(*stream) + landing_of(config, *stream)) +
              slot_tables_of(*stream, links);
  }
  constexpr uint32_t link_bytes = 18;
  uint64_t ports = 0;
  if (config.lan.port == LanKind::Tun) ports += lan_packets(config) * limits::frame_bytes_max;
  if (config.lan.port == LanKind::Xdp) {
    ports += xdp_bytes_of(lan_packets(config), config.lan.mtu + link_bytes, config.lan.dpdk);
  }
  if (config.wan.port == WanKind::Xdp) {
    const auto packet_bytes = limits::headers_bytes_max + config.packet_payload_bytes();
    ports +=
        xdp_bytes_of(wan_packets(config), static_cast<uint32_t>(packet_bytes), config.wan.dpdk);
  } else if (config.wan.port != WanKind::Dpdk) {
    ports += socket_bytes_of(wan_packets(config), config.packet_payload_bytes());
  }
  const Bytes queues = gateway::QueueMemory::bytes(queue_memory_of(config), streams(config));
  return inbound.memory_bytes() + queues.count() + tables + ports;
}

Bytes idle_links_memory_of(const Config& config) {
  constexpr uint64_t of_a_link = 20 << 10, of_a_class = 40 << 10;  // in whole pages
  const uint64_t links = config.places() * config.links_per_shard() * config.shards();
  return Bytes(links * (of_a_link + of_a_class * config.classes.size()));
}

Bytes memory_of(const Config& config) {
  return Bytes(config.shards() * shard_memory_of(config) + eal_memory_of(config).count());
}

size_t impaired_packets(const Config& config) {
  const Impairment& it = config.wan.impairment;
  const Duration longest = it.delay + it.jitter_max + it.reorder_delay;
  const uint64_t full = config.wan.rate.bytes_in(longest).count() / config.payload_bytes();
  // Short packets are more than full ones.
  return std::min<size_t>(4 * full + port_packets, impaired_packets_max);
}

size_t lan_packets(const Config&) { return port_packets; }

/// Of the slots that streams keep: as many as the line carries in the life of one.
static size_t slot_packets(const Config& config) {
  size_t most = 0;
  for (const auto& each : config.classes) {
    const auto stream = stream_of(*each, 0, config);
    if (stream) most = std::max(most, size_t{stream->messages} * stream->data_slots_max);
  }
  return Stock::count_for(most * full_links(config), streams(config));
}

size_t wan_packets(const Config& config) {
  return port_packets + slot_packets(config) +
         (config.wan.is_impaired ? impaired_packets(config) : 0);
}

Bytes eal_memory_of(const Config& config) {
  const bool is_for_lan = config.lan.port == LanKind::Dpdk;
  const bool is_for_wan = config.wan.port == WanKind::Dpdk;
  if (!is_for_lan && !is_for_wan) return {};
  if (config.site.eal_memory != Bytes(UINT64_MAX)) return config.site.eal_memory;
  uint64_t bytes = 48 << 20;  // its own
  if (is_for_lan) {
    bytes += eal_bytes_of(config.lan.device, config.lan.dpdk, lan_packets(config), config.lan.mtu,
                          config.shards());
  }
  if (is_for_wan) {
    bytes += eal_bytes_of(config.wan.device, config.wan.dpdk, wan_packets(config),
                          config.payload_bytes(), config.shards());
  }
  return Bytes(bytes);
}

}  // namespace cw::site
