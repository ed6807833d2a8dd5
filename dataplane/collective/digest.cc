#include "dataplane/collective/digest.h"

#include "dataplane/collective/group.h"
#include "dataplane/datagram/digest.h"

namespace cw::group {

uint32_t digest_of(const GroupOptions& options) {
  constexpr uint64_t subgroups = 1;
  Digest digest;
  digest.add("address", options.address);
  digest.add("algorithm", name_of(options.algorithm));
  digest.add("bytes_max", options.bytes_max);
  digest.add("chains", options.chains);
  digest.add_members(options.datagrams.membership);
  digest.add("operations_max", Group::operations_max);
  digest.add("subgroups", subgroups);
  digest.add("sum_bytes_max", options.sum_bytes_max);
  return digest.value();
}

}  // namespace cw::group
