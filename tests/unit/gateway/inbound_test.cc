// The receiving half as a whole, under a sender's frames and a network's slots: whatever is lost,
// given up or out of order, every frame whose bytes came has one fate, and order is kept.
#include "dataplane/gateway/to_lan/inbound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/property/property.h"
#include "tests/unit/gateway/lan_port.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway::test {
namespace {

using namespace cw::literals;

constexpr uint32_t first_bucket_seq = uint32_t{0} - 3;
constexpr MessageSeq first_message = MessageSeq(uint64_t{0} - 2);

struct Weather {
  uint64_t seed = 1;
  double given_up = 0;     ///< share of slots that never come
  Duration spread = 5_ms;  ///< slots come within, in any order
  Duration resend = 0_ms;  ///< some come later by this
  int frames = 150;
  Duration hold = 3600_s;  ///< so long that it never matters
  size_t frames_max = 4096;
  uint32_t messages = 4;
};

/// What a person would see on both sides.
class World {
 public:
  explicit World(const Weather& weather) : weather_(weather), random_(weather.seed) {
    const auto payload = static_cast<uint32_t>(random_.between(256, 8192));
    const auto slots =
        static_cast<uint32_t>(limits::frame_bytes_max / (payload - 8) + random_.between(3, 40));
    options_.slots = {.messages = weather.messages,
                      .data_slots_max = slots,
                      .payload_bytes_max = payload,
                      .stall = 3600_s};
    options_.hold = weather.hold;
    options_.first_seq = BucketSeq(first_bucket_seq);
    options_.first_message = first_message;
    packer_.emplace(payload, slots, first_message);
    stream_.emplace(options_.slots, first_message);
    stock_ = stock_for(options_.slots, drops_, weather.frames_max);
    inbound_ = std::make_unique<Inbound>(options_, *stock_, stream_->sink(), release_);
    make_frames();
    plan_slots();
  }

  /// Until all that was sent has come or was given up, and has left.
  void run() {
    bool was_open = true;
    for (int turn = 0; was_open; ++turn) {
      RC_ASSERT(turn < 100'000);
      inbound_->on_time(now_);
      was_open = deliver();
      collect();
      check_turn();
      now_ += Duration::from_us(100);
    }
    now_ += weather_.hold.scaled(1.5);
    inbound_->on_time(now_);
    collect();
  }

  InboundAccounts accounts() const { return inbound_->accounts(); }
  uint64_t dropped(DropReason reason) const { return accounts().dropped[reason]; }
  const std::vector<TestFrame>& sent() const { return sent_; }
  /// Indices of frames sent, as they left.
  const std::vector<size_t>& out() const { return out_; }
  bool is_whole(const TestFrame& frame) const { return missing_of(frame) == 0; }
  size_t frames_lent() const { return inbound_->frames_lent(); }
  size_t posted_count() const { return stream_->posted_count(); }
  Duration held_longest() const { return held_longest_; }

  void check_order() const {
    // The highest number of each bucket so far, counted from its first.
    std::map<uint16_t, int64_t> highest;
    for (const size_t index : out_) {
      const FrameHeader& header = sent_[index].header;
      if (header.order == FrameOrder::AtOnce) continue;
      auto [it, is_new] = highest.try_emplace(header.bucket, -1);
      const int64_t number = BucketSeq(first_bucket_seq).distance_to(BucketSeq(header.bucket_seq));
      if (header.order == FrameOrder::InTurn) {
        RC_ASSERT(number > it->second);
        it->second = number;
      }
    }
    // None behind a number leaves before a lower one that leaves at all.
    std::map<uint16_t, int64_t> lowest;
    for (auto index = out_.rbegin(); index != out_.rend(); ++index) {
      const FrameHeader& header = sent_[*index].header;
      const int64_t number = BucketSeq(first_bucket_seq).distance_to(BucketSeq(header.bucket_seq));
      auto [it, is_new] = lowest.try_emplace(header.bucket, INT64_MAX);
      if (header.order == FrameOrder::Behind) RC_ASSERT(number <= it->second);
      if (header.order == FrameOrder::InTurn) it->second = std::min(it->second, number);
    }
  }
  void check_settled() const {
    RC_ASSERT(accounts().is_balanced());
    RC_ASSERT(accounts().held == 0u);
    RC_ASSERT(accounts().queued == 0u);
    RC_ASSERT(frames_lent() == 0u);
    RC_ASSERT(lan_.free_count() == 16u);
    RC_ASSERT(posted_count() == weather_.messages);
  }

 private:
  struct Coming {
    uint32_t message, slot;
    Duration after;  // since the message was open to the sender
    bool is_lost;
  };

  void make_frames() {
    std::map<uint16_t, uint32_t> next;
    for (int i = 0; i < weather_.frames; ++i) {
      const auto order = static_cast<FrameOrder>(random_.below(3));
      const auto bucket = static_cast<uint16_t>(65'533 + random_.below(3));
      uint32_t& seq = next.try_emplace(bucket, first_bucket_seq).first->second;
      const size_t most = random_.chance(0.6) ? 400 : limits::frame_bytes_max;
      TestFrame frame{.packet = ip_packet(random_, random_.between(24, most))};
      frame.header.order = order;
      if (order != FrameOrder::AtOnce) frame.header.bucket = bucket, frame.header.bucket_seq = seq;
      if (order == FrameOrder::InTurn) ++seq;
      // So that each can be told from the others.
      std::memcpy(frame.packet.data() + 20, &i, sizeof(i));
      packer_->add(frame);
      if (random_.chance(0.2)) packer_->end_slot();
      if (random_.chance(0.02)) packer_->end_message();
      sent_.push_back(std::move(frame));
    }
    packer_->end_message();
    message_count_ = packer_->messages().size() - 1;
  }

  void plan_slots() {
    coming_.resize(message_count_);
    lengths_.resize(message_count_);
    opened_.resize(message_count_, Instant::never());
    abandoned_.resize(message_count_);
    for (uint32_t m = 0; m < message_count_; ++m) {
      const auto& slots = packer_->messages()[m];
      has_come_.emplace_back(slots.size());
      is_given_up_.emplace_back(slots.size());
      lengths_[m] = weather_.spread.scaled(random_.uniform() * 2);
      for (uint32_t s = 0; s < slots.size(); ++s) {
        Duration after = weather_.spread.scaled(random_.uniform());
        if (random_.chance(0.1)) after += weather_.resend;
        const bool is_lost = random_.chance(weather_.given_up);
        coming_[m].push_back({m, s, after, is_lost});
        // The second copy of a packet changes nothing.
        if (!is_lost && random_.chance(0.05)) coming_[m].push_back({m, s, after + 1_ms, false});
      }
    }
  }

  /// One turn's worth. False when nothing is left.
  bool deliver() {
    bool is_any_left = false;
    for (uint32_t m = 0; m < message_count_; ++m) {
      const MessageSeq seq = packer_->seq_of(m);
      if (!stream_->is_open(seq)) {
        is_any_left |= opened_[m] == Instant::never();
        continue;
      }
      is_any_left = true;
      opened_[m] = std::min(opened_[m], now_);
      const Duration age = now_ - opened_[m];
      std::erase_if(coming_[m], [&](const Coming& one) {
        if (one.after > age) return false;
        arrive(one, seq);
        return true;
      });
      abandon_front(m);
      if (lengths_[m] && *lengths_[m] <= age) {
        stream_->say_length(seq, static_cast<uint32_t>(packer_->messages()[m].size()));
        lengths_[m].reset();
      }
    }
    inbound_->take_news(now_);
    return is_any_left;
  }
  void arrive(const Coming& one, MessageSeq seq) {
    if (one.is_lost) {
      is_given_up_[one.message][one.slot] = true;
      return;
    }
    has_come_[one.message][one.slot] = true;
    stream_->place(seq, one.slot, packer_->messages()[one.message][one.slot]);
  }
  /// A sender gives up from the front, when what lies there has grown too old.
  void abandon_front(uint32_t m) {
    uint32_t& told = abandoned_[m];
    uint32_t end = told;
    for (uint32_t slot = told; slot < has_come_[m].size(); ++slot) {
      if (!has_come_[m][slot] && !is_given_up_[m][slot]) break;
      if (is_given_up_[m][slot]) end = slot + 1;
    }
    if (end > told) stream_->abandon(packer_->seq_of(m), 0, end);
    told = end;
  }
  void collect() {
    for (const ByteRow& packet : lan_.drain(release_, now_)) {
      int index = -1;
      std::memcpy(&index, packet.data() + 20, sizeof(index));
      RC_ASSERT((index >= 0 && index < static_cast<int>(sent_.size())));
      const auto at = static_cast<size_t>(index);
      RC_ASSERT(sent_[at].packet == packet);
      RC_ASSERT(is_out_.insert(at).second);
      out_.push_back(at);
    }
  }
  int missing_of(const TestFrame& frame) const {
    const auto& come = has_come_[frame.message];
    return static_cast<int>(
        std::count(come.begin() + frame.slot_first, come.begin() + frame.slot_last + 1, false));
  }
  /// The turn in which a frame's last byte came is the one in which it leaves, or begins to be
  /// held.
  void check_turn() {
    RC_ASSERT(accounts().is_balanced());
    RC_ASSERT(frames_lent() <= weather_.frames_max);
    whole_at_.resize(sent_.size(), Instant::never());
    const InboundAccounts all = accounts();
    for (size_t i = 0; i < sent_.size(); ++i) {
      if (is_out_.contains(i) || !is_whole(sent_[i])) continue;
      whole_at_[i] = std::min(whole_at_[i], now_);
      if (all.dropped.sum() > 0) continue;  // it may be among those
      RC_ASSERT(sent_[i].header.order != FrameOrder::AtOnce);
      held_longest_ = std::max(held_longest_, now_ - whole_at_[i]);
    }
  }

  const Weather weather_;
  Prng random_;
  InboundOptions options_;
  std::optional<Packer> packer_;
  std::optional<SlotStream> stream_;
  Counters counters_;
  Drops drops_;
  LanPort lan_{16, limits::frame_bytes_max};
  Release release_{{.rate = Rate::from_gbps(8'000), .burst_bytes = 64 << 20}, lan_, counters_};
  std::unique_ptr<InboundStock> stock_;
  std::unique_ptr<Inbound> inbound_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  Duration held_longest_;

  std::vector<TestFrame> sent_;
  size_t message_count_ = 0;
  std::vector<std::vector<Coming>> coming_;       // by message
  std::vector<std::optional<Duration>> lengths_;  // when each message's length is heard
  std::vector<Instant> opened_;
  std::vector<uint32_t> abandoned_;  // slots from the front that will not come, by message
  std::vector<std::vector<bool>> has_come_, is_given_up_;
  std::vector<Instant> whole_at_;
  std::vector<size_t> out_;
  std::set<size_t> is_out_;
};

uint64_t any_seed() {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  RC_LOG("seed " + std::to_string(seed));
  return seed;
}

RC_GTEST_PROP(Inbound, without_loss_every_frame_leaves_once_and_in_order, ()) {
  World world({.seed = any_seed(), .resend = 10_ms});
  world.run();
  RC_ASSERT(world.out().size() == world.sent().size());
  RC_ASSERT(world.accounts().out == world.sent().size());
  RC_ASSERT(world.accounts().missed_exactly == 0u);
  world.check_order();
  world.check_settled();
}

/// Given up slots cost the frames that touch them, and nothing else.
RC_GTEST_PROP(Inbound, what_is_given_up_costs_only_its_own_frames, ()) {
  World world({.seed = any_seed(), .given_up = 0.1, .resend = 10_ms});
  world.run();
  std::set<size_t> out(world.out().begin(), world.out().end());
  for (size_t i = 0; i < world.sent().size(); ++i) {
    RC_ASSERT(out.contains(i) == world.is_whole(world.sent()[i]));
  }
  RC_ASSERT(world.accounts().dropped.sum() == 0u);
  RC_ASSERT(world.accounts().missed_by_time == 0u);
  world.check_order();
  world.check_settled();
}

RC_GTEST_PROP(Inbound, holds_no_frame_for_longer_than_hold, ()) {
  World world({.seed = any_seed(), .given_up = 0.05, .resend = 30_ms, .hold = 7_ms});
  world.run();
  const InboundAccounts all = world.accounts();
  RC_ASSERT(all.dropped.sum() == all.late());
  RC_ASSERT(all.seen == all.out + all.late());
  const auto whole = std::ranges::count_if(
      world.sent(), [&](const TestFrame& frame) { return world.is_whole(frame); });
  RC_ASSERT(all.seen == static_cast<uint64_t>(whole));
  RC_ASSERT(world.held_longest() <= 7_ms + Duration::from_us(100));
  world.check_order();
  world.check_settled();
}

RC_GTEST_PROP(Inbound, few_places_for_frames_cost_frames_but_no_order, ()) {
  World world({.seed = any_seed(), .given_up = 0.05, .resend = 10_ms, .frames_max = 16});
  world.run();
  const InboundAccounts all = world.accounts();
  RC_ASSERT(all.dropped.sum() == all.late() + all.dropped[DropReason::hold_memory]);
  world.check_order();
  world.check_settled();
}

// ---- by hand ------------------------------------------------------------------------------------

struct Bench {
  explicit Bench(InboundOptions with = {.slots = {.messages = 2,
                                                  .data_slots_max = 64,
                                                  .payload_bytes_max = 1024},
                                        .hold = 20_ms})
      : options(with), stream(with.slots), packer(1024, with.slots.data_slots_max) {
    inbound->on_time(now);
  }
  void add(uint16_t bucket, uint32_t seq, size_t bytes = 500) {
    TestFrame frame{{.bucket = bucket, .bucket_seq = seq}, ip_packet(random, bytes)};
    packer.add(frame);
    packer.end_slot();
  }
  void place(uint32_t slot, bool is_marked = false) {
    stream.place(MessageSeq(0), slot, packer.messages()[0][slot], is_marked);
    inbound->take_news(now);
  }
  size_t drain() { return lan.drain(release, now).size(); }

  InboundOptions options;
  Instant now = Instant::from_ns(1'000'000'000);
  Prng random{5};
  Counters counters;
  Drops drops;
  LanPort lan{8, 1500};
  SlotStream stream;
  Packer packer;
  Release release{{}, lan, counters};
  std::unique_ptr<InboundStock> stock = stock_for(options.slots, drops, 8);
  std::unique_ptr<Inbound> inbound =
      std::make_unique<Inbound>(options, *stock, stream.sink(), release);
};

TEST(Inbound, nothing_of_an_old_epoch_leaves) {
  Bench bench;
  for (uint32_t seq = 0; seq < 4; ++seq) bench.add(9, seq);
  bench.place(0);  // released, not yet out
  bench.place(2);  // held
  bench.stream.reset();
  EXPECT_TRUE(bench.inbound->has_news());
  bench.inbound->take_news(bench.now);
  EXPECT_EQ(bench.drain(), 0u);
  const InboundAccounts all = bench.inbound->accounts();
  EXPECT_EQ(all.dropped[DropReason::epoch_over], 2u);
  EXPECT_TRUE(all.is_balanced());
  // And the new one begins with the first number.
  bench.inbound->on_time(bench.now);
  bench.place(0);
  EXPECT_EQ(bench.drain(), 1u);
}

TEST(Inbound, a_full_table_drops_and_tells_why) {
  Bench bench;
  for (uint32_t seq = 0; seq < 20; ++seq) bench.add(9, seq);
  for (uint32_t slot = 0; slot < 20; ++slot) bench.place(slot);
  EXPECT_EQ(bench.drain(), 8u);
  const InboundAccounts all = bench.inbound->accounts();
  EXPECT_EQ(all.dropped[DropReason::hold_memory], 12u);
  EXPECT_EQ(bench.drops.read_any_thread(DropReason::hold_memory), 12u);
  EXPECT_TRUE(all.is_balanced());
}

TEST(Inbound, gives_the_oldest_hole_up_before_the_table_is_full) {
  Bench bench;
  for (uint32_t seq = 0; seq < 10; ++seq) bench.add(9, seq);
  for (uint32_t slot = 1; slot < 9; ++slot) bench.place(slot);
  EXPECT_EQ(bench.inbound->accounts().missed_by_need, 1u);
  EXPECT_EQ(bench.drain(), 8u);
}

TEST(Inbound, time_slept_gives_nothing_up) {
  Bench bench;
  bench.add(9, 0);
  bench.add(9, 1);
  bench.place(1);
  EXPECT_EQ(bench.inbound->next_due(), bench.now + 20_ms);
  bench.now += 5_s;
  bench.inbound->rebase(5_s);
  EXPECT_FALSE(bench.inbound->on_time(bench.now + 19_ms));
  EXPECT_TRUE(bench.inbound->on_time(bench.now + 20_ms));
}

TEST(Inbound, memory_that_is_not_there_is_an_error_with_the_keys_to_change) {
  Drops drops;
  const auto made = InboundStock::make(
      {.messages = 1 << 20, .data_slots_max = 1 << 24, .payload_bytes_max = 8192}, drops);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().sentence.find("`messages`"), std::string::npos);
}

}  // namespace
}  // namespace cw::gateway::test
