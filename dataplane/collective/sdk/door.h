// What stands behind the opaque types of collective.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dataplane/collective/sdk/collective.h"
#include "dataplane/collective/sdk/group_end.h"
#include "dataplane/datagram/sdk/open_member.h"
#include "dataplane/sdr/sdk/handles.h"

namespace cw::sdk {

/// A posted operation. Its place is its step's, modulo those that may be open.
struct Request {
  cw_group* group = nullptr;
  group::Step step;
};
using Requests = Handles<cw_request, Request>;

}  // namespace cw::sdk

struct cw_group {
  cw_group(cw::sdk::MemberWishes wishes, const cw_group_attr& given)
      : member(std::move(wishes)), attr(given) {}
  cw_group(const cw_group&) = delete;
  cw_group& operator=(const cw_group&) = delete;

  /// Opens the device and becomes a member. Errors: the device's; a number that it cannot do.
  cw::Result<void> open();

  cw::sdk::OpenMember member;
  cw_group_attr attr;  // what `member` has is read there: this one's pointers are over
  std::optional<cw::group::GroupEnd> end;
  cw::sdk::Requests requests{cw::group::Group::operations_max};
  std::string why;
};
