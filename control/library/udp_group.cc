#include "control/library/udp_group.h"

#include <charconv>
#include <string>

#include "control/library/fresh_bits.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/udp/group/udp_group_port.h"
#include "offload/crc32.h"

namespace cw::sdk {
namespace {

constexpr auto rate_default = Rate::from_gbps(10);

class UdpGroupDevice final : public GroupDevice {
 public:
  explicit UdpGroupDevice(std::unique_ptr<UdpGroupPort> port) : port_(std::move(port)) {}

  AnyWanPort port() override { return *port_; }
  Rate rate() const override { return rate_default; }
  Instant now() override { return clock_.read(); }
  uint64_t fresh_bits() override { return fresh_bits_of_system(); }
  uint16_t group_peer() const override { return group_peer_first; }

 private:
  MonotonicClock clock_;
  std::unique_ptr<UdpGroupPort> port_;
};

template <class Number>
Result<void> read_number(std::string_view name, std::string_view text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return {};
  return failure(std::string(name) + " is \"" + std::string(text) + "\" and must be a number");
}

Result<void> take_part(std::string_view part, UdpGroupPortOptions& options) {
  const size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = equals == part.npos ? "" : part.substr(equals + 1);
  if (name == "port") return read_number(name, value, options.udp_port);
  if (name == "ttl") return read_number(name, value, options.hops);
  if (name == "interface") {
    options.interface = value;
    return {};
  }
  return failure("\"" + std::string(part) +
                 "\" is nothing it knows; write udp:GROUP,interface=NAME,port=NUMBER,ttl=HOPS");
}

}  // namespace

Result<std::unique_ptr<GroupDevice>> open_udp_group(std::string_view rest,
                                                    const GroupPlace& place) {
  UdpGroupPortOptions options;
  options.rank = place.rank;
  options.members.assign(place.members.begin(), place.members.end());
  options.crc32 = cw_crc32;
  size_t comma = rest.find(',');
  options.groups = {std::string(rest.substr(0, comma))};
  while (comma != rest.npos) {
    rest = rest.substr(comma + 1);
    comma = rest.find(',');
    if (const auto taken = take_part(rest.substr(0, comma), options); !taken) {
      return failure("udp: " + taken.error().sentence);
    }
  }
  auto port = UdpGroupPort::make(options);
  if (!port) return failure("udp: " + port.error().sentence);
  return std::make_unique<UdpGroupDevice>(std::move(*port));
}

}  // namespace cw::sdk
