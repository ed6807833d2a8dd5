#include "dataplane/sdr/shard.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::sdr {

Shard::Shard(AnyWanPort port, seal::Sealer* sealer, const RandomSource& random,
             const CodingOptions& coding)
    : raw_(port.bytes() == nullptr ? nullptr : std::make_unique<RawPort>(*port.bytes(), sealer)),
      sealed_(port.posts() == nullptr || sealer == nullptr
                  ? nullptr
                  : std::make_unique<SealedPort>(*port.posts(), *sealer)),
      port_(raw_      ? static_cast<WanPort&>(*raw_)
            : sealed_ ? static_cast<WanPort&>(*sealed_)
                      : *port.posts()),
      random_(random),
      endpoint_(make_endpoint(coding)),
      pair_(*endpoint_) {}

std::unique_ptr<Endpoint> Shard::make_endpoint(const CodingOptions& coding) {
  return std::make_unique<Endpoint>(port_, counters_, drops_, coding);
}

Result<Link*> Shard::add_link(LinkOptions options, const cw_mac& key, Instant now) {
  return add_link(*endpoint_, std::move(options), key, now);
}

Result<Link*> Shard::add_link(Endpoint& endpoint, LinkOptions options, const cw_mac& key,
                              Instant now) {
  const auto is_same = [&](const cw_mac& each) {
    return std::memcmp(&each, &key, sizeof(key)) == 0;
  };
  if (std::ranges::none_of(keys_, is_same)) keys_.push_back(key);
  options.control.key = {&*std::ranges::find_if(keys_, is_same), cw_mac_compute};
  options.control.random = random_;
  options.control.icrc_mode = static_cast<uint8_t>(port_.facts().icrc);
  options.control.sees_psns = port_.facts().sees_psns;
  options.control.numbers_by_qp = port_.facts().numbers_by_qp;
  options.control.places_payload = port_.facts().places_payload;
  options.control.datagram_max = port_.facts().datagram_max;
  options.control.payload_bytes =
      std::min(options.control.payload_bytes, port_.facts().payload_max);
  options.control.control_qpn = port_.control_queue(control_qpn_of(options.control.number));
  return endpoint.add_link(options, now);
}

void Shard::begin(std::span<const Worker::Side> others) {
  CW_ASSERT(!worker_);
  worker_.emplace(others, Worker::WanSide{&port_, &pair_});
}

}  // namespace cw::sdr
