// What stands behind the opaque types of collective.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/collective/sdk/collective.h"
#include "dataplane/collective/sdk/group_end.h"
#include "dataplane/sdr/sdk/handles.h"
#include "dataplane/sdr/sdk/platform.h"

namespace cw::sdk {

/// A posted operation. Its place is its step's, modulo those that may be open.
struct Request {
  cw_group* group = nullptr;
  group::Step step;
};
using Requests = Handles<cw_request, Request>;

/// The attributes and what they point at.
struct GroupWishes {
  std::string device;
  cw_group_attr attr{};
  std::vector<std::string> addresses;
  std::vector<uint16_t> sites;
  std::vector<uint8_t> key;
};

}  // namespace cw::sdk

struct cw_group {
  explicit cw_group(cw::sdk::GroupWishes kept) : wishes(std::move(kept)), prng(wishes.attr.seed) {}
  cw_group(const cw_group&) = delete;
  cw_group& operator=(const cw_group&) = delete;

  /// Opens the device and becomes a member. Errors: the device's; a number that it cannot do.
  cw::Result<void> open();
  const std::string& failure() const { return end->group().failure(); }

  cw::sdk::GroupWishes wishes;
  cw::Prng prng;
  std::unique_ptr<cw::sdk::GroupDevice> device;
  std::optional<cw::group::GroupEnd> end;
  cw::sdk::Requests requests{cw::group::Group::operations_max};
  std::string why;
};
