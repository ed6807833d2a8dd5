#include "bench/e2e/capture.h"

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <span>

#include "dataplane/wire/outer/checksum.h"

namespace cw::bench {
namespace {

void put16(std::string& out, unsigned value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}

std::string frame_of(const Capture& capture, unsigned flow) {
  constexpr unsigned link_bytes = 14, ip_bytes = 20;
  std::string ip("\x45\0", 2);
  put16(ip, capture.bytes - link_bytes);
  put16(ip, flow);
  ip += std::string("\0\0\x40\x11\0\0", 6);
  for (const char site : {capture.from, static_cast<char>(3 - capture.from)}) {
    ip += std::string({'\x0a', site, '\0', '\2'});
  }
  const std::span header(reinterpret_cast<const uint8_t*>(ip.data()), ip.size());
  const auto sum = static_cast<uint16_t>(~sum_of(header));
  ip[10] = static_cast<char>(sum >> 8);
  ip[11] = static_cast<char>(sum);
  put16(ip, 4000 + flow);
  put16(ip, 5000);
  put16(ip, capture.bytes - link_bytes - ip_bytes);
  put16(ip, 0);
  std::string frame("\2pcap\0\2\0\0\0\0\2\x08\0", link_bytes);
  frame[5] = capture.target;
  frame += ip;
  frame.resize(capture.bytes, 'x');
  return frame;
}

}  // namespace

void write_capture(const std::string& path, const Capture& capture) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](std::initializer_list<uint32_t> words) {
    for (const uint32_t word : words) file.write(reinterpret_cast<const char*>(&word), 4);
  };
  put({0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1});
  for (unsigned flow = 0; flow < capture.flows; ++flow) {
    put({0, 0, capture.bytes, capture.bytes});
    file << frame_of(capture, flow);
  }
}

}  // namespace cw::bench
