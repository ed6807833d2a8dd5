// What stands behind the opaque type of messages.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/datagram/sdk/open_member.h"
#include "dataplane/message/end/message_end.h"
#include "dataplane/message/sdk/messages.h"

struct cw_mesh {
  explicit cw_mesh(cw::sdk::MemberWishes wishes) : member(std::move(wishes)) {}
  cw_mesh(const cw_mesh&) = delete;
  cw_mesh& operator=(const cw_mesh&) = delete;

  /// Opens the device and becomes a member. Errors: the device's; the policy's; numbers that cannot
  /// be.
  cw::Result<void> open(const cw_mesh_attr& attr);
  cw::group::Messages& messages() { return end->messages(); }
  const cw::group::Messages& messages() const { return end->messages(); }

  cw::sdk::OpenMember member;
  uint32_t sends_max = 0, receives_max = 0;
  bool has_pool = false;
  std::vector<double> params, fallback_params;
  std::unique_ptr<cw::group::MessageEnd> end;
  std::string why;
};
