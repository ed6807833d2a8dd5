// What both ends of a stream must know alike, and what follows from it by arithmetic: ids,
// generations, the cut of the slot index space, windows. Travels as `[pair]` keys in the hello.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/base/serial.h"
#include "dataplane/codec.h"
#include "dataplane/policy.h"
#include "dataplane/wire/immediate.h"

namespace cw::sdr {

/// One direction of one SDR QP.
struct StreamConfig {
  uint16_t qp = 0;
  ImmediateSplit split = split_default;
  uint32_t messages = 16;          ///< posted or in flight at once; ids in use are [0, messages)
  uint32_t data_slots_max = 2048;  ///< D: data slots lie below, repair slots at and above
  uint32_t repair_slots_max = 0;   ///< for all blocks that a message may have
  uint32_t chunk_slots = 16;
  // Room for the blocks of every policy that the stream may have; each has a shape of its own.
  uint16_t rows = 0;    ///< of a coded block's chunk, at most; 0: no blocks
  uint8_t k = 0;        ///< data chunks of a coded block, at most
  uint16_t m_cap = 0;   ///< repair slots reserved for each block, at most
  uint32_t blocks = 0;  ///< of a message, at most; 0: as many as repair slots have m_cap
  /// By which the numbers in decisions and records go; the first without an entry ends them.
  std::array<const cw_codec_ops*, limits::codecs_max> codecs{};
  /// Lives of an id that have QP numbers of their own, for devices that place packets by these
  /// alone. Here a packet's address says of which message it is, however old it is [C-56].
  uint8_t generations = 4;
  uint8_t channels = 1;
  uint32_t payload_bytes = 1024;  ///< of a full slot; settled by the hello
  uint32_t seal_bytes = 0;        ///< by which it is longer on the wire, as PortFacts say
  /// Of an epoch's first message. Zero, save where a test begins near the wrap; equal at both ends.
  MessageSeq first_seq;

  /// A message's place: its id on the wire and its index in every table.
  // Masks and shifts: messages and generations are powers of two, and a division per packet is what
  // a packet's way notices.
  uint32_t place_of(MessageSeq seq) const { return seq.value() & (messages - 1); }
  /// Times that `seq` has come round: how many messages were in its place before it.
  uint32_t round_of(MessageSeq seq) const { return seq.value() >> std::countr_zero(messages); }
  /// A division only where nothing cheaper does: this is asked for every packet. Nor are bits
  /// counted, which calls a function where the processor's own way may not be used.
  uint16_t channel_of(uint32_t slot) const {
    const uint32_t mask = channels - 1u;
    return static_cast<uint16_t>((channels & mask) == 0 ? slot & mask : slot % channels);
  }
  /// Which life of its id a message is, modulo the lives that can be told apart.
  uint8_t generation_of(MessageSeq seq) const {
    return static_cast<uint8_t>(round_of(seq) & (generations - 1u));
  }
  uint32_t codec_count() const {
    return static_cast<uint32_t>(std::ranges::find(codecs, nullptr) - codecs.begin());
  }
  /// Of a message, at most.
  uint32_t blocks_max() const {
    return blocks > 0 || m_cap == 0 ? blocks : repair_slots_max / m_cap;
  }
  uint32_t block_slots_max() const { return uint32_t{rows} * k; }
  /// What one message's repair slots take, each in whole cache lines.
  uint32_t shard_bytes() const { return (payload_bytes + 63) / 64 * 64; }
  /// From one slot to the next where hardware places them.
  uint32_t landing_bytes() const { return payload_bytes + seal_bytes; }
  uint32_t slots_for(uint64_t bytes) const {
    return static_cast<uint32_t>((bytes + payload_bytes - 1) / payload_bytes);
  }
  uint64_t message_bytes_max() const { return uint64_t{data_slots_max} * payload_bytes; }
  uint64_t data_window_bytes() const { return message_bytes_max(); }
  uint64_t repair_window_bytes() const { return uint64_t{repair_slots_max} * payload_bytes; }
  uint64_t data_landing_bytes() const { return uint64_t{data_slots_max} * landing_bytes(); }
  uint64_t repair_landing_bytes() const { return uint64_t{repair_slots_max} * landing_bytes(); }
};

/// Repair chunks of a block of this shape that m_cap repair slots have room for.
inline uint32_t m_max(uint32_t m_cap, uint32_t rows, uint32_t k) {
  const auto shards = static_cast<uint32_t>(limits::shards_per_block_max);
  return rows == 0 ? 0 : std::min(m_cap / rows, shards - std::min(shards, k));
}

/// Of one policy note, at most, where a full slot has so many bytes.
inline uint32_t note_bytes_for(uint32_t payload_bytes) {
  return std::min(static_cast<uint32_t>(limits::note_bytes_max), payload_bytes / 2);
}

/// Notes that may wait for an envelope: what is known of all slots, twice, in notes half full.
inline size_t notes_for(const StreamConfig& config) {
  const uint64_t bytes = uint64_t{config.messages} * config.data_slots_max / 8;
  return std::clamp<uint64_t>(bytes / (limits::note_bytes_max / 2) * 2, 32, 64);
}

/// How one policy cuts messages into blocks. Zeros: it does not.
struct BlockShape {
  uint16_t rows = 0;
  uint8_t k = 0;
  uint16_t m_cap = 0;   ///< block b's repair slots begin at b * m_cap
  uint32_t blocks = 0;  ///< of a message, at most

  bool is_coded() const { return rows != 0; }
  uint32_t slots() const { return uint32_t{rows} * k; }
};

/// The same stream with room for the blocks of one policy more: as many repair slots as its
/// messages need when their blocks are full, and one block more, so that what is left can be closed
/// early. `needs` is what the policy says of itself.
StreamConfig coded(StreamConfig config, const cw_policy_limits& needs,
                   std::span<const cw_codec_ops* const> codecs);

/// Refuses what contradicts itself or the limits, in a sentence that names a split that would fit.
Result<void> check(const StreamConfig& config);

/// What both ends must have alike, by the name under which a person set it, and as text.
using PairKeys = std::vector<std::pair<std::string, std::string>>;
/// The `[pair]` keys of a stream, for the description.
PairKeys pair_keys(const StreamConfig& config);

/// Where packets of one direction of one SDR QP go: told by the receiver in its description.
struct StreamAddress {
  /// Of (generation, channel, path) at (generation * channels + channel) * paths + path.
  std::vector<uint32_t> qpns;
  uint16_t paths = 1;  ///< told apart by QP number; 1: the receiver sees paths without
  uint32_t data_key = 0, repair_key = 0;
  uint64_t data_base = 0, repair_base = 0;
  uint64_t data_window_bytes = 0, repair_window_bytes = 0;  ///< from one message to the next
  bool has_placements = false;  ///< keys and addresses come with each message's credit instead

  /// What a packet of a message names, modulo 2^64: ids come round, addresses do not [C-56].
  uint64_t data_at(MessageSeq seq, uint64_t offset) const {
    return data_base + seq.value() * data_window_bytes + offset;
  }
  uint64_t repair_at(MessageSeq seq, uint64_t offset) const {
    return repair_base + seq.value() * repair_window_bytes + offset;
  }
  uint32_t qpn_of(const StreamConfig& config, uint8_t generation, uint16_t channel,
                  uint16_t path) const {
    const size_t row = size_t{generation} * config.channels + channel;
    return qpns[row * paths + (paths == 1 ? 0 : path)];
  }
};

}  // namespace cw::sdr
