#include <algorithm>
#include <cstddef>

#include "dataplane/sdr/sdk/attributes.h"
#include "dataplane/sdr/sdk/context.h"
#include "dataplane/sdr/seat/policy_needs.h"

using namespace cw;
using namespace cw::sdk;

namespace {

constexpr uint32_t messages_default = 16;
constexpr uint64_t message_bytes_default = 8 << 20;
constexpr uint32_t chunk_slots_default = 16;
constexpr uint32_t generations_default = 4;
constexpr uint32_t pieces_default = 64;
constexpr uint64_t block_age_ns_max = 3'600'000'000'000;
constexpr uint32_t pieces_limit = UINT16_MAX;
// Every piece is a range in the outbox until its first packet leaves.
constexpr size_t outbox_ranges_min = 1024, outbox_ranges_max = 1 << 14;

template <class Number>
void set_default(Number& number, uint64_t value) {
  if (number == 0) number = static_cast<Number>(value);
}

void fill_defaults(cw_qp_attr& attr, uint32_t payload_bytes) {
  set_default(attr.messages, messages_default);
  set_default(attr.message_bytes_max, message_bytes_default);
  set_default(attr.chunk_bytes, chunk_slots_default * payload_bytes);
  set_default(attr.channels, 1);
  set_default(attr.generations, generations_default);
  set_default(attr.pieces_max, pieces_default);
  if (attr.message_id_bits == 0 && attr.slot_bits == 0 && attr.user_bits == 0) {
    attr.message_id_bits = static_cast<uint8_t>(split_default.id_bits());
    attr.slot_bits = static_cast<uint8_t>(split_default.slot_bits());
    attr.user_bits = static_cast<uint8_t>(split_default.user_bits());
  }
  if (!attr.send_enable && !attr.recv_enable) attr.send_enable = attr.recv_enable = 1;
}

Result<void> check_numbers(const cw_qp_attr& attr, const cw_context& context) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  if (attr.number >= context.qps_max) {
    return failure("the QP's number is " + number(attr.number) + " and must be below qps_max, " +
                   number(context.qps_max));
  }
  const uint32_t payload = context.link->payload_bytes();
  if (attr.chunk_bytes % payload != 0) {
    return failure("chunk_bytes is " + number(attr.chunk_bytes) +
                   " and must be a multiple of the payload size, " + number(payload));
  }
  if (!ImmediateSplit::can_be(attr.message_id_bits, attr.slot_bits, attr.user_bits)) {
    return failure("the split " + number(attr.message_id_bits) + "|" + number(attr.slot_bits) +
                   "|" + number(attr.user_bits) + " must add up to 32 bits, with 1 to " +
                   number(limits::message_id_bits_max) + " for ids and 1 to " +
                   number(limits::slot_bits_max) + " for slots");
  }
  if ((attr.message_bytes_max - 1) / payload >= limits::slots_per_message_max) {
    return failure("message_bytes_max is " + number(attr.message_bytes_max) + " and may be " +
                   number(limits::slots_per_message_max * payload));
  }
  if (attr.block_age_ns > block_age_ns_max) {
    return failure("block_age_ns is " + number(attr.block_age_ns) + " and may be " +
                   number(block_age_ns_max));
  }
  if (attr.pieces_max > pieces_limit) {
    return failure("pieces_max is " + number(attr.pieces_max) + " and may be " +
                   number(pieces_limit));
  }
  return {};
}

sdr::StreamConfig config_of(const cw_qp_attr& attr, uint32_t payload) {
  sdr::StreamConfig config;
  config.qp = static_cast<uint16_t>(attr.number);
  config.split = ImmediateSplit(attr.message_id_bits, attr.slot_bits, attr.user_bits);
  config.messages = attr.messages;
  config.data_slots_max = static_cast<uint32_t>((attr.message_bytes_max - 1) / payload + 1);
  config.chunk_slots = attr.chunk_bytes / payload;
  config.generations = attr.generations;
  config.channels = attr.channels;
  config.payload_bytes = payload;
  return config;
}

Result<sdr::StreamConfig> coded(const sdr::StreamConfig& config, const cw_qp_attr& attr,
                                std::span<const double> params) {
  if (attr.coding == CW_CODING_NONE) return config;
  if (attr.coding != CW_CODING_AS_POLICY) {
    return failure("coding is " + std::to_string(attr.coding) + " and must be " +
                   std::to_string(CW_CODING_NONE) + " or " + std::to_string(CW_CODING_AS_POLICY));
  }
  const cw_policy_limits needs = sdr::needs_of({attr.policy, params}, config, {});
  if (needs.rows == 0) {
    return failure("policy " + std::string(attr.policy->name) + " does not code: coding must be " +
                   std::to_string(CW_CODING_NONE));
  }
  return sdr::coded(config, needs, platform().codecs);
}

sdr::QpOptions options_of(const cw_qp_attr& attr, const cw_qp& qp) {
  sdr::QpOptions options;
  options.stream = qp.config;
  options.send.extents_max = static_cast<uint16_t>(qp.pieces_max);
  options.send.outbox_ranges = static_cast<uint32_t>(
      std::clamp(size_t{qp.config.messages} * qp.pieces_max, outbox_ranges_min, outbox_ranges_max));
  options.policy = {attr.policy, qp.params};
  options.send_enable = attr.send_enable;
  options.recv_enable = attr.recv_enable;
  return options;
}

Result<std::unique_ptr<cw_qp>> make_qp(cw_context& context, cw_qp_attr& attr) {
  if (context.has_turned) return failure("a QP is created before its context turns");
  const uint32_t payload = context.link->payload_bytes();
  fill_defaults(attr, payload);
  if (const auto checked = check_numbers(attr, context); !checked) {
    return std::unexpected(checked.error());
  }
  const sdr::StreamConfig plain = config_of(attr, payload);
  if (const auto checked = check(plain); !checked) return std::unexpected(checked.error());
  if (attr.policy == nullptr) attr.policy = platform().policies.front();
  auto params = params_of(*attr.policy, {attr.policy_params, attr.policy_param_count});
  if (!params) return std::unexpected(params.error());
  const auto whole = coded(plain, attr, *params);
  if (!whole) return std::unexpected(whole.error());
  const sdr::StreamConfig config = *whole;
  if (const auto checked = check(config); !checked) return std::unexpected(checked.error());
  std::unique_ptr<cw_qp> qp(new cw_qp{.context = &context,
                                      .config = config,
                                      .pieces_max = attr.pieces_max,
                                      .params = std::move(*params)});
  qp->regions = std::make_unique<Region*[]>(size_t{config.messages} * attr.pieces_max);
  if (const auto added = context.link->add_qp(options_of(attr, *qp), context.now); !added) {
    return std::unexpected(added.error());
  }
  qp->source = context.link->source(config.qp);
  qp->sink = context.link->sink(config.qp);
  if (qp->source && attr.block_age_ns > 0) {
    qp->source.set_block_age(Duration::from_ns(static_cast<int64_t>(attr.block_age_ns)));
  }
  return qp;
}

}  // namespace

Result<std::vector<double>> cw::sdk::params_of(const cw_policy_ops& ops,
                                               std::span<const double> given) {
  const std::string name = ops.name == nullptr ? "(nameless)" : ops.name;
  if (given.size() > ops.param_count || (given.data() == nullptr && !given.empty())) {
    return failure("policy " + name + " has " + std::to_string(ops.param_count) + " parameters; " +
                   std::to_string(given.size()) + " were given" +
                   (given.data() == nullptr ? ", at a null pointer" : ""));
  }
  std::vector<double> params(given.begin(), given.end());
  for (size_t i = params.size(); i < ops.param_count; ++i) params.push_back(ops.params[i].initial);
  for (size_t i = 0; i < params.size(); ++i) {
    const cw_param& param = ops.params[i];
    // Written so that not-a-number is outside, too.
    if (params[i] >= param.min && params[i] <= param.max) continue;
    return failure("policy " + name + ": " + param.name + " is " + std::to_string(params[i]) +
                   " and must be " + std::to_string(param.min) + " to " +
                   std::to_string(param.max) + " " + param.unit);
  }
  return params;
}

cw_qp* cw_qp_create(cw_context* context, const cw_qp_attr* given) {
  if (context == nullptr) return misuse("the context is null"), nullptr;
  auto attr = copy_attributes(given, offsetof(cw_qp_attr, coding), "cw_qp_attr");
  if (!attr) return nullptr;
  auto qp = make_qp(*context, *attr);
  if (!qp) return misuse(qp.error()), nullptr;
  context->qps.push_back(std::move(*qp));
  return context->qps.back().get();
}

uint32_t cw_qp_payload_bytes(const cw_qp* qp) {
  if (qp == nullptr) return misuse("the QP is null"), 0;
  return qp->config.payload_bytes;
}

uint32_t cw_qp_chunk_bytes(const cw_qp* qp) {
  if (qp == nullptr) return misuse("the QP is null"), 0;
  return qp->config.chunk_slots * qp->config.payload_bytes;
}
