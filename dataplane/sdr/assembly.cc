#include "dataplane/sdr/assembly.h"

#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"

namespace cw::sdr {

Assembly::Assembly(Port& port, const RandomSource& random, const CodingOptions& coding)
    : port_(port), random_(random), endpoint_(port, counters_, drops_, coding) {}

Result<Link*> Assembly::add_link(LinkOptions options, const cw_mac& key, Instant now) {
  keys_.push_back(key);
  options.control.key = {&keys_.back(), cw_mac_compute};
  options.control.random = random_;
  options.control.icrc_mode = static_cast<uint8_t>(port_.facts().icrc);
  options.control.sees_psns = port_.facts().sees_psns;
  return endpoint_.add_link(options, now);
}

void Assembly::begin(std::span<const Worker::Side> others) {
  CW_ASSERT(!worker_ && others.size() < Worker::sides_max);
  std::array<Worker::Side, Worker::sides_max> sides;
  std::ranges::copy(others, sides.begin());
  sides[others.size()] = {&port_, &endpoint_};
  worker_.emplace(std::span(sides).first(others.size() + 1));
}

}  // namespace cw::sdr
