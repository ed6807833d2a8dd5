#include "dataplane/wire/outer/checksum.h"

#include <bit>
#include <cstring>
#include <utility>

namespace cw {
namespace {

constexpr uint64_t add_with_carry(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum + (sum < b);
}

constexpr uint16_t folded(uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xffffffff);
  sum = (sum >> 32) + (sum & 0xffffffff);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  return static_cast<uint16_t>(sum);
}

template <class Word>
uint64_t word_at(const uint8_t* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Fewer than 16 bytes. In steps of fixed size: what memcpy() has put together from pieces could
/// not be read again at once.
uint64_t rest_of(std::span<const uint8_t> bytes) {
  const uint8_t* at = bytes.data();
  uint64_t sum = 0;
  if ((bytes.size() & 8) != 0) sum = word_at<uint64_t>(std::exchange(at, at + 8));
  if ((bytes.size() & 4) != 0)
    sum = add_with_carry(sum, word_at<uint32_t>(std::exchange(at, at + 4)));
  if ((bytes.size() & 2) != 0)
    sum = add_with_carry(sum, word_at<uint16_t>(std::exchange(at, at + 2)));
  if ((bytes.size() & 1) == 0) return sum;
  return add_with_carry(sum, std::endian::native == std::endian::little ? *at : uint64_t{*at} << 8);
}

}  // namespace

// The one's complement sum does not mind the order of the bytes in a word, as long as it is the
// same in all: summed in the machine's order, and turned once at the end.
uint16_t sum_of(std::span<const uint8_t> bytes) {
  uint64_t even = 0, odd = 0;  // two chains, so that one addition need not wait for the other
  size_t i = 0;
  for (; i + 16 <= bytes.size(); i += 16) {
    uint64_t words[2];
    std::memcpy(words, bytes.data() + i, sizeof words);
    even = add_with_carry(even, words[0]);
    odd = add_with_carry(odd, words[1]);
  }
  even = add_with_carry(add_with_carry(even, odd), rest_of(bytes.subspan(i)));
  const uint16_t sum = folded(even);
  return std::endian::native == std::endian::little ? std::byteswap(sum) : sum;
}

uint16_t pseudo_header_sum(std::span<const uint8_t> addresses, uint8_t protocol, size_t bytes) {
  const auto length = add_sums(static_cast<uint16_t>(bytes >> 16), static_cast<uint16_t>(bytes));
  return add_sums(add_sums(sum_of(addresses), protocol), length);
}

}  // namespace cw
