#include "dataplane/port/dpdk/eal/flow_rules.h"

#include <arpa/inet.h>
#include <rte_flow.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// As DPDK takes it: each item and the action point into the rule.
class Rule {
 public:
  Rule(const PathFlow& flow, uint16_t queue) : queue_{.index = queue} {
    const bool is_v4 = flow.ip_version == IpVersion::V4;
    if (is_v4) {
      std::memcpy(&ipv4_.hdr.src_addr, flow.source.data(), sizeof ipv4_.hdr.src_addr);
      std::memcpy(&ipv4_.hdr.dst_addr, flow.target.data(), sizeof ipv4_.hdr.dst_addr);
      ipv4_mask_.hdr.src_addr = ipv4_mask_.hdr.dst_addr = UINT32_MAX;
    } else {
      std::ranges::copy(flow.source, ipv6_.hdr.src_addr);
      std::ranges::copy(flow.target, ipv6_.hdr.dst_addr);
      std::ranges::fill(ipv6_mask_.hdr.src_addr, uint8_t{0xff});
      std::ranges::fill(ipv6_mask_.hdr.dst_addr, uint8_t{0xff});
    }
    udp_.hdr.src_port = htons(flow.source_udp_port);
    udp_.hdr.dst_port = htons(flow.target_udp_port);
    udp_mask_.hdr.dst_port = UINT16_MAX;
    if (flow.source_udp_port != 0) {
      udp_mask_.hdr.src_port = UINT16_MAX;
    } else {
      attributes_.priority = behind_others;
    }
    items_[1] = is_v4 ? item(RTE_FLOW_ITEM_TYPE_IPV4, &ipv4_, &ipv4_mask_)
                      : item(RTE_FLOW_ITEM_TYPE_IPV6, &ipv6_, &ipv6_mask_);
  }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  const rte_flow_attr& attributes() const { return attributes_; }
  const rte_flow_item* items() const { return items_.data(); }
  const rte_flow_action* actions() const { return actions_.data(); }

 private:
  static constexpr uint32_t behind_others = 1;

  static rte_flow_item item(rte_flow_item_type type, const void* spec, const void* mask) {
    return {.type = type, .spec = spec, .last = nullptr, .mask = mask};
  }

  rte_flow_item_ipv4 ipv4_{}, ipv4_mask_{};
  rte_flow_item_ipv6 ipv6_{}, ipv6_mask_{};
  rte_flow_item_udp udp_{}, udp_mask_{};
  rte_flow_action_queue queue_;
  rte_flow_attr attributes_{.ingress = 1};
  std::array<rte_flow_item, 4> items_{{
      {.type = RTE_FLOW_ITEM_TYPE_ETH},
      {},
      item(RTE_FLOW_ITEM_TYPE_UDP, &udp_, &udp_mask_),
      {.type = RTE_FLOW_ITEM_TYPE_END},
  }};
  std::array<rte_flow_action, 2> actions_{{
      {.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue_},
      {.type = RTE_FLOW_ACTION_TYPE_END},
  }};
};

template <class Spec>
const Spec& spec_of(const rte_flow_item& item) {
  return *static_cast<const Spec*>(item.spec);
}

std::string address_text(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(family, address, text.data(), text.size());
}

template <class Spec>
std::string ends_text(const char* name, int family, const rte_flow_item& item) {
  const auto& header = spec_of<Spec>(item).hdr;
  return std::string(name) + " src is " + address_text(family, &header.src_addr) + " dst is " +
         address_text(family, &header.dst_addr);
}

std::string item_text(const rte_flow_item& item) {
  switch (item.type) {
    case RTE_FLOW_ITEM_TYPE_ETH:
      return "eth";
    case RTE_FLOW_ITEM_TYPE_IPV4:
      return ends_text<rte_flow_item_ipv4>("ipv4", AF_INET, item);
    case RTE_FLOW_ITEM_TYPE_IPV6:
      return ends_text<rte_flow_item_ipv6>("ipv6", AF_INET6, item);
    case RTE_FLOW_ITEM_TYPE_UDP: {
      const auto& header = spec_of<rte_flow_item_udp>(item).hdr;
      const uint16_t source = ntohs(header.src_port);
      return "udp " + (source != 0 ? "src is " + std::to_string(source) + " " : "") + "dst is " +
             std::to_string(ntohs(header.dst_port));
    }
    default:
      CW_ASSERT(item.type == RTE_FLOW_ITEM_TYPE_END);
      return "end";
  }
}

}  // namespace

std::string create_rule(uint16_t id, const PathFlow& flow, uint16_t queue) {
  const Rule rule(flow, queue);
  rte_flow_error error{};
  if (rte_flow_create(id, &rule.attributes(), rule.items(), rule.actions(), &error) != nullptr) {
    return {};
  }
  return error.message != nullptr ? error.message : "it is refused";
}

std::string rule_text(uint16_t id, const PathFlow& flow, uint16_t queue) {
  const Rule rule(flow, queue);
  const uint32_t priority = rule.attributes().priority;
  std::string text = "flow create " + std::to_string(id);
  if (priority != 0) text += " priority " + std::to_string(priority);
  text += " ingress pattern";
  for (const rte_flow_item* item = rule.items();; ++item) {
    text += " " + item_text(*item);
    if (item->type == RTE_FLOW_ITEM_TYPE_END) break;
    text += " /";
  }
  CW_ASSERT(rule.actions()->type == RTE_FLOW_ACTION_TYPE_QUEUE);
  const auto& action = *static_cast<const rte_flow_action_queue*>(rule.actions()->conf);
  return text + " actions queue index " + std::to_string(action.index) + " / end";
}

}  // namespace cw
