// What routers ask the machines of an Ethernet about multicast groups, and what these say: IGMPv2
// and v3 for IPv4 (igmp.cc, RFC 2236 and 3376), MLDv1 and v2 for IPv6 (mld.cc, RFC 2710 and 3810).
// Switches that snoop read along, and send a group's frames only to who has said that he wants
// them.
//
// Pure functions over whole frames, from the Ethernet header on, untagged. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/neighbour/address.h"
#include "dataplane/neighbour/neighbour_message.h"

namespace cw {

struct GroupQuery {
  HostAddress group;      ///< asked about; all zeros: about every group
  Duration within;        ///< time to answer in, at random
  bool is_newest = true;  ///< IGMPv3, MLDv2; or who asks understands nothing but what came before
};

enum class GroupWord : uint8_t { IsMember, Joins, Leaves };

struct GroupRecord {
  GroupWord word = GroupWord::IsMember;
  HostAddress group;
};

inline constexpr size_t group_message_bytes_max = 14 + 40 + 8 + 8 + limits::groups_max * 20;

/// Multicast, of either version.
bool is_group(const HostAddress& address);
/// Where its frames are sent to: 01:00:5e and 23 bits, or 33:33 and 32 bits.
MacAddress mac_of_group(const HostAddress& group);

/// Whether the frame's type says IGMP, or IPv6 with options of every hop: worth a look.
bool may_be_group_query(std::span<const uint8_t> frame);
/// Nothing for any other frame and for a wrong one: too short, a checksum that does not hold, a hop
/// limit or a source of a stranger from afar.
std::optional<GroupQuery> parse_group_query(std::span<const uint8_t> frame);

/// What is said in the newest way about groups of one IP version, 1 to limits::groups_max; or in
/// the older one, about one. IPv6 has as its source not `self` but an address of the link that
/// follows from its MAC. `out` holds group_message_bytes_max. Returns the frame's length.
size_t encode_group_report(const NeighbourSelf& self, std::span<const GroupRecord> records,
                           std::span<uint8_t> out);
size_t encode_older_group_report(const NeighbourSelf& self, const GroupRecord& record,
                                 std::span<uint8_t> out);

namespace igmp {
std::optional<GroupQuery> parse(std::span<const uint8_t> frame);
size_t encode(const NeighbourSelf& self, std::span<const GroupRecord> records,
              std::span<uint8_t> out);
size_t encode_older(const NeighbourSelf& self, const GroupRecord& record, std::span<uint8_t> out);
}  // namespace igmp

namespace mld {
std::optional<GroupQuery> parse(std::span<const uint8_t> frame);
size_t encode(const NeighbourSelf& self, std::span<const GroupRecord> records,
              std::span<uint8_t> out);
size_t encode_older(const NeighbourSelf& self, const GroupRecord& record, std::span<uint8_t> out);
}  // namespace mld

namespace group_message {
/// Of a record in a report of the newest way, as both protocols number it.
uint8_t number_of(GroupWord word);
/// A time as both write it: a number, or where its highest bit is set `bits` of one behind three of
/// a shift.
uint32_t time_of(uint32_t code, unsigned bits);
}  // namespace group_message

}  // namespace cw
