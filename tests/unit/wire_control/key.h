// The key of the golden packets, and sealing with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dataplane/wire/control/envelope.h"
#include "offload/mac.h"

namespace cw::test {

inline MacKey make_key(std::string_view text) {
  static std::list<cw_mac> macs;  // a MacKey points to its state for as long as it is used
  cw_mac_init(&macs.emplace_back(), text.data(), text.size());
  return {&macs.back(), cw_mac_compute};
}
inline const MacKey& golden_key() {
  static const MacKey key = make_key("causeway golden key");
  return key;
}

inline constexpr EnvelopeHeader golden_header{0x1112131415161718, 0x2122232425262728, 7};

/// Seals a raw row of records, well-formed or not, the way a peer with our key could.
inline std::vector<uint8_t> sealed(std::span<const uint8_t> row,
                                   const EnvelopeHeader& header = golden_header) {
  std::vector<uint8_t> bytes(envelope_bytes_min + row.size());
  EnvelopeWriter(bytes, header).seal(golden_key());
  bytes[4] = static_cast<uint8_t>(bytes.size() >> 8);
  bytes[5] = static_cast<uint8_t>(bytes.size());
  std::ranges::copy(row, bytes.begin() + envelope_header_bytes);
  uint8_t mac[32];
  const size_t count = bytes.size() - envelope_mac_bytes;
  golden_key().compute(golden_key().state, bytes.data(), count, mac);
  std::memcpy(bytes.data() + count, mac, envelope_mac_bytes);
  return bytes;
}

/// The bytes alone on the heap, so that AddressSanitizer sees a read one byte beyond them.
class ExactCopy {
 public:
  explicit ExactCopy(std::span<const uint8_t> bytes)
      : bytes_(new uint8_t[bytes.size()]), count_(bytes.size()) {
    if (count_ > 0) std::memcpy(bytes_.get(), bytes.data(), count_);
  }
  operator std::span<const uint8_t>() const { return {bytes_.get(), count_}; }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  size_t count_;
};

}  // namespace cw::test
