// What an end describes itself with (SPEC.md 5.3): the parts of DESCRIPTION, put together, are a
// row of these items in the framing of record.h [C-21]. Walk it with
//
//   RecordReader items(bytes, DescriptionItems::types);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dataplane/base/endian.h"
#include "dataplane/wire/control/record.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"

namespace cw {

/// A key of [pair] and its value, so that both ends can name the one that differs.
struct PairKeyItem {
  static constexpr auto type = ItemType::PairKey;
  static constexpr const char* name = "item_pair_key";

  NamedText pair;

  static void fields(auto& item, auto& wire) { wire(item.pair); }
  bool is_valid() const { return pair.is_valid(); }
  bool operator==(const PairKeyItem&) const = default;
};

/// The windows and transport QPs at which this end receives one SDR QP.
struct QpItem {
  static constexpr auto type = ItemType::Qp;
  static constexpr const char* name = "item_qp";

  uint16_t qp = 0;
  uint8_t generations = 0;
  uint8_t channels = 0;
  uint8_t paths = 1;  ///< told apart by QP number; 1: the receiver sees by which one a packet came
  uint32_t data_key = 0;  ///< RETH keys; random per epoch where software checks them
  uint32_t repair_key = 0;
  uint64_t data_base = 0;  ///< RETH address of slot 0 of message 0
  uint64_t repair_base = 0;
  uint64_t data_window_bytes = 0;  ///< from one message to the next
  uint64_t repair_window_bytes = 0;
  /// 24 bits each; of (generation, channel, path) at (generation * channels + channel) * paths +
  /// path.
  Row<be32> qpns;

  static void fields(auto& item, auto& wire) {
    wire(item.qp, item.generations, item.channels, item.paths, zeros<3>);
    wire(item.data_key, item.repair_key);
    wire(item.data_base, item.repair_base, item.data_window_bytes, item.repair_window_bytes);
    wire(item.qpns);
  }
  bool is_valid() const {
    const auto is_qpn = [](be32 qpn) { return qpn.host() < 1u << 24; };
    return generations > 0 && channels > 0 && paths > 0 &&
           qpns.size() == size_t{generations} * channels * paths &&
           std::ranges::all_of(qpns, is_qpn);
  }
  bool operator==(const QpItem&) const = default;
};

/// What the site is called. Hostile: escape before printing.
struct SiteItem {
  static constexpr auto type = ItemType::Site;
  static constexpr const char* name = "item_site";

  std::string_view site;

  static void fields(auto& item, auto& wire) { wire(item.site); }
  bool is_valid() const { return true; }
  bool operator==(const SiteItem&) const = default;
};

/// What this end takes the other for, by the other's SITE. Hostile: escape before printing.
struct PeerItem {
  static constexpr auto type = ItemType::Peer;
  static constexpr const char* name = "item_peer";

  std::string_view peer;

  static void fields(auto& item, auto& wire) { wire(item.peer); }
  bool is_valid() const { return true; }
  bool operator==(const PeerItem&) const = default;
};

/// The policy that an SDR QP runs, with its parameters.
struct PolicyItem {
  static constexpr auto type = ItemType::Policy;
  static constexpr const char* name = "item_policy";

  uint16_t qp = 0;
  NamedText policy;

  static void fields(auto& item, auto& wire) { wire(item.qp, item.policy); }
  bool is_valid() const { return policy.is_valid(); }
  bool operator==(const PolicyItem&) const = default;
};

using DescriptionItems = RecordList<PairKeyItem, QpItem, SiteItem, PolicyItem, PeerItem>;

}  // namespace cw
