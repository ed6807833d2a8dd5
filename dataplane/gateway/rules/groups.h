// Multicast groups whose frames cross: which sites a group's frames go to, and who may send to it.
//
// A frame goes once to each site: of gateways that lead to the same hosts, the one that would get
// their other packets. Who may send is decided by the longest prefix over a frame's source, of this
// side's and of the peers': what comes from behind a peer has crossed once, and would go in circles
// where two LANs reflect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/gateway/options.h"
#include "dataplane/gateway/rules/routes.h"
#include "dataplane/wire/outer/frame.h"

namespace cw::gateway {

class Groups {
 public:
  /// Errors: more than limits::groups_max; an address that is no group's, is of one link, or is
  /// there twice; a peer or class that is not there; a TTL below 2; those of Routes.
  static Result<Groups> make(const GatewayOptions& options);

  static constexpr uint16_t none = UINT16_MAX;

  struct Group {
    IpAddress address{};
    bool is_v6 = false;
    uint16_t class_index = none;  ///< none: of the first class that matches
    uint8_t ttl = 0;              ///< with which its frames leave at most
    std::vector<uint16_t> sites;  ///< by the number of the first link to each
    uint64_t frames = 0, bytes = 0;
  };
  size_t count() const { return all_.size(); }
  const Group& operator[](size_t index) const { return all_[index]; }

  /// The index of the group with this address, or `none`. Cost: a binary search.
  uint16_t find(const IpAddress& address, bool is_v6) const;

  enum class Side : uint8_t { Own, Remote, Unknown };
  Side side_of(const IpAddress& source, bool is_v6) const;

  /// A frame of `bytes` is on its way to one of the group's sites.
  void note_sent(size_t index, uint32_t bytes) {
    ++all_[index].frames;
    all_[index].bytes += bytes;
  }
  /// Goes on counting where another left off, for groups that both have.
  void take_counts(const Groups& other);

 private:
  std::vector<Group> all_;  // sorted by version and address
  Routes sides_;
};

}  // namespace cw::gateway
