// What fuzz targets of control packets do alike.
#pragma once

#include <cstdint>
#include <cstring>
#include <list>
#include <string_view>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/wire/control/envelope.h"
#include "offload/mac.h"

namespace cw {

inline MacKey make_key(std::string_view text) {
  static std::list<cw_mac> macs;  // a MacKey points to its state for as long as it is used
  cw_mac_init(&macs.emplace_back(), text.data(), text.size());
  return {&macs.back(), cw_mac_compute};
}

/// Writes the record again and compares with what was read.
void comes_back(const auto& record, const RecordView& view) {
  std::vector<uint8_t> row(view.bytes.size());
  RecordWriter writer(row);
  CW_ASSERT(writer.try_add(record));
  CW_ASSERT(writer.bytes() == row.size());
  CW_ASSERT(std::memcmp(row.data(), view.bytes.data(), row.size()) == 0);
}

/// Makes everything before the records and behind them what a peer with our key would write.
inline void make_genuine(std::vector<uint8_t>& bytes, const MacKey& key) {
  if (bytes.size() < envelope_bytes_min || bytes.size() > UINT16_MAX) return;
  const uint8_t fixed[8] = {0xca, 0x05, 2, 0, uint8_t(bytes.size() >> 8), uint8_t(bytes.size())};
  std::memcpy(bytes.data(), fixed, sizeof(fixed));
  bytes[8] |= 1;  // a nonce
  const size_t mac_offset = bytes.size() - envelope_mac_bytes;
  uint8_t mac[32];
  key.compute(key.state, bytes.data(), mac_offset, mac);
  std::memcpy(bytes.data() + mac_offset, mac, envelope_mac_bytes);
}

}  // namespace cw
