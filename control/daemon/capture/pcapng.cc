#include "control/daemon/capture/pcapng.h"

#include <array>
#include <cstring>

namespace cw::daemon {
namespace {

// Blocks (section 4) and options (sections 3.5, 4.1 to 4.6) by their codes.
constexpr uint32_t section_header = 0x0A0D0D0A, interface_description = 1, interface_statistics = 5,
                   enhanced_packet = 6;
constexpr uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr uint16_t option_comment = 1, option_user = 4, option_name = 2, option_resolution = 9,
                   option_flags = 2, option_missed = 5;
constexpr uint16_t link_type_raw_ip = 101;
constexpr uint32_t inbound = 1, outbound = 2;
constexpr char nanoseconds = 9;  // a power of ten

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

// In the machine's own byte order, which the magic tells.
void Pcapng::put32(uint32_t value) { text_ += bytes_of(value); }

void Pcapng::put64(uint64_t value) {
  put32(static_cast<uint32_t>(value >> 32));
  put32(static_cast<uint32_t>(value));
}

void Pcapng::put_padded(std::string_view bytes) {
  text_ += bytes;
  text_.append((4 - bytes.size() % 4) % 4, '\0');
}

void Pcapng::put_option(uint16_t code, std::string_view value) {
  text_ += bytes_of(code);
  text_ += bytes_of(static_cast<uint16_t>(value.size()));
  put_padded(value);
}

/// Type and length stand in front, the length behind as well.
template <class Fill>
void Pcapng::block(uint32_t type, const Fill& fill) {
  const size_t start = text_.size();
  put32(type);
  put32(0);
  fill();
  put_option(0, "");  // the end of options
  const auto length = static_cast<uint32_t>(text_.size() + sizeof(uint32_t) - start);
  put32(length);
  std::memcpy(&text_[start + sizeof(type)], &length, sizeof(length));
}

Pcapng::Pcapng(std::string_view about) {
  block(section_header, [&] {
    put32(byte_order_magic);
    put32(1);                              // version 1.0
    put32(UINT32_MAX), put32(UINT32_MAX);  // how long it will be is not known
    put_option(option_user, about);
  });
}

uint32_t Pcapng::add_interface(std::string_view name, std::string_view about) {
  block(interface_description, [&] {
    put32(link_type_raw_ip);
    put32(0);  // packets may be any length
    put_option(option_comment, about);
    put_option(option_name, name);
    put_option(option_resolution, std::string_view(&nanoseconds, 1));
  });
  return interfaces_++;
}

void Pcapng::add_packet(const PacketInfo& info, std::span<const uint8_t> head) {
  block(enhanced_packet, [&] {
    put32(info.interface);
    put64(info.at_ns);
    put32(static_cast<uint32_t>(head.size()));
    put32(info.bytes);
    put_padded({reinterpret_cast<const char*>(head.data()), head.size()});
    put_option(option_flags, bytes_of(info.is_outward ? outbound : inbound));
  });
}

void Pcapng::add_missed(uint32_t interface, uint64_t at_ns, uint64_t missed) {
  block(interface_statistics, [&] {
    put32(interface);
    put64(at_ns);
    put_option(option_missed, bytes_of(missed));
  });
}

}  // namespace cw::daemon
