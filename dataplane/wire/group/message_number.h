// How messages from one member to another are numbered where members do no operations together
// (SPEC.md 18.15): each pair counts for itself, 1, 2, ... 2^31 - 1, 1, ..., in two rows: those for
// which their receiver has posted memory by this number, and, with the highest bit set, those that
// take memory of a pool.
// Thread: any. Nothing allocates.
#pragma once

#include <cstdint>

namespace cw::group {

inline constexpr uint32_t pool_bit = uint32_t{1} << 31;
/// So many there are before they begin again.
inline constexpr uint32_t message_numbers = pool_bit - 1;

constexpr bool is_for_pool(uint32_t message) { return (message & pool_bit) != 0; }
constexpr uint32_t number_of(uint32_t message) { return message & ~pool_bit; }
/// 0 is that of what all members come to have.
constexpr bool is_message_number(uint32_t message) { return number_of(message) != 0; }

/// Of numbers without the highest bit.
constexpr uint32_t next_number(uint32_t number) {
  return number == message_numbers ? 1 : number + 1;
}
/// How many come from `from` on before `to` does.
constexpr uint32_t numbers_between(uint32_t from, uint32_t to) {
  return to >= from ? to - from : to + message_numbers - from;
}
/// So many before `number`.
constexpr uint32_t number_before(uint32_t number, uint32_t count) {
  return number > count ? number - count : number + message_numbers - count;
}

}  // namespace cw::group
