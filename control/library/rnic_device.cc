#include "control/library/rnic_device.h"

#include <charconv>
#include <string>

#include "control/library/fresh_bits.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/verbs/verbs_port.h"

namespace cw::sdk {
namespace {

constexpr auto rate_default = Rate::from_gbps(10);
constexpr const char* form = "verbs:DEVICE,address=OURS,peer=THEIRS";

class RnicDevice final : public Device {
 public:
  RnicDevice(std::unique_ptr<VerbsPort> port, Rate rate) : port_(std::move(port)), rate_(rate) {}

  AnyWanPort port() override { return *port_; }
  Rate rate() const override { return rate_; }
  Instant now() override { return clock_.read(); }
  uint64_t fresh_bits() override { return fresh_bits_of_system(); }

 private:
  MonotonicClock clock_;
  std::unique_ptr<VerbsPort> port_;
  Rate rate_;
};

struct Parts {
  std::string device, address, peer;
  Rate rate = rate_default;
};

Result<void> take_part(std::string_view part, Parts& parts) {
  const size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = equals == part.npos ? "" : part.substr(equals + 1);
  if (name == "address") {
    parts.address = value;
  } else if (name == "peer") {
    parts.peer = value;
  } else if (name == "rate") {
    uint64_t bps = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), bps);
    const bool is_whole = read.ec == std::errc() && read.ptr == value.data() + value.size();
    if (!is_whole || bps == 0) {
      return failure("verbs: rate is \"" + std::string(value) + "\" and must be bits per second");
    }
    parts.rate = Rate::from_bps(bps);
  } else {
    return failure("verbs: \"" + std::string(part) + "\" is nothing it knows; write " + form);
  }
  return {};
}

Result<Parts> read(std::string_view rest) {
  Parts parts;
  size_t comma = rest.find(',');
  parts.device = rest.substr(0, comma);
  while (comma != rest.npos) {
    rest = rest.substr(comma + 1);
    comma = rest.find(',');
    if (const auto taken = take_part(rest.substr(0, comma), parts); !taken) {
      return std::unexpected(taken.error());
    }
  }
  if (!parts.device.empty() && !parts.address.empty() && !parts.peer.empty()) return parts;
  return failure(std::string("verbs: device, address and peer are to be named: ") + form);
}

}  // namespace

Result<std::unique_ptr<Device>> open_rnic(std::string_view rest) {
  const auto parts = read(rest);
  if (!parts) return std::unexpected(parts.error());
  VerbsPortOptions options;
  options.device = parts->device;
  options.address = parts->address;
  options.peers = {{.address = parts->peer}};
  auto port = VerbsPort::make(options);
  if (!port) return failure("verbs: " + port.error().sentence);
  return std::make_unique<RnicDevice>(std::move(*port), parts->rate);
}

}  // namespace cw::sdk
