#include "dataplane/sdr/sdk/context.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "dataplane/sdr/sdk/attributes.h"

using namespace cw;
using namespace cw::sdk;

namespace {

constexpr uint32_t qps_default = 8;
constexpr uint32_t regions_default = 256;
constexpr uint32_t regions_limit = 1u << 16;  // an lkey has 16 bits for the index
constexpr size_t key_bytes_min = 16;
constexpr uint64_t rate_bps_max = 9'000'000'000'000;  // the pacer's
constexpr Duration pacer_horizon = Duration::from_us(20);

std::string names_of_kinds() {
  std::string names;
  for (const DeviceKind& kind : platform().devices) {
    names += (names.empty() ? "" : ", ") + std::string(kind.kind);
  }
  return names.empty() ? "none" : names;
}

Result<std::unique_ptr<Device>> open_device(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  for (const DeviceKind& each : platform().devices) {
    if (each.kind != kind) continue;
    return each.open(colon == name.npos ? "" : name.substr(colon + 1));
  }
  return failure("there is no kind of device called \"" + std::string(kind) +
                 "\"; this program has: " + names_of_kinds());
}

bool check_numbers(const cw_device_attr& attr) {
  if (attr.qps_max > limits::qps_max) {
    misuse("qps_max is %u and may be %zu", attr.qps_max, limits::qps_max);
  } else if (attr.regions_max > regions_limit) {
    misuse("regions_max is %u and may be %u", attr.regions_max, regions_limit);
  } else if (attr.rate_bps > rate_bps_max) {
    misuse("rate_bps is %llu and may be %llu", static_cast<unsigned long long>(attr.rate_bps),
           static_cast<unsigned long long>(rate_bps_max));
  } else if (attr.key == nullptr || attr.key_bytes < key_bytes_min) {
    misuse("the key of the pair has %zu bytes and must have %zu at least",
           attr.key == nullptr ? size_t{0} : attr.key_bytes, key_bytes_min);
  } else {
    return true;
  }
  return false;
}

/// Fills in the defaults. False, with the sentence, when something is out of range.
bool check_attributes(cw_device_attr& attr, const PortFacts& port) {
  if (!check_numbers(attr)) return false;
  const auto most = std::min<uint32_t>(port.payload_max, limits::payload_bytes_max);
  if (attr.payload_bytes == 0) attr.payload_bytes = most;
  if (attr.payload_bytes < limits::payload_bytes_min || attr.payload_bytes > most) {
    misuse("payload_bytes is %u and must be %zu to %u on this device", attr.payload_bytes,
           limits::payload_bytes_min, most);
    return false;
  }
  if (attr.qps_max == 0) attr.qps_max = qps_default;
  if (attr.regions_max == 0) attr.regions_max = regions_default;
  return true;
}

uint64_t fresh_bits(void* state) {
  auto* context = static_cast<cw_context*>(state);
  return context->is_seeded ? context->prng.next() : context->device->fresh_bits();
}

}  // namespace

cw_context::cw_context(std::unique_ptr<Device> opened, const cw_device_attr& attr)
    : device(std::move(opened)),
      prng(attr.seed),
      is_seeded(attr.seed != 0),
      now(device->now()),
      qps_max(attr.qps_max),
      regions(attr.regions_max),
      free_regions(attr.regions_max),
      sdr(device->port(), sdr::RandomSource{this, fresh_bits}) {
  sdr.begin();
  for (uint32_t index = 0; index < attr.regions_max; ++index) {
    CW_ASSERT(free_regions.try_push(index));
  }
  qps.reserve(qps_max);
}

cw_context::~cw_context() = default;

Result<void> cw_context::open(const cw_device_attr& attr) {
  const cw_policy_ops* fallback = platform().policies.front();
  auto params = params_of(*fallback, {});
  if (!params) return std::unexpected(params.error());
  fallback_params = std::move(*params);
  sdr::LinkOptions options;
  options.peer = device->peer();
  options.control.site = "sdk";
  options.control.pair_keys = {{"payload_bytes", std::to_string(attr.payload_bytes)}};
  options.control.payload_bytes = attr.payload_bytes;
  const PortFacts& facts = sdr.port().facts();
  options.control.paths = facts.paths;
  options.pacer.rate = attr.rate_bps == 0 ? device->rate() : Rate::from_bps(attr.rate_bps);
  options.pacer.horizon = pacer_horizon;
  options.fallback = {fallback, fallback_params};
  cw_mac key;
  cw_mac_init(&key, attr.key, attr.key_bytes);
  auto stage = make_stage(attr, facts);
  if (!stage) return std::unexpected(stage.error());
  if (*stage) sdr.endpoint().set_stage(std::move(*stage));
  const auto added = sdr.add_link(options, key, now);
  if (!added) return std::unexpected(added.error());
  link = *added;
  return {};
}

cw_context* cw_context_create(const char* device, const cw_device_attr* given) {
  auto attr = copy_attributes(given, offsetof(cw_device_attr, offload), "cw_device_attr");
  if (!attr) return nullptr;
  if (device == nullptr) return misuse("the device is null"), nullptr;
  auto opened = open_device(device);
  if (!opened) return misuse(opened.error()), nullptr;
  if (!check_attributes(*attr, (*opened)->port().facts())) return nullptr;
  auto context = std::make_unique<cw_context>(std::move(*opened), *attr);
  if (const auto is_open = context->open(*attr); !is_open) {
    return misuse(is_open.error()), nullptr;
  }
  return context.release();
}

void cw_context_destroy(cw_context* context) {
  if (context == nullptr) return;
  if (context->has_turned) {
    context->link->leave(context->now);
    cw_context_turn(context);
  }
  delete context;
}

int cw_context_turn(cw_context* context) {
  if (context == nullptr) return misuse("the context is null"), -1;
  context->has_turned = true;
  context->now = context->device->now();
  return context->sdr.turn(context->now);
}

int64_t cw_context_idle_ns(cw_context* context) {
  if (context == nullptr) return misuse("the context is null"), 0;
  const Instant wake = context->sdr.worker().next_wakeup();
  context->sdr.worker().sleeps_until(wake);
  if (wake == Instant::never()) return INT64_MAX;
  return std::max<int64_t>((wake - context->device->now()).ns(), 0);
}

int cw_context_fd(const cw_context* context) {
  if (context == nullptr) return misuse("the context is null"), -1;
  return context->sdr.port().facts().wait_fd;
}

int cw_context_is_up(const cw_context* context) {
  if (context == nullptr) return misuse("the context is null"), 0;
  return context->is_up();
}

const char* cw_context_why(cw_context* context) {
  if (context == nullptr) return "the context is null";
  context->why = context->link->why();
  return context->why.c_str();
}

const char* cw_context_offload_why(cw_context* context) {
  if (context == nullptr) return "the context is null";
  context->offload_why = why_left(context->sdr.endpoint().stage());
  return context->offload_why.c_str();
}

const cw_policy_ops* cw_policy_find(const char* name) {
  if (name == nullptr) return misuse("the name of the policy is null"), nullptr;
  std::string names;
  for (const cw_policy_ops* policy : platform().policies) {
    if (std::strcmp(policy->name, name) == 0) return policy;
    names += (names.empty() ? "" : ", ") + std::string(policy->name);
  }
  misuse("there is no policy called \"%s\"; this program has: %s", name, names.c_str());
  return nullptr;
}
