#include "dataplane/sdr/stream/stream_config.h"

#include <algorithm>
#include <bit>

namespace cw::sdr {
namespace {

/// Of which a fact's 16 bits still name the words.
constexpr uint32_t repair_slots_limit = UINT16_MAX * 64u;

std::string number(uint64_t value) { return std::to_string(value); }

/// The split with the fewest slot bits that holds this many ids and slots, as a sentence.
std::string fitting_split(uint64_t ids, uint64_t slots) {
  const auto id_bits = std::max(1u, unsigned(std::bit_width(ids - 1)));
  const auto slot_bits = std::max(1u, unsigned(std::bit_width(slots - 1)));
  const unsigned user_bits = 32 - std::min(32u, id_bits + slot_bits);
  if (!ImmediateSplit::can_be(id_bits, slot_bits, user_bits)) {
    return "no split of 32 bits holds both: lower messages or message size";
  }
  return "the split " + number(id_bits) + "|" + number(slot_bits) + "|" + number(user_bits) +
         " would fit";
}

/// Without its subject, the QP.
Result<void> check_blocks(const StreamConfig& config) {
  if ((config.rows == 0) != (config.k == 0)) {
    return failure("rows and k belong together: both zero, or neither");
  }
  if (config.rows == 0) {
    if (config.repair_slots_max == 0 && config.m_cap == 0) return {};
    return failure("repair slots belong to blocks: rows and k say how large these are");
  }
  const uint64_t full = config.block_slots_max(), m_cap = config.m_cap;
  const uint64_t blocks = (config.data_slots_max + full - 1) / full;
  if (config.codec_count() == 0) return failure("blocks need a codec");
  if (config.k >= limits::shards_per_block_max) {
    return failure("k is " + number(config.k) + " and must be at most " +
                   number(limits::shards_per_block_max - 1) + ", so that a repair chunk has room");
  }
  if (full > config.data_slots_max) {
    return failure("a block of " + number(full) + " slots is larger than a message of " +
                   number(config.data_slots_max) + ": lower k or rows, or raise the message size");
  }
  // What is room for several policies is a multiple of none.
  const bool is_shared = config.blocks > 0;
  if (m_cap == 0 || (!is_shared && config.repair_slots_max % m_cap != 0) ||
      config.repair_slots_max < blocks * m_cap || config.blocks_max() < blocks) {
    return failure(number(config.repair_slots_max) + " repair slots do not give each of " +
                   number(blocks) + " blocks " + number(std::max<uint64_t>(1, m_cap)) + ": " +
                   number(blocks * std::max<uint64_t>(1, m_cap)) + " would");
  }
  if (config.repair_slots_max > repair_slots_limit) {
    return failure(number(config.repair_slots_max) + " repair slots are more than " +
                   number(repair_slots_limit) + ": lower m or the message size");
  }
  const uint64_t bytes = config.messages * config.repair_window_bytes();
  if (bytes > limits::repair_bytes_max) {
    return failure("repair slots take " + number(bytes) + " bytes where " +
                   number(limits::repair_bytes_max) +
                   " are the most: lower m, messages or message size");
  }
  return {};
}

}  // namespace

StreamConfig coded(StreamConfig config, const cw_policy_limits& needs,
                   std::span<const cw_codec_ops* const> codecs) {
  const uint32_t full = needs.rows * needs.k;
  if (full == 0) return config;
  const uint32_t blocks = (config.data_slots_max + full - 1) / full + 1;
  config.rows = std::max(config.rows, static_cast<uint16_t>(needs.rows));
  config.k = std::max(config.k, static_cast<uint8_t>(needs.k));
  config.m_cap = std::max(config.m_cap, static_cast<uint16_t>(needs.m_cap));
  config.blocks = std::max(config.blocks, blocks);
  config.repair_slots_max = std::max(config.repair_slots_max, blocks * needs.m_cap);
  std::ranges::copy(codecs.first(std::min(codecs.size(), config.codecs.size())),
                    config.codecs.begin());
  return config;
}

Result<void> check(const StreamConfig& config) {
  const std::string qp = "qp " + number(config.qp) + ": ";
  const uint64_t slots = uint64_t{config.data_slots_max} + config.repair_slots_max;
  if (config.messages == 0 || config.data_slots_max == 0 || config.chunk_slots == 0) {
    return failure(qp + "messages, message size and chunk size must not be zero");
  }
  if (config.messages > config.split.ids() || slots > config.split.slots()) {
    return failure(qp + number(config.messages) + " messages of " + number(slots) +
                   " slots do not fit the split " + number(config.split.id_bits()) + "|" +
                   number(config.split.slot_bits()) + "|" + number(config.split.user_bits()) +
                   ": " + fitting_split(config.messages, slots));
  }
  if (!std::has_single_bit(config.messages)) {
    return failure(qp + "messages is " + number(config.messages) +
                   " and must be a power of two, so that ids keep their order when sequences wrap");
  }
  if (!std::has_single_bit(unsigned{config.generations}) ||
      config.generations > limits::generations_max) {
    return failure(qp + "generations is " + number(config.generations) + " and must be 1, 2 or " +
                   number(limits::generations_max));
  }
  if (config.channels == 0 || config.channels > limits::channels_max) {
    return failure(qp + "channels is " + number(config.channels) + " and must be 1 to " +
                   number(limits::channels_max));
  }
  if (config.chunk_slots > UINT16_MAX) {
    return failure(qp + "a chunk of " + number(config.chunk_slots) + " slots is larger than " +
                   number(UINT16_MAX));
  }
  if (const auto checked = check_blocks(config); !checked) {
    return failure(qp + checked.error().sentence);
  }
  return {};
}

PairKeys pair_keys(const StreamConfig& config) {
  PairKeys keys;
  const auto add = [&](const char* key, uint64_t value) {
    keys.emplace_back("qp" + number(config.qp) + "." + key, number(value));
  };
  add("message_id_bits", config.split.id_bits());
  add("slot_bits", config.split.slot_bits());
  add("messages", config.messages);
  add("data_slots_max", config.data_slots_max);
  add("repair_slots_max", config.repair_slots_max);
  add("chunk_slots", config.chunk_slots);
  add("rows", config.rows);
  add("k", config.k);
  add("m_cap", config.m_cap);
  add("generations", config.generations);
  add("channels", config.channels);
  add("first_seq", config.first_seq.value());
  std::string codecs;
  for (const cw_codec_ops* codec : config.codecs) {
    if (codec == nullptr) break;
    codecs += (codecs.empty() ? "" : ",") + (codec->name + ("/" + number(codec->wire_version)));
  }
  if (!codecs.empty()) keys.emplace_back("qp" + number(config.qp) + ".codecs", codecs);
  return keys;
}

}  // namespace cw::sdr
