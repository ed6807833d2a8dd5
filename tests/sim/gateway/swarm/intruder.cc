#include "tests/sim/gateway/swarm/intruder.h"

#include "dataplane/wire/roce_inline.h"

namespace cw::sim {

void Intruder::hear(const WanRoute& route, uint16_t link, const Packet& packet) {
  const bool replays = prng_.chance(options_.replays), forges = prng_.chance(options_.forges);
  const bool keeps = options_.replays + options_.forges > 0 && prng_.chance(0.05);
  if (!replays && !forges && !keeps) return;
  Heard heard{route, link, {packet.data, packet.data + packet.bytes}};
  heard.bytes.insert(heard.bytes.end(), packet.payload, packet.payload + packet.payload_bytes);
  if (keeps) {
    if (heard_.size() < heard_max) {
      heard_.push_back(heard);
    } else {
      heard_[prng_.below(heard_max)] = heard;
    }
  }
  // Half of what is said again is of some time ago.
  if (replays || forges) {
    const bool is_old = !heard_.empty() && prng_.chance(0.5);
    to_say_.push_back(is_old ? heard_[prng_.below(heard_.size())] : heard);
    if (forges) forge(to_say_.back().bytes);
  }
}

void Intruder::forge(std::vector<uint8_t>& bytes) {
  const auto headers = std::min(bytes.size(), slot_write_header_bytes + 16);
  switch (prng_.below(4)) {
    case 0:  // one bit of the headers
      bytes[prng_.below(headers)] ^= static_cast<uint8_t>(1u << prng_.below(8));
      break;
    case 1:  // a word of the headers
      for (size_t at = prng_.below(headers / 4) * 4, end = at + 4; at < end; ++at) {
        bytes[at] = static_cast<uint8_t>(prng_.next());
      }
      break;
    case 2:  // somewhere
      for (int i = 0; i < 8; ++i) bytes[prng_.below(bytes.size())] ^= static_cast<uint8_t>(i + 1);
      break;
    default:
      bytes.resize(prng_.between(1, bytes.size()));
  }
}

void Intruder::speak(Sites& sites) {
  for (const Heard& each : to_say_) sites.inject(each.route, each.link, each.bytes);
  to_say_.clear();
}

}  // namespace cw::sim
