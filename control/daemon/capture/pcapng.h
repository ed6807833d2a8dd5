// Packets in the form that tcpdump and Wireshark read (draft-ietf-opsawg-pcapng).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cw::daemon {

/// Appends blocks to a text that grows. Times are nanoseconds since 1970.
class Pcapng {
 public:
  /// Begins a file; all interfaces carry IP packets without anything around them.
  explicit Pcapng(std::string_view about);

  /// Returns its number.
  uint32_t add_interface(std::string_view name, std::string_view about);
  struct PacketInfo {
    uint32_t interface = 0;
    uint64_t at_ns = 0;
    uint32_t bytes = 0;  ///< on the wire
    bool is_outward = false;
  };
  void add_packet(const PacketInfo& info, std::span<const uint8_t> head);
  /// How many of an interface there was no room for; the last of its blocks.
  void add_missed(uint32_t interface, uint64_t at_ns, uint64_t missed);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  template <class Fill>
  void block(uint32_t type, const Fill& fill);
  void put32(uint32_t value);
  void put64(uint64_t value);
  void put_option(uint16_t code, std::string_view value);
  void put_padded(std::string_view bytes);

  std::string text_;
  uint32_t interfaces_ = 0;
};

}  // namespace cw::daemon
