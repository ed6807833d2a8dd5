// What a network card or its driver joins together before it hands frames over, and how to stop it.
// An emulator that loses one "frame" of 64 KiB loses forty.
//
// Only what an interface does to frames on their way in can be seen and changed here. Super-packets
// that a virtual interface passes on are its sender's, at the other end of the cable; those are
// counted when they come (Failures::too_long). Unfinished checksums are finished on the way.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace cw::wan {

/// The names, as ethtool knows them, of the joining offloads that are on.
std::vector<std::string> joining_offloads(const std::string& interface);

/// "ethtool -K eth1 gro off lro off"
std::string ethtool_command(const std::string& interface, const std::vector<std::string>& offloads);

/// Offloads that were turned off, and are turned on again with the owner's end.
class OffloadsOff {
 public:
  static Result<OffloadsOff> make(const std::string& interface);
  OffloadsOff(OffloadsOff&&) noexcept = default;
  OffloadsOff& operator=(OffloadsOff&&) = delete;
  ~OffloadsOff();

 private:
  explicit OffloadsOff(std::string interface) : interface_(std::move(interface)) {}

  std::string interface_;
  std::vector<std::string> turned_off_;
};

}  // namespace cw::wan
