// The bytes of a fuzzer as a row of orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cw {

/// Zeros behind the end.
class Orders {
 public:
  explicit Orders(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool is_over() const { return bytes_.empty(); }
  uint8_t next() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::vector<uint8_t> row(size_t count) {
    std::vector<uint8_t> row(count);
    for (uint8_t& each : row) each = next();
    return row;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace cw
