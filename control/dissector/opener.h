// Opens what two gateways have sealed, as it was recorded: each packet becomes what it was before,
// with headers, lengths and ICRC that fit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/dissector/key_log.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/frame.h"

namespace cw::dissector {

struct OpenedFrame {
  std::vector<uint8_t> bytes;
  std::string about;  ///< for people: by whose keys, under which number
};

/// Counts of frames.
struct OpenerCounts {
  uint64_t opened = 0;
  uint64_t kept = 0;  ///< of links between gateways, and nothing of the log opens them
};

/// Thread: one.
class Opener {
 public:
  explicit Opener(const std::vector<LoggedSession>& sessions);

  /// Nothing: it was not sealed under any of these keys.
  std::optional<OpenedFrame> open(std::span<const uint8_t> frame, FrameStart start);
  const OpenerCounts& counts() const { return counts_; }

 private:
  /// One direction of a session.
  struct Key {
    std::string about;
    uint8_t index;  // the receiver's
    bool covers_psns;
    std::unique_ptr<void, void (*)(void*)> key;
  };
  void add(std::string about, uint8_t index, const seal::Agreement& agreement,
           const seal::Secret& secret);
  const Key* try_open(const Transport& packet, std::vector<uint8_t>& payload) const;
  std::vector<uint8_t> rebuilt(std::span<const uint8_t> frame, const Frame& parts, FrameStart start,
                               const Transport& packet) const;

  std::vector<Key> keys_;
  OpenerCounts counts_;
  Icrc exact_, pseudo_;
};

}  // namespace cw::dissector
