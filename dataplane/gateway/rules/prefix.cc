#include "dataplane/gateway/rules/prefix.h"

#include <charconv>

namespace cw::gateway {
namespace {

void append(std::string& text, unsigned number, int base) {
  char digits[8];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number, base).ptr);
}

template <class Key>
bool has_bits_behind(const Prefix& prefix) {
  return (key_of<Key>(prefix.address) & ~mask_of<Key>(prefix.bits)) != 0;
}

template <class Key>
Prefix without_bits_behind(Prefix prefix) {
  Key key = key_of<Key>(prefix.address) & mask_of<Key>(prefix.bits);
  for (size_t i = sizeof(Key); i-- > 0; key >>= 8) prefix.address[i] = static_cast<uint8_t>(key);
  return prefix;
}

}  // namespace

std::string text_of(const Prefix& prefix) {
  std::string text;
  for (size_t i = 0; i < (prefix.is_v6 ? 8u : 4u); ++i) {
    if (i > 0) text += prefix.is_v6 ? ':' : '.';
    if (prefix.is_v6) {
      append(text, prefix.address[2 * i] << 8 | prefix.address[2 * i + 1], 16);
    } else {
      append(text, prefix.address[i], 10);
    }
  }
  text += '/';
  append(text, prefix.bits, 10);
  return text;
}

Result<void> check(const Prefix& prefix) {
  const unsigned bits_max = prefix.is_v6 ? 128 : 32;
  if (prefix.bits > bits_max) {
    return failure("the prefix " + text_of(prefix) + " is longer than an address: 0 to " +
                   std::to_string(bits_max) + " bits");
  }
  const bool is_wrong =
      prefix.is_v6 ? has_bits_behind<Key128>(prefix) : has_bits_behind<Key32>(prefix);
  if (!is_wrong) return {};
  const Prefix meant =
      prefix.is_v6 ? without_bits_behind<Key128>(prefix) : without_bits_behind<Key32>(prefix);
  return failure("the prefix " + text_of(prefix) + " has address bits behind its length: is " +
                 text_of(meant) + " meant?");
}

}  // namespace cw::gateway
