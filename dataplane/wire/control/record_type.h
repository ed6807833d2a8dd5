// The numbers of records in envelopes and of items in descriptions; each a space of its own.
#pragma once

#include <cstdint>

namespace cw {

enum class RecordType : uint8_t {
  Hello = 1,
  Pad = 2,
  Description = 3,
  ClearToSend = 4,
  Probe = 5,
  Opened = 6,
  BlockClosed = 7,
  Closed = 8,
  Abandoned = 9,
  Note = 10,
  Echo = 11,
  PathReport = 12,
  SwapPrepare = 13,
  SwapReady = 14,
  SwapBoundary = 15,
  SwapAcknowledge = 16,
  SwapCancel = 17,
  Outcome = 18,
  Draining = 19,
  // Between members of a group.
  Join = 20,
  Epoch = 21,
  Ready = 22,
  Go = 23,
  Turn = 24,
  AllDone = 25,
  Done = 26,
  Fetch = 27,
  Miss = 28,
  Status = 29,
  Fail = 30,
  Offer = 31,
  Cancel = 32,
  Refuse = 33,
};

/// Of an envelope's records: those that go out as what may be skipped, since who does not know them
/// lacks nothing. No item has such a number.
constexpr bool is_skippable(uint8_t type) {
  return type == static_cast<uint8_t>(RecordType::Outcome) ||
         type == static_cast<uint8_t>(RecordType::Draining);
}

enum class ItemType : uint8_t { PairKey = 1, Qp = 2, Site = 3, Policy = 4, Peer = 5 };

}  // namespace cw
