// What a receiving stream keeps of each message.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/message.h"
#include "dataplane/wan.h"

namespace cw::sdr {

class FrameTeller;

/// What became of a receiving stream's slots, since its beginning.
struct RecvTally {
  uint64_t rebuilt = 0;                 // made of others by a code
  uint64_t behind = 0;                  // came after a later one, and were not rebuilt
  uint64_t given_up = 0;                // were missing when their message was over
  uint64_t duplicates = 0;              // came again, repair too
  const FrameTeller* frames = nullptr;  // who knows of what is in them; null: nobody
};

/// One place of a receiving stream.
struct RecvMessage {
  MessageSeq seq;
  uint8_t* memory = nullptr;
  uint64_t memory_bytes = 0;
  bool is_lent = false;  // the memory is a buffer's, not the application's
  bool is_posted = false;
  bool is_opened = false;   // something of it has been heard
  bool is_closed = false;   // its length is known
  bool is_cut = false;      // given up before that
  bool is_lost = false;     // its peer restarted: only complete() is left to do
  bool is_touched = false;  // has facts of this burst
  bool is_news = false;     // something of it is to be told to who reads along
  bool is_queued = false;   // waits in `touched_`; this and the next two outlive the message
  bool is_in_news = false;  // waits in `news_`
  bool is_stained = false;  // something of it is in the rows of its place
  bool has_immediate = false;
  MessageStatus status = MessageStatus::Open;
  uint16_t path = 0;           // of the last arrival
  uint8_t fragments_seen = 0;  // of the immediate: one bit each, up to 8 fragments of 4 bits
  uint32_t fragment_mask = 0;
  uint32_t immediate = 0;
  uint32_t slots = CW_UNKNOWN;
  uint32_t frames = 0;  // of hosts in them, once its length is known
  uint32_t in_place = 0;
  uint32_t first_missing = 0;
  uint32_t highest = 0;                   // + 1
  uint32_t abandoned_end = 0;             // what is missing below will not come
  uint32_t duplicates = 0;                // of this burst
  uint32_t word_first = 0, word_end = 0;  // touched in this burst
  uint32_t repair_word_first = 0, repair_word_end = 0;
  uint32_t news_word_first = 0, news_word_end = 0;
  uint32_t blocks = 0, blocks_end = 0;  // known from the front, and the data slots they cover
  uint32_t blocks_reach = 0;            // the same of all that are known
  uint64_t bytes = 0;
  Window data, repairs;  // where the port places payload: what is open to it

  /// Slots: where its length is known all that is not there, else what lies below one that is.
  uint32_t missing() const {
    const uint32_t end = is_closed ? slots : highest;
    return end - std::min(end, in_place);
  }
  /// An empty place: only what waits in rows goes on to wait there.
  RecvMessage emptied() const {
    return {.is_queued = is_queued, .is_in_news = is_in_news, .is_stained = is_stained};
  }
};

}  // namespace cw::sdr
