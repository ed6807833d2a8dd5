#include "dataplane/sdr/stream_config.h"

#include <algorithm>
#include <bit>

namespace cw::sdr {
namespace {

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

}  // namespace

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
  if ((config.rows == 0) != (config.k == 0)) {
    return failure(qp + "rows and k belong together: both zero, or neither");
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
  return keys;
}

}  // namespace cw::sdr
