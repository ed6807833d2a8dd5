#include "dataplane/datagram/digest.h"

#include "dataplane/base/fnv.h"
#include "dataplane/datagram/membership.h"

namespace cw::group {
namespace {

/// That of each rank; all are of site 0 where none is named.
std::string sites_of(const MembershipOptions& membership) {
  std::string text;
  for (size_t rank = 0; rank < membership.peers.size(); ++rank) {
    if (rank > 0) text += ',';
    text += std::to_string(membership.sites.empty() ? 0 : membership.sites[rank]);
  }
  return text;
}

}  // namespace

void Digest::add(const char* name, const std::string& value) {
  sum_ += fnv_1a(std::string(name) + "=" + value);
}

void Digest::add_members(const MembershipOptions& membership) {
  add("members", membership.peers.size());
  add("sites", sites_of(membership));
}

}  // namespace cw::group
