// Who has said hello for a link beside the one that carries, while this end has no such.
#pragma once

#include <algorithm>

#include "dataplane/base/units.h"

namespace cw::sdr {

/// Thread: the link's. Cost: two stores for each.
class Knocks {
 public:
  /// `is_of_our_shape`: another link by what is in force here is all it takes.
  void on_hello(bool is_of_our_shape, Instant now) { (is_of_our_shape ? same_ : other_) = now; }
  /// Somebody knocks still: hellos come twice a second at least.
  bool are_of_our_shape(Instant now) const { return now - same_ < recent; }
  bool are_of_another(Instant now) const { return now - other_ < recent; }

 private:
  static constexpr Duration recent = Duration::from_s(2);
  static constexpr Instant long_ago = Instant() - recent;

  Instant same_ = long_ago, other_ = long_ago;
};

}  // namespace cw::sdr
