// What the C APIs of groups do alike, whatever members do together there: attributes that say who
// is a member of what, a device by its name, secrets, and how long there is nothing to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/datagram/end/member_port.h"
#include "dataplane/sdr/sdk/platform.h"

namespace cw::sdk {

inline constexpr uint64_t deadline_ns_max = 86'400 * uint64_t{1'000'000'000};

/// `ns` of an attribute, of which zero means the usual.
inline Duration duration_or(uint64_t ns, Duration usual) {
  return ns == 0 ? usual : Duration::from_ns(static_cast<int64_t>(ns));
}

/// Attributes that all of these APIs have, by the same names.
struct MemberAttributes {
  uint32_t rank = 0, members = 0, payload_bytes = 0;
  const char* const* addresses = nullptr;
  const uint16_t* sites = nullptr;
  const void* key = nullptr;
  size_t key_bytes = 0;
  uint64_t rate_bps = 0, deadline_ns = 0, seed = 0;

  template <class Attr>
  static MemberAttributes of(const Attr& attr) {
    return {.rank = attr.rank,
            .members = attr.members,
            .payload_bytes = attr.payload_bytes,
            .addresses = attr.addresses,
            .sites = attr.sites,
            .key = attr.key,
            .key_bytes = attr.key_bytes,
            .rate_bps = attr.rate_bps,
            .deadline_ns = attr.deadline_ns,
            .seed = attr.seed};
  }
};

/// These, and copies of what they point at.
struct MemberWishes {
  /// Errors: what no member can be.
  static Result<MemberWishes> of(const char* device, const MemberAttributes& attr);

  std::string device;
  uint32_t rank = 0, payload_bytes = 0;
  std::vector<std::string> addresses;  ///< by rank: of all members
  std::vector<uint16_t> sites;         ///< by rank; empty: all are of one
  std::vector<uint8_t> key;
  uint64_t rate_bps = 0, deadline_ns = 0, seed = 0;
};

/// A member at its device. Thread: one.
class OpenMember {
 public:
  explicit OpenMember(MemberWishes wishes) : wishes_(std::move(wishes)), prng_(wishes_.seed) {}
  OpenMember(const OpenMember&) = delete;
  OpenMember& operator=(const OpenMember&) = delete;

  /// Once. Errors: the device's; slots that it does not carry.
  Result<void> open();

  const MemberWishes& wishes() const { return wishes_; }
  AnyWanPort port() { return device_->port(); }
  Instant now() { return device_->now(); }
  /// Of an open one. What they point at lives as long as this.
  group::MemberOptions options();
  /// The wishes of one that comes after this, in a group without `left_out`, which is another rank.
  MemberWishes without(uint32_t left_out);

  /// How long the caller may wait, as the worker is told, too; INT64_MAX: for ever.
  int64_t idle_ns(Worker& worker);

 private:
  static uint64_t fresh_bits(void* member);

  MemberWishes wishes_;
  Prng prng_;
  std::unique_ptr<GroupDevice> device_;
};

/// Why a group is not up; empty: it is. Points into what it was told.
std::string_view why_not_up(const group::Membership& membership, const std::string& failure);

}  // namespace cw::sdk
