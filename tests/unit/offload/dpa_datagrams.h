// How many instructions a hart of the emulated DPA spends on a group's datagram (SPEC.md 18.1).
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "offload/dpa/emulated_dpa.h"
#include "tests/unit/offload/stripes.h"

namespace cw {

struct DpaDatagrams {
  std::string name;
  std::vector<uint32_t> slots;  ///< as they come
  bool is_twice = false;        ///< they have come before
  uint32_t key = StripedStep::group_key;
};
/// In order, out of it, duplicates, strangers: of one source's part that is staged, to be copied by
/// others.
std::vector<DpaDatagrams> dpa_datagrams();

/// Per datagram; bursts are full. Errors: as dpa_cost().
Result<double> dpa_datagram_cost(const EmulatedDpaOptions& options, const DpaDatagrams& kind);

}  // namespace cw
