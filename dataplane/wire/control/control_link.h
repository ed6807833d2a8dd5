// Records about a link: who is there, what it can do, how its paths are, what becomes of what it
// carries (SPEC.md 5.1 to 5.3, 5.11, 5.12, 5.18, 5.19).
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/endian.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"

namespace cw {

inline constexpr uint16_t description_parts_max = 32;

enum class HelloState : uint8_t {
  Trying = 0,        ///< this end has not been proven to that it speaks with a living peer
  HasProvenYou = 1,  ///< a packet with our nonce has come: the epoch is in force here
  Leaving = 2,       ///< this end shuts down; the epoch ends
};

/// Which it is of the links that an end has of one number.
enum class LinkAge : uint8_t { Only, Older, Newer };

/// Who am I, and what can I do. Opens an epoch and keeps a link alive.
struct Hello {
  static constexpr auto type = RecordType::Hello;
  static constexpr const char* name = "hello";
  static constexpr uint32_t places_payload = 1;  ///< capability: data needs placements
  static constexpr uint32_t sees_psns = 2;       ///< capability: path reports come from PSNs
  static constexpr uint32_t swaps = 4;           ///< capability: policies change within an epoch
  static constexpr uint32_t numbers_by_qp = 8;   ///< capability: PSNs count by target QP and path
  // What is no capability [C-64]: which it is of two links that its sender has of the number; and
  // what lies above them.
  static constexpr uint32_t newer = 16, older = 32;
  static constexpr unsigned shape_shift = 8;
  static constexpr uint32_t shape_max = UINT32_MAX >> shape_shift;

  uint32_t capabilities = 0;
  uint32_t control_qpn = 0;    ///< where this end wants control packets; 24 bits
  uint16_t payload_bytes = 0;  ///< the largest slot this end can send and receive
  uint16_t control_bytes = 0;  ///< the longest envelope it takes, a padded hello apart
  uint8_t message_id_bits = 0;
  uint8_t slot_bits = 0;
  uint8_t immediate_bits = 0;
  uint8_t generations = 0;
  uint8_t channels = 0;
  uint8_t paths = 0;
  uint16_t qps = 0;
  HelloState state = HelloState::Trying;
  uint8_t icrc_mode = 0;  ///< SPEC.md "ICRC": 0 exact, 1 pseudo, 2 none, 3 hardware
  uint16_t description_parts = 0;
  uint32_t description_received = 0;  ///< bit i: part i of the peer's description is here

  /// What both ends must have alike, in short; 0: its sender does not say [C-64].
  uint32_t shape() const { return capabilities >> shape_shift; }
  LinkAge age() const {
    if ((capabilities & newer) != 0) return LinkAge::Newer;
    return (capabilities & older) != 0 ? LinkAge::Older : LinkAge::Only;
  }

  static void fields(auto& hello, auto& wire) {
    wire(hello.capabilities, hello.control_qpn, hello.payload_bytes, hello.control_bytes);
    wire(hello.message_id_bits, hello.slot_bits, hello.immediate_bits, hello.generations);
    wire(hello.channels, hello.paths, hello.qps, hello.state, hello.icrc_mode);
    wire(hello.description_parts, hello.description_received);
  }
  bool is_valid() const {
    return control_qpn < 1u << 24 && payload_bytes % 4 == 0 && control_bytes % 4 == 0 &&
           message_id_bits + slot_bits + immediate_bits == 32 && generations > 0 && channels > 0 &&
           paths > 0 && state <= HelloState::Leaving && icrc_mode <= 3 && description_parts > 0 &&
           description_parts <= description_parts_max;
  }
  bool operator==(const Hello&) const = default;
};

/// Nothing, so many bytes long: makes a hello as long as a full slot.
struct Pad {
  static constexpr auto type = RecordType::Pad;
  static constexpr const char* name = "pad";

  ZeroFill fill;

  static void fields(auto& pad, auto& wire) { wire(pad.fill); }
  bool is_valid() const { return true; }
  bool operator==(const Pad&) const = default;
};

/// One part of what this end's tables and config are (description.h). Every part but the last is
/// part_bytes long, so that a part's place is known whichever arrives first.
struct Description {
  static constexpr auto type = RecordType::Description;
  static constexpr const char* name = "description";

  uint16_t part = 0;
  uint16_t parts = 0;
  uint16_t part_bytes = 0;
  Row<uint8_t> bytes;

  static void fields(auto& part, auto& wire) {
    wire(part.part, part.parts, part.part_bytes, zeros<2>, part.bytes);
  }
  bool is_valid() const {
    const bool is_last = part + 1 == parts;
    return part < parts && parts <= description_parts_max && part_bytes % 4 == 0 &&
           bytes.size() % 4 == 0 && bytes.size() <= part_bytes &&
           (is_last || bytes.size() == part_bytes);
  }
  bool operator==(const Description&) const = default;
};

/// A question that comes back, for round-trip times.
struct Echo {
  static constexpr auto type = RecordType::Echo;
  static constexpr const char* name = "echo";
  static constexpr uint16_t reply = 1;
  static constexpr uint64_t held_unknown = UINT64_MAX;

  uint16_t flags = 0;
  uint16_t path = 0;
  uint64_t token = 0;  ///< of the asker, who alone knows what it means
  /// Replies: from the arrival of the question to the departure of the reply.
  uint64_t held_ns = 0;

  static void fields(auto& echo, auto& wire) {
    wire(echo.flags, echo.path, echo.token, echo.held_ns);
  }
  bool is_valid() const { return flags == reply || (flags == 0 && held_ns == 0); }
  bool operator==(const Echo&) const = default;
};

/// What the receiver of data saw on one path since the epoch began; only grows.
struct PathReport {
  static constexpr auto type = RecordType::PathReport;
  static constexpr const char* name = "path_report";

  uint16_t path = 0;
  uint16_t channels = 0;  ///< how many of them the counts add up
  uint64_t received = 0;  ///< packets, repeats not included
  uint64_t lost = 0;      ///< older than the path's reorder budget and not here
  uint64_t reordered = 0;
  uint64_t duplicates = 0;
  uint64_t bursts = 0;  ///< runs of lost packets; lost / bursts is their mean length
  uint32_t reorder_depth_max = 0;

  static void fields(auto& report, auto& wire) {
    wire(report.path, report.channels, report.received, report.lost, report.reordered);
    wire(report.duplicates, report.bursts, report.reorder_depth_max, zeros<4>);
  }
  bool is_valid() const { return true; }
  bool operator==(const PathReport&) const = default;
};

/// What the receiver of data tells of what came of it.
/// Of one QP, since some moment of the sender's life; only grows within an epoch of the link.
struct Outcome {
  static constexpr auto type = RecordType::Outcome;
  static constexpr const char* name = "outcome";
  static constexpr size_t holes_max = 32;

  uint16_t qp = 0;
  uint16_t policy_epoch = 0;  ///< of who decides at the sink about what is new
  uint64_t frames_out = 0;
  uint64_t frames_given_up = 0;  ///< never seen
  uint64_t frames_late = 0;      ///< those behind them were out
  uint64_t slots_by_code = 0;    ///< made of others
  uint64_t slots_behind = 0;     ///< that came after a later one: sent again, or overtaken
  Row<be32> holes;               ///< frames that waited for others, by how long

  static void fields(auto& outcome, auto& wire) {
    wire(outcome.qp, outcome.policy_epoch, outcome.frames_out, outcome.frames_given_up);
    wire(outcome.frames_late, outcome.slots_by_code, outcome.slots_behind, outcome.holes);
  }
  bool is_valid() const { return holes.size() <= holes_max; }
  bool operator==(const Outcome& other) const = default;
};

/// Whether the sender asks its peer to send what it can by another site.
struct Draining {
  static constexpr auto type = RecordType::Draining;
  static constexpr const char* name = "draining";

  uint32_t number = 0;  ///< rises with each change within a life: the highest is what holds
  uint8_t is_wanted = 0;

  static void fields(auto& draining, auto& wire) {
    wire(draining.number, draining.is_wanted, zeros<3>);
  }
  bool is_valid() const { return number > 0 && is_wanted <= 1; }
  bool operator==(const Draining& other) const = default;
};

}  // namespace cw
