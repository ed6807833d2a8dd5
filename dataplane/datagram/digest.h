// What all members of a group must have alike, as a number that JOIN tells (SPEC.md 18.5).
#pragma once

#include <cstdint>
#include <string>

namespace cw::group {

struct MembershipOptions;

/// The same, whatever is added first. Thread: any.
class Digest {
 public:
  void add(const char* name, const std::string& value);
  void add(const char* name, uint64_t value) { add(name, std::to_string(value)); }
  /// Of the members, and the sites they are of.
  void add_members(const MembershipOptions& membership);
  uint32_t value() const { return static_cast<uint32_t>(sum_ ^ sum_ >> 32); }

 private:
  uint64_t sum_ = 0;
};

}  // namespace cw::group
