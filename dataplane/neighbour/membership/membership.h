// The groups that a port belongs to, and what it is to say of them: at the start twice, when it is
// asked, and at the end, so that switches which snoop send their frames here and not for ever.
// Pure: time is an argument, and who has the wire hears and says.
//
// Whoever is on the wire may ask, in any name and as often as he likes: so what is said is paced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/neighbour/membership/group_message.h"

namespace cw {

/// Thread: one. Nothing allocates after it is made.
class Membership {
 public:
  /// From frame to frame at least, however many are asked for.
  static constexpr Duration pace = Duration::from_ms(50);
  /// Who has heard a question in the older way speaks so for as long (RFC 3376, 8.12).
  static constexpr Duration older_for = Duration::from_s(260);

  /// `v4` and `v6`: who speaks; an address of zeros where there is none. At most
  /// limits::groups_max groups.
  Membership(const std::vector<HostAddress>& groups, const NeighbourSelf& v4,
             const NeighbourSelf& v6, uint64_t seed);

  bool has(const HostAddress& group) const;
  /// Says so unasked: at the start, and whenever the cable may lead elsewhere.
  void begin(Instant now);
  void hear(const GroupQuery& query, Instant now);
  /// Writes the next frame that is due; zero: none now. `out` holds group_message_bytes_max.
  size_t next_report(Instant now, std::span<uint8_t> out);
  /// Writes one after the other what is said at the end, without a pace; zero: that was all.
  size_t next_leave(Instant now, std::span<uint8_t> out);

 private:
  struct Member {
    HostAddress group;
    Instant due = Instant::never();
    uint8_t unasked = 0;  // still to be said of itself
    bool has_left = false;
  };

  bool is_older(IpVersion version, Instant now) const {
    return now < older_until_[version == IpVersion::V4 ? 0 : 1];
  }
  const NeighbourSelf& self(IpVersion version) const {
    return version == IpVersion::V4 ? v4_ : v6_;
  }
  GroupRecord take(Member& member, Instant now);
  template <class IsWanted, class Take>
  size_t write(IsWanted is_wanted, Take take, Instant now, std::span<uint8_t> out);

  std::vector<Member> members_;
  NeighbourSelf v4_, v6_;
  Prng prng_;
  std::array<Instant, 2> older_until_{};
  Instant free_at_;
};

}  // namespace cw
