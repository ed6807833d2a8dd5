// What comes instead of a handshake's messages and of a key's text: no crash, no message accepted
// that the other has not written, and no text that is not the one of its key.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/seal/noise/handshake.h"

namespace {
using namespace cw::seal;

using Bytes = std::vector<uint8_t>;

Identity identity(uint8_t seed) {
  Secret secret;
  std::ranges::fill(secret.bytes(), seed);
  return Identity::of(secret);
}

/// Two sites in the middle of a handshake.
struct Sites {
  Identity a = identity(1), b = identity(2);
  Initiator initiator{a, b.public_key, {}, identity(3)};
  Bytes first = *initiator.write_first({});
  Bytes second = answer();

  Responder responder() const { return Responder(b, {}, identity(4)); }
  Bytes answer() const {
    Responder it = responder();
    CW_ASSERT(it.read_first(first).has_value());
    return it.write_second({}, Secret())->message;
  }
};

const Sites& sites() {
  static const Sites made;
  return made;
}

void first(const Bytes& message) {
  CW_ASSERT(sites().responder().read_first(message).has_value() == (message == sites().first));
}

void second(const Bytes& message) {
  const auto end = sites().initiator.read_second(message, Secret());
  CW_ASSERT(end.has_value() == (message == sites().second));
}

/// The message as it was written, with these bytes over it.
Bytes laid_over(const Bytes& whole, std::span<const uint8_t> mask) {
  Bytes message = whole;
  for (size_t i = 0; i < std::min(mask.size(), message.size()); ++i) message[i] ^= mask[i];
  return message;
}

void key_text(std::string_view text) {
  const auto secret = parse_secret(text);
  CW_ASSERT(!secret || text_of(secret->bytes()) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(bytes + 1, size - 1);
  switch (bytes[0] % 5) {
    case 0:
      first({rest.begin(), rest.end()});
      break;
    case 1:
      second({rest.begin(), rest.end()});
      break;
    case 2:
      first(laid_over(sites().first, rest));
      break;
    case 3:
      second(laid_over(sites().second, rest));
      break;
    default:
      key_text({reinterpret_cast<const char*>(rest.data()), rest.size()});
  }
  return 0;
}
