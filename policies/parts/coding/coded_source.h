// The sending end of whatever codes: data as ever (RepeatSource), and repair behind it.
//
//   closed --decide--> encoding --coded--> ready --data has left--> repair sent
//
// Blocks go this way in the order in which they were closed. Repair leaves when the last data slot
// of its block has: then its distance to the data is known. Where losses come in bursts, each shard
// of a row keeps the distance of a burst from the shard before it, so that one burst does not take
// several of them; with several paths it avoids the path that the message used last.
//
// Repair is best effort: a block that the core would not encode after a few tries, or for which
// there was no room here, goes without, and its losses are resent.
//
// The number of repair shards follows the loss that the link measures, between m and m_max.
#pragma once

#include "policies/parts/coding/coding_settings.h"
#include "policies/parts/coding/redundancy.h"
#include "policies/parts/repeat/repeat_source.h"

namespace cw::policy {

class CodedSource : public RepeatSource {
 public:
  CodedSource(const cw_env& env, const CodingSettings& settings);
  bool is_ready() const;

  void on_block_closed(const cw_fact_block_closed& fact, Instant now);
  void on_closed(const cw_fact_closed& fact, Instant now);
  void on_coded(const cw_fact_coded& fact, Instant now);
  void on_refused(const cw_fact_refused& fact, Instant now);
  void on_link(const cw_fact_link& fact, Instant now);
  void on_timer(uint64_t cookie, Instant now);
  void decide(Instant now, Out& out);

 private:
  static constexpr uint64_t timer_cookie = 1;  // 0 is RepeatSource's
  static constexpr uint8_t tries_max = 8;

  struct Work {
    uint32_t message = 0;
    Block block;
    uint32_t decided = 0;   // sets that the core was asked to encode
    uint32_t encoding = 0;  // of which so many are under way
    uint32_t refused = 0;   // and so many were not taken
    uint32_t sent = 0;      // up to here, from the block's first repair slot on
    uint8_t tries = 0;
    bool is_decided = false;  // all sets
  };

  Work* find_work(uint32_t cookie, uint32_t message);
  void settle_encoding(uint32_t cookie, Work& work, Instant now);
  bool tell_layout(Out& out);
  bool encode(Instant now, Out& out);
  bool retry_refused_codes(Instant now, Out& out);
  bool encode_block(uint32_t cookie, Work& work, Out& out);
  bool send_repair(Instant now, Out& out);
  bool send_repair_of(Work& work, Instant now, Out& out);
  SlotRun next_repair(const Work& work) const;
  void follow_loss(const cw_fact_link& fact);
  void give_up_late(Instant now);

  const CodingSettings coding_;
  const bool is_coded_;
  const uint32_t repair_first_;  // the index of the first repair slot: D
  const uint32_t slot_bytes_;
  Queue<Work> work_;  // the front has number head_
  uint32_t head_ = 0;
  uint32_t undecided_ = 0;   // the number of the first that is not decided
  RangeFifo refused_codes_;  // numbers of those that the core could not take
  RangeFifo deadlines_;      // closed messages
  Duration spacing_;         // of the shards of a row
  uint8_t m_;                // of blocks to come
  uint8_t m_told_ = 0;
  Instant coding_armed_at_ = Instant::never();
};

}  // namespace cw::policy
