// Packets of a handshake from anybody who knows whom he speaks to, and so puts a right first MAC on
// whatever he likes: what fits lies inside what was given, an offer is written again as it was
// read, and a cookie opens for nobody but the one whose question it answers, from the one who was
// asked.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/seal/handshake/packet.h"
#include "tests/fuzz/fixed_random.h"

namespace {
using namespace cw::seal;

using Bytes = std::vector<uint8_t>;

constexpr size_t message_bytes[] = {100, 52, 48};  // by type, from 1

template <class Array>
Array filled(uint8_t byte) {
  Array array;
  array.fill(byte);
  return array;
}

struct Sites {
  PublicKey a = filled<PublicKey>(1), b = filled<PublicKey>(2);
  Check cookie = filled<Check>(3), first_check = filled<Check>(4);
  MessageCheck to_a{a}, to_b{b};
};

const Sites& sites() {
  static const Sites made;
  return made;
}

/// Whether there is anything but zeros.
bool changes(std::span<const uint8_t> mask) {
  return std::ranges::any_of(mask, [](uint8_t each) { return each != 0; });
}

Bytes laid_over(const Bytes& whole, std::span<const uint8_t> mask) {
  Bytes bytes = whole;
  for (size_t i = 0; i < std::min(mask.size(), bytes.size()); ++i) bytes[i] ^= mask[i];
  return bytes;
}

void offer(std::span<const uint8_t> bytes) {
  const auto read = parse_offer(bytes);
  if (!read) return;
  CW_ASSERT(bytes.size() == offer_bytes);
  CW_ASSERT(std::ranges::equal(bytes_of(*read), bytes));
}

/// What of the site does with a packet that fits.
void take(const Bytes& packet) {
  const HandshakeHead head = head_of(packet);
  const auto type = static_cast<size_t>(head.type);
  CW_ASSERT(type >= 1 && type <= 3 && head.ticket != 0);
  const auto message = message_of(packet);
  CW_ASSERT(message.size() == message_bytes[type - 1]);
  CW_ASSERT(message.data() >= packet.data());
  CW_ASSERT(message.data() + message.size() <= packet.data() + packet.size());
  const Check check = first_check_of(packet);
  CW_ASSERT(sites().to_a.of({packet.data(), packet.size() - 32}) == check);
  CW_ASSERT(!has_cookie(packet, sites().cookie));
  if (head.type == HandshakeType::Cookie) {
    // That of cookie() is a genuine one, which the fuzzer sees there and brings back.
    const auto opened = open_cookie(packet, sites().b, sites().first_check);
    CW_ASSERT(!opened || *opened == sites().cookie);
  }
  offer(message.first(offer_bytes));
}

/// Bytes as they are.
void raw(const Bytes& packet) {
  const bool fits = sites().to_a.fits(packet);
  CW_ASSERT(!fits || MessageCheck::is_handshake(packet));
  if (fits) take(packet);
}

/// A head and a first MAC before and behind them, as whoever knows the receiver can write.
void dressed(std::span<const uint8_t> bytes) {
  if (bytes.size() < 5) return;
  const auto type = static_cast<uint8_t>(1 + bytes[0] % 3);
  const uint32_t ticket = bytes[1] | uint32_t{1} << 31;
  Bytes message(bytes.begin() + 5, bytes.end());
  const bool is_cut = bytes[2] % 4 == 0;  // else it is as long as its type is
  const size_t wanted = message_bytes[type - 1];
  message.resize(is_cut ? std::min(message.size(), message_bytes[0]) : wanted);
  std::optional<Check> cookie;
  if (bytes[3] % 2 == 0) cookie = filled<Check>(bytes[4]);
  const Bytes packet =
      handshake_packet({static_cast<HandshakeType>(type), ticket}, message, sites().to_a, cookie);
  CW_ASSERT(MessageCheck::is_handshake(packet));
  CW_ASSERT(sites().to_a.fits(packet) == (message.size() == wanted));
  CW_ASSERT(!sites().to_b.fits(packet));
  if (cookie) CW_ASSERT(has_cookie(packet, *cookie));
  if (message.size() == wanted && cookie != sites().cookie) take(packet);
}

/// A genuine packet of each type, with a mask over it.
void changed(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const size_t which = bytes[0] % 3;
  const auto type = static_cast<HandshakeType>(which + 1);
  const Bytes whole = handshake_packet({type, 7}, Bytes(message_bytes[which], 9), sites().to_a, {});
  const auto mask = bytes.subspan(1, std::min(bytes.size() - 1, whole.size()));
  // Nobody but who has given a cookie away looks at the second MAC.
  const auto covered = mask.first(std::min(mask.size(), whole.size() - check_bytes));
  CW_ASSERT(sites().to_a.fits(laid_over(whole, mask)) == !changes(covered));
}

/// A genuine cookie with a mask over it, and a right first MAC again.
void cookie(std::span<const uint8_t> mask) {
  const Sites& it = sites();
  const Bytes whole = cookie_packet(7, it.cookie, it.b, it.first_check, it.to_a);
  const auto message = message_of(whole);
  const Bytes other = laid_over({message.begin(), message.end()}, mask);
  const Bytes packet = handshake_packet({HandshakeType::Cookie, 7}, other, it.to_a, {});
  CW_ASSERT(it.to_a.fits(packet));
  const bool is_it = std::ranges::equal(other, message);
  const auto opened = open_cookie(packet, it.b, it.first_check);
  CW_ASSERT(opened.has_value() == is_it);
  CW_ASSERT(!opened || *opened == it.cookie);
  CW_ASSERT(!open_cookie(packet, it.a, it.first_check));
  CW_ASSERT(!open_cookie(packet, it.b, it.cookie));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  cw::fixed_random() = cw::Prng(size);
  const std::span<const uint8_t> rest(bytes + 1, size - 1);
  switch (bytes[0] % 5) {
    case 0:
      raw({rest.begin(), rest.end()});
      break;
    case 1:
      dressed(rest);
      break;
    case 2:
      changed(rest);
      break;
    case 3:
      cookie(rest);
      break;
    default:
      offer(rest);
  }
  return 0;
}
