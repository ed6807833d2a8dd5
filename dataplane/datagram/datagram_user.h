// What stands above a DatagramEndpoint: the endpoint moves slots and envelopes, this decides which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/units.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/group/header.h"

namespace cw::group {

/// A slot that has come and lies in its place.
struct Placed {
  uint32_t slot = 0;
  uint16_t source = 0;      ///< who sent it
  uint32_t landing = 0;     ///< or inbox
  uint32_t clock_us = 0;    ///< of its source, when it left
  bool is_message = false;  ///< of an inbox
  Kind kind = Kind::Multicast;
  bool is_last = false;  ///< of its part
  bool is_first = true;  ///< multicast for the first time, so its source's own
  bool is_new = true;    ///< false: it had come before
  bool wants_status = false;
  uint8_t path = 0;
};

/// What is to be said to a member, when the line has time for it.
struct Word {
  RecordType type = RecordType::Pad;  ///< PAD: nothing but that we are there
  uint16_t to = 0;
  uint32_t about = 0;  ///< the user's own
};

/// Thread: the turn's. No call waits or allocates.
class DatagramUser {
 public:
  virtual ~DatagramUser() = default;

  /// The group has come into being: from here on there is an epoch, and words are heard.
  virtual void on_begun(Instant now) = 0;
  /// A member is another process than it was: the group is over.
  virtual void on_anew(uint16_t rank, Instant now) = 0;
  /// A member has answered our first word in the epoch, and its row knows what that took.
  virtual void on_greeted(uint16_t /*rank*/, Instant /*now*/) {}
  /// What a member has said; one record of an envelope that is its own.
  virtual void on_record(uint16_t from, const RecordView& record, Instant now) = 0;
  /// A message for a pool has begun that is not open: opens an inbox for it, or returns false.
  virtual bool try_open_pooled(const Header& /*header*/, Instant /*now*/) { return false; }
  /// A slot of a message has come that is not open, and is dropped.
  virtual void on_closed(const Header& /*header*/) {}
  /// What has come in one burst.
  virtual void on_placed(std::span<const Placed> placed, Instant now) = 0;

  /// Adds to an envelope what a word stands for as it is now; false: nothing.
  virtual bool write(const Word& word, EnvelopeWriter& writer, Instant now) = 0;

  /// A word came to nothing: there was no packet for it, its member is not in the epoch yet, or
  /// write() had nothing to add.
  virtual void on_unsaid(const Word& /*word*/) {}

  /// Of the nth outbox for one message no slot waits at the line any more; the last was one that
  /// had left before. What is said now leaves behind them.
  virtual void on_all_left(size_t /*nth*/, bool /*is_again*/, Instant /*now*/) {}

  virtual bool on_time(Instant now) = 0;
  virtual Instant next_wakeup() const = 0;
  virtual void on_gap(Duration gap) = 0;
};

}  // namespace cw::group
