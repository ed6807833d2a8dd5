#include "control/perf/parameters.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "control/json/json.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"

namespace cw::perf {
namespace {

constexpr uint32_t in_flight_max = 256;
constexpr uint64_t memory_max = uint64_t{4} << 30;  // of the receives posted ahead
constexpr uint64_t rate_bps_max = 9'000'000'000'000;
constexpr Duration patience_max = Duration::from_s(24 * 3600);  // it is added to a time
constexpr uint32_t chunk_slots = 16;

std::string number(uint64_t value) { return std::to_string(value); }

/// Twice what is in flight: a place is taken until both ends have forgotten its message.
uint32_t places(const Parameters& parameters) { return std::bit_ceil(parameters.in_flight) * 2; }

uint64_t slots_of(const Parameters& parameters) {
  return (parameters.size.count() - 1) / parameters.payload_bytes + 1;
}

/// A whole number, which T must hold: the library would cut what does not fit.
template <class T>
T whole(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_integer())
    throw std::runtime_error(std::string(key) + " is no whole number");
  const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<uint64_t>())
                                               : std::in_range<T>(value.get<int64_t>());
  if (!fits) throw std::runtime_error(std::string(key) + " is " + value.dump());
  return value.get<T>();
}

}  // namespace

Result<void> check(const Parameters& it) {
  if (it.op != "write") return failure("--op is \"" + it.op + "\" and must be write");
  if (it.in_flight == 0 || it.in_flight > in_flight_max) {
    return failure("--inflight is " + number(it.in_flight) + " and must be 1 to " +
                   number(in_flight_max));
  }
  if (it.payload_bytes < limits::payload_bytes_min ||
      it.payload_bytes > limits::payload_bytes_max) {
    return failure("--payload is " + number(it.payload_bytes) + " and must be " +
                   number(limits::payload_bytes_min) + " to " + number(limits::payload_bytes_max));
  }
  if (it.size.count() == 0 || it.size.count() > memory_max / places(it)) {
    return failure("--size is " + number(it.size.count()) + " and must be 1 to " +
                   number(memory_max / places(it)) + " with --inflight " + number(it.in_flight) +
                   ": receives of " + number(memory_max >> 30) + " GiB are posted at most");
  }
  if (it.count == 0) return failure("--count is 0 and must be 1 at least");
  if (it.duration <= Duration()) return failure("--duration must be longer than nothing");
  if (it.rate == Rate() || it.rate.bps() > rate_bps_max) {
    return failure("--rate is " + number(it.rate.bps()) + " bit/s and must be 1 to " +
                   number(rate_bps_max));
  }
  if (!(it.overhead >= 0 && it.overhead <= 1)) return failure("--overhead must be 0% to 100%");
  if (it.patience <= Duration() || it.patience > patience_max) {
    return failure("--patience must be longer than nothing and 24 h at most");
  }
  return sdr::check(stream_config(it));
}

sdr::StreamConfig stream_config(const Parameters& parameters) {
  sdr::StreamConfig config;
  config.messages = places(parameters);
  config.data_slots_max = static_cast<uint32_t>(slots_of(parameters));
  config.chunk_slots = chunk_slots;
  config.payload_bytes = parameters.payload_bytes;
  return fit_split(config);
}

sdr::StreamConfig fit_split(sdr::StreamConfig config) {
  const auto id_bits = std::max(1u, unsigned(std::bit_width(config.messages - 1)));
  const uint32_t slots = config.data_slots_max + config.repair_slots_max;
  const auto slot_bits = std::max(1u, unsigned(std::bit_width(slots - 1)));
  if (ImmediateSplit::can_be(id_bits, slot_bits, 32 - id_bits - slot_bits)) {
    config.split = ImmediateSplit(id_bits, slot_bits, 32 - id_bits - slot_bits);
  }
  return config;
}

Json json_of(const Parameters& it) {
  Json json;
  json["op"] = it.op;
  json["size"] = it.size.count();
  json["count"] = it.count;
  json["duration_ns"] = it.duration.ns();
  json["inflight"] = it.in_flight;
  json["policy"] = it.policy;
  json["policy_params"] = it.settings;
  json["rate_bps"] = it.rate.bps();
  json["overhead"] = it.overhead;
  json["payload"] = it.payload_bytes;
  json["seed"] = it.seed;
  json["verify"] = it.verify;
  json["patience_ns"] = it.patience.ns();
  json["client_udp_port"] = it.client_udp_port;
  return json;
}

Result<Parameters> parameters_of(const Json& json) {
  Parameters it;
  try {
    json.at("op").get_to(it.op);
    it.size = Bytes(whole<uint64_t>(json, "size"));
    it.count = whole<uint64_t>(json, "count");
    it.duration = Duration::from_ns(whole<int64_t>(json, "duration_ns"));
    it.in_flight = whole<uint32_t>(json, "inflight");
    json.at("policy").get_to(it.policy);
    json.at("policy_params").get_to(it.settings);
    it.rate = Rate::from_bps(whole<uint64_t>(json, "rate_bps"));
    json.at("overhead").get_to(it.overhead);
    it.payload_bytes = whole<uint32_t>(json, "payload");
    it.seed = whole<uint64_t>(json, "seed");
    json.at("verify").get_to(it.verify);
    it.patience = Duration::from_ns(whole<int64_t>(json, "patience_ns"));
    it.client_udp_port = whole<uint16_t>(json, "client_udp_port");
  } catch (const std::exception& error) {
    return failure(std::string("the client speaks another language: ") + error.what());
  }
  if (const auto checked = check(it); !checked) return failure(checked.error().sentence);
  return it;
}

}  // namespace cw::perf
