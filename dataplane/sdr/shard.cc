#include "dataplane/sdr/shard.h"

#include <utility>

#include "dataplane/base/assert.h"

namespace cw::sdr {

Shard::Shard(WanPort& port, const RandomSource& random, const CodingOptions& coding)
    : port_(port), random_(random), endpoint_(port, counters_, drops_, coding) {}

Shard::Shard(Port& wire, const RandomSource& random, const CodingOptions& coding)
    : Shard(std::make_unique<RawPort>(wire), random, coding) {}

Shard::Shard(std::unique_ptr<RawPort> raw, const RandomSource& random, const CodingOptions& coding)
    : Shard(*raw, random, coding) {
  raw_ = std::move(raw);
}

Result<Link*> Shard::add_link(LinkOptions options, const cw_mac& key, Instant now) {
  keys_.push_back(key);
  options.control.key = {&keys_.back(), cw_mac_compute};
  options.control.random = random_;
  options.control.icrc_mode = static_cast<uint8_t>(port_.facts().icrc);
  options.control.sees_psns = port_.facts().sees_psns;
  options.control.numbers_by_qp = port_.facts().numbers_by_qp;
  options.control.places_payload = port_.facts().places_payload;
  return endpoint_.add_link(options, now);
}

void Shard::begin(std::span<const Worker::Side> others) {
  CW_ASSERT(!worker_);
  worker_.emplace(others, Worker::WanSide{&port_, &endpoint_});
}

}  // namespace cw::sdr
