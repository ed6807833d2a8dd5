// What the SDK stands on and may not know by name: devices and policies. Whoever links the SDK (a
// program, libcauseway, a test) defines platform(), and its table is the explicit list of both.
//
//     cw_context_create("udp:10.0.0.2", attr)  ->  the kind "udp" of the table opens "10.0.0.2"
//
// A table and not a call to register: there is no order of initialisation to get wrong and no state
// to lock, and what a binary can do stands in one place.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/codec.h"
#include "dataplane/policy.h"
#include "dataplane/port.h"
#include "dataplane/wan.h"
#include "offload/stage/row_runner.h"

namespace cw::sdk {

/// One end of one link, open: a port and what else a context takes from its surroundings.
/// Thread: the context's.
class Device {
 public:
  virtual ~Device() = default;

  /// Lives as long as the device.
  virtual AnyWanPort port() = 0;
  /// The port's number for the gateway at the other end.
  virtual uint16_t peer() const { return 0; }
  /// What the pacer keeps to when the program does not say.
  virtual Rate rate() const = 0;
  /// The clock; read once per turn.
  virtual Instant now() = 0;
  /// 64 bits that nobody can guess, for keys and nonces. Not asked when the program gave a seed.
  virtual uint64_t fresh_bits() = 0;
};

/// A kind of device. `rest` is what follows "kind:"; errors name it.
struct DeviceKind {
  std::string_view kind;
  Result<std::unique_ptr<Device>> (*open)(std::string_view rest);
};

/// What a group's member opens its device for.
struct GroupPlace {
  uint16_t rank = 0;
  std::span<const std::string> members;  ///< by rank: their addresses, as the kind has them
};

/// One member of a group, open.
class GroupDevice : public Device {
 public:
  /// The port's number for a member, and the one for all of them.
  virtual uint16_t peer_of(uint16_t rank) const { return rank; }
  virtual uint16_t group_peer() const { return 0xf000; }
};

/// A kind of device for groups. As DeviceKind.
struct GroupDeviceKind {
  std::string_view kind;
  Result<std::unique_ptr<GroupDevice>> (*open)(std::string_view rest, const GroupPlace& place);
};

struct Platform {
  std::span<const DeviceKind> devices;
  /// The first is the fallback: the policy of QPs that name none, and of those whose own
  /// misbehaved. There is at least one.
  std::span<const cw_policy_ops* const> policies;
  /// By their numbers on the wire; none: no QP of this program is coded.
  std::span<const cw_codec_ops* const> codecs = {};
  /// A DPA with so many threads; null: this program has none.
  Result<std::unique_ptr<RowRunner>> (*open_dpa)(uint32_t threads) = nullptr;
  std::span<const GroupDeviceKind> group_devices = {};
};

/// Defined by whoever links the SDK; the same at every call.
const Platform& platform();

}  // namespace cw::sdk
