// Random valid records of every type.
#pragma once

#include <algorithm>
#include <concepts>
#include <list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/group/records.h"
#include "tests/property/property.h"

namespace cw::test {

/// A codec that fills fields with random values; owns what the views among them point to.
class FieldScrambler {
 public:
  void operator()(auto&&... field) { (add(field), ...); }

 private:
  template <WireInteger T>
  void add(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(*rc::gen::arbitrary<std::underlying_type_t<T>>());
    } else {
      value = *rc::gen::arbitrary<T>();
    }
  }
  void add(MessageSeq& seq) { seq = MessageSeq(*rc::gen::arbitrary<uint32_t>()); }
  template <size_t Count>
  void add(const Zeros<Count>&) {}
  void add(ZeroFill& fill) { fill.bytes = *rc::gen::inRange<uint16_t>(0, 2000); }
  void add(std::string_view& text) {
    texts_.push_back(*rc::gen::container<std::string>(rc::gen::inRange(' ', '~')));
    text = texts_.back();
  }
  void add(NamedText& named) {
    add(named.name);
    add(named.text);
  }
  template <class Entry>
  void add(Row<Entry>& row) {
    const auto count = *rc::gen::inRange<size_t>(0, 20);
    rows_.push_back(*rc::gen::container<std::vector<uint8_t>>(count * sizeof(Entry),
                                                              rc::gen::arbitrary<uint8_t>()));
    row = Row<Entry>(reinterpret_cast<const Entry*>(rows_.back().data()), count);
  }

  std::list<std::string> texts_;
  std::list<std::vector<uint8_t>> rows_;
};

// What random values lack to be valid.
inline void mend(auto&) {}
inline void mend(Hello& hello) {
  hello.control_qpn &= 0xffffff;
  hello.payload_bytes &= 0xfffc;
  hello.control_bytes &= 0xfffc;
  hello.message_id_bits %= 11;
  hello.slot_bits %= 23;
  hello.immediate_bits = static_cast<uint8_t>(32 - hello.message_id_bits - hello.slot_bits);
  hello.generations |= 1;
  hello.channels |= 1;
  hello.paths |= 1;
  hello.state = static_cast<HelloState>(std::to_underlying(hello.state) % 3);
  hello.icrc_mode %= 4;
  hello.description_parts = static_cast<uint16_t>(1 + hello.description_parts % 32);
}
inline void mend(Description& part) {
  part.parts = static_cast<uint16_t>(1 + part.parts % 32);
  part.part %= part.parts;
  part.bytes = Row<uint8_t>(part.bytes.data(), part.bytes.size() / 4 * 4);
  part.part_bytes = static_cast<uint16_t>(part.bytes.size());
}
inline void mend(ClearToSend& clear) {
  clear.message_limit = clear.retired_seq + clear.message_limit.value() / 2;
  clear.heard_seq = clear.retired_seq + clear.heard_seq.value() / 2;
  if (clear.heard_seq.is_after(clear.message_limit)) clear.heard_seq = clear.message_limit;
}
inline void mend(Opened& opened) {
  opened.data_slots_max &= 0xffffff;
  if (opened.slots != slots_unknown) opened.slots %= opened.data_slots_max + 1;
  if (opened.k == 0 || opened.rows == 0) opened.k = 0, opened.rows = 0;
}
inline void mend(BlockClosed& closed) {
  static constexpr ClosedBlock blocks[] = {
      {be32(7), be32(1 << 24), be32(510), be16(2), 255, 0, 255, {}},
      {be32(9), be32(0), be32(0), be16(65535), 1, 254, 0, {}}};
  closed.blocks = Row<ClosedBlock>(blocks, 1 + closed.blocks.size() % 2);
}
inline void mend(Closed& closed) {
  closed.flags &= 1;
  closed.slots &= 0xffffff;
  if (closed.flags == 0) closed.immediate = 0;
}
inline void mend(Abandoned& abandoned) {
  abandoned.first_slot &= 0xffffff;
  abandoned.slots %= (1u << 24) - abandoned.first_slot + 1;
}
inline void mend(Note& note) { note.flags &= 1; }
inline void mend(Echo& echo) {
  echo.flags &= 1;
  if (echo.flags == 0) echo.held_ns = 0;
}
inline void mend(NamedText& named) {
  if (named.name.empty()) named.name = "x";
}
inline void mend(SwapPrepare& prepare) {
  const bool is_sinks = is_of_sink(prepare.swap_id);
  prepare.direction = is_sinks ? SwapDirection::SourceIsReceiver : SwapDirection::SourceIsSender;
  mend(prepare.policy);
}
inline void mend(Outcome& outcome) {
  const size_t count = std::min(outcome.holes.size(), Outcome::holes_max);
  outcome.holes = Row<be32>(outcome.holes.data(), count);
}
inline void mend(Draining& draining) {
  draining.number = std::max(draining.number, 1u);
  draining.is_wanted &= 1;
}
inline void mend(SwapCancel& cancel) {
  cancel.direction = static_cast<SwapDirection>(static_cast<uint16_t>(cancel.direction) & 1);
}
inline void mend(PairKeyItem& item) { mend(item.pair); }
inline void mend(PolicyItem& item) { mend(item.policy); }
inline void mend(QpItem& item) {
  static constexpr be32 qpns[128] = {be32(0xffffff), be32(1)};
  item.generations = static_cast<uint8_t>(1 + item.generations % 4);
  item.channels = static_cast<uint8_t>(1 + item.channels % 16);
  item.paths = static_cast<uint8_t>(1 + item.paths % 2);
  item.qpns = Row<be32>(qpns, size_t{item.generations} * item.channels * item.paths);
}

inline constexpr uint16_t ranks = limits::group_members_max;
inline uint16_t any_payload_bytes(uint16_t number) {
  constexpr size_t least = limits::group_payload_bytes_min;
  constexpr size_t choices = (limits::group_payload_bytes_max - least) / 4 + 1;
  return static_cast<uint16_t>(least + number % choices * 4);
}
inline void mend(group::Join& join) {
  join.qpn &= 0xffffff;
  join.rate_bps |= 1;
  join.payload_bytes = any_payload_bytes(join.payload_bytes);
}
inline void mend(group::Epoch& epoch) {
  epoch.id |= 1;
  epoch.rate_kbps |= 1;
  epoch.payload_bytes = any_payload_bytes(epoch.payload_bytes);
  epoch.members = static_cast<uint16_t>(1 + epoch.members % ranks);
}
inline void mend(group::Ready& ready) {
  ready.operation = static_cast<group::Operation>(1 + std::to_underlying(ready.operation) % 5);
  ready.element = static_cast<group::ElementType>(std::to_underlying(ready.element) % 3);
  ready.root %= ready.operation == group::Operation::Broadcast ? ranks : 1;
  ready.members = 1 + ready.members % ranks;
}
inline void mend_step(group::StepRank& each) {
  each.rank %= ranks;
  each.pace %= 1001;
}
inline void mend(group::Go& go) { mend_step(go); }
inline void mend(group::Turn& turn) { mend_step(turn); }
inline void mend(group::AllDone& done) { mend_step(done); }
inline void mend(group::Done& done) {
  done.rank %= ranks;
  done.share %= 1001;
  done.members = 1 + done.members % ranks;
}
/// Any step and message; of the runs their number is random.
inline void mend_runs(group::SlotRuns& asked) {
  static constexpr group::Run runs[] = {{be32(0), be32(1)},
                                        {be32(2), be32(7)},
                                        {be32(10), be32(100)},
                                        {be32(0x10000), be32(0xffff)},
                                        {be32(0xffffff), be32(1)}};
  asked.source %= asked.message == 0 ? 1 : ranks;
  if (asked.message == 0) asked.number = 0;
  const size_t count = 1 + asked.runs.size() % std::size(runs);
  asked.runs = Row<group::Run>(runs + std::size(runs) - count, count);
}
inline void mend(group::Fetch& fetch) { mend_runs(fetch); }
inline void mend(group::Miss& miss) {
  mend_runs(miss);
  miss.number = 0;
}
inline void mend(group::Status& status) { status.slots &= 0xffffff; }
inline void mend(group::Offer& offer) {
  offer.message |= 1;
  offer.bytes |= 1;
  offer.sent_slots &= 0xffffff;
}
inline void mend_ending(group::Ending& ending) {
  ending.message |= 1;
  ending.reason = static_cast<group::Reason>(1 + std::to_underlying(ending.reason) % 5);
}
inline void mend(group::Cancel& cancel) { mend_ending(cancel); }
inline void mend(group::Refuse& refuse) { mend_ending(refuse); }
inline void mend(group::Fail& fail) {
  fail.rank %= ranks;
  fail.sentence = fail.sentence.substr(0, limits::group_sentence_bytes_max);
}

/// A random valid record; views in it point into `scrambler`.
template <class Record>
Record any_record(FieldScrambler& scrambler) {
  Record record;
  Record::fields(record, scrambler);
  mend(record);
  RC_ASSERT(record.is_valid());
  return record;
}

}  // namespace cw::test
