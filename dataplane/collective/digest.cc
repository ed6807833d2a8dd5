#include "dataplane/collective/digest.h"

#include <string>

#include "dataplane/base/fnv.h"
#include "dataplane/collective/group.h"

namespace cw::group {
namespace {

/// That of each rank; all are of site 0 where none is named.
std::string text_of(const MembershipOptions& membership) {
  std::string text;
  for (size_t rank = 0; rank < membership.peers.size(); ++rank) {
    if (rank > 0) text += ',';
    text += std::to_string(membership.sites.empty() ? 0 : membership.sites[rank]);
  }
  return text;
}

}  // namespace

uint32_t digest_of(const GroupOptions& options) {
  constexpr uint32_t subgroups = 1;
  const MembershipOptions& membership = options.datagrams.membership;
  uint64_t sum = 0;
  const auto add = [&sum](const char* name, const std::string& value) {
    sum += fnv_1a(std::string(name) + "=" + value);
  };
  add("address", options.address);
  add("algorithm", name_of(options.algorithm));
  add("bytes_max", std::to_string(options.bytes_max));
  add("chains", std::to_string(options.chains));
  add("members", std::to_string(membership.peers.size()));
  add("operations_max", std::to_string(Group::operations_max));
  add("sites", text_of(membership));
  add("subgroups", std::to_string(subgroups));
  add("sum_bytes_max", std::to_string(options.sum_bytes_max));
  return static_cast<uint32_t>(sum ^ sum >> 32);
}

}  // namespace cw::group
