// What streams and seats are made of.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/sdr/line/path/gap_ledger.h"
#include "dataplane/sdr/line/transmitter.h"
#include "dataplane/sdr/seat/code/cookie_map.h"
#include "dataplane/sdr/stream/budget_watch.h"
#include "dataplane/sdr/stream/recv/promises.h"
#include "dataplane/sdr/stream/send/outbox.h"
#include "dataplane/sdr/stream/send/sent_runs.h"
#include "tests/property/property.h"

namespace cw::sdr {
namespace {

// ---- what both ends of a stream must have alike ----

TEST(PairKeys, each_number_that_differs_is_a_key_that_does) {
  const std::pair<const char*, void (*)(StreamConfig&)> changes[] = {
      {"message_id_bits", [](StreamConfig& c) { c.split = ImmediateSplit(8, 18, 6); }},
      {"slot_bits", [](StreamConfig& c) { c.split = ImmediateSplit(10, 20, 2); }},
      {"messages", [](StreamConfig& c) { c.messages = 32; }},
      {"data_slots_max", [](StreamConfig& c) { c.data_slots_max = 64; }},
      {"repair_slots_max", [](StreamConfig& c) { c.repair_slots_max = 64; }},
      {"chunk_slots", [](StreamConfig& c) { c.chunk_slots = 1; }},
      {"rows", [](StreamConfig& c) { c.rows = 2; }},
      {"k", [](StreamConfig& c) { c.k = 2; }},
      {"m_cap", [](StreamConfig& c) { c.m_cap = 2; }},
      {"generations", [](StreamConfig& c) { c.generations = 2; }},
      {"channels", [](StreamConfig& c) { c.channels = 2; }},
      {"first_seq", [](StreamConfig& c) { c.first_seq = MessageSeq(2); }},
  };
  const PairKeys plain = pair_keys(StreamConfig{.qp = 7});
  ASSERT_EQ(plain.size(), std::size(changes));
  for (const auto& [key, change] : changes) {
    StreamConfig config{.qp = 7};
    change(config);
    const PairKeys keys = pair_keys(config);
    ASSERT_EQ(keys.size(), plain.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool is_it = keys[i].first == std::string("qp7.") + key;
      EXPECT_EQ(keys[i] != plain[i], is_it) << key << " and " << keys[i].first;
    }
  }
}

// ---- When a budget is news ----

TEST(BudgetWatch, tells_the_first_and_then_what_has_changed_by_a_quarter) {
  BudgetWatch watch;
  EXPECT_TRUE(watch.is_news({}));
  EXPECT_FALSE(watch.is_news({}));
  const cw_fact_budget budget{.backlog_ns = 1000, .slot_credit = 100, .repair_bytes = 4000};
  EXPECT_TRUE(watch.is_news(budget)) << "from nothing";
  EXPECT_FALSE(watch.is_news(budget));
  EXPECT_FALSE(watch.is_news({.backlog_ns = 1333, .slot_credit = 75, .repair_bytes = 3000}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 100, .repair_bytes = 4000}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 74, .repair_bytes = 4000}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 74, .repair_bytes = 2999}));
  EXPECT_TRUE(watch.is_news({.backlog_ns = 1334, .slot_credit = 0, .repair_bytes = 2999}));
}

TEST(BudgetWatch, small_steps_add_up_to_news) {
  BudgetWatch watch;
  int told = 0;
  for (uint64_t credit = 1000; credit > 0; --credit) told += watch.is_news({.slot_credit = credit});
  EXPECT_GT(told, 10);
  EXPECT_LT(told, 40);
}

TEST(BudgetWatch, a_new_instance_is_told_anew) {
  BudgetWatch watch;
  EXPECT_TRUE(watch.is_news({.slot_credit = 5}));
  watch.forget();
  EXPECT_TRUE(watch.is_news({.slot_credit = 5}));
}

// ---- cookie map ----

TEST(CookieMap, does_what_an_unordered_map_of_bounded_size_does) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Prng prng(seed);
    constexpr size_t capacity = 16;
    CookieMap<uint64_t> map(capacity);
    std::unordered_map<uint64_t, uint64_t> model;
    for (int step = 0; step < 4000; ++step) {
      const uint64_t cookie = prng.below(40), value = prng.next();
      if (prng.below(2) == 0) {
        const bool fits = model.contains(cookie) || model.size() < capacity;
        ASSERT_EQ(map.try_set(cookie, value), fits) << seed;
        if (fits) model[cookie] = value;
      } else {
        map.remove(cookie);
        model.erase(cookie);
      }
      ASSERT_EQ(map.count(), model.size()) << seed;
      for (uint64_t each = 0; each < 40; ++each) {
        const uint64_t* found = map.find(each);
        ASSERT_EQ(found != nullptr, model.contains(each)) << seed;
        if (found != nullptr) {
          ASSERT_EQ(*found, model[each]) << seed;
        }
      }
    }
  }
}

// ---- gap ledger ----

TEST(GapLedger, names_the_slots_of_a_gap_across_the_wrap_of_psns) {
  GapLedger ledger;
  ledger.on_fresh(Psn(0xfffffe), {.place = 3, .seq = MessageSeq(5), .slot = 100});
  ledger.on_fresh(Psn(0x000002), {.place = 3, .seq = MessageSeq(5), .slot = 108});
  const auto found = ledger.find(Psn(0xffffff), 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->place, 3u);
  EXPECT_EQ(found->first, 102u);
  EXPECT_EQ(found->stride, 2u);
  EXPECT_EQ(found->count, 3u);
  EXPECT_EQ(ledger.find(Psn(0x000001), 1)->first, 106u) << "a part of the gap";
  EXPECT_FALSE(ledger.find(Psn(0x000001), 2)) << "more than the gap";
  EXPECT_FALSE(ledger.find(Psn(0xfffffe), 1)) << "before the gap";
}

TEST(GapLedger, claims_nothing_where_the_sender_jumped) {
  GapLedger ledger;
  ledger.on_fresh(Psn(10), {.seq = MessageSeq(1), .slot = 50});
  ledger.on_fresh(Psn(13), {.seq = MessageSeq(2), .slot = 3});
  EXPECT_FALSE(ledger.find(Psn(11), 2)) << "another message";
  ledger.on_fresh(Psn(16), {.seq = MessageSeq(2), .slot = 1});
  EXPECT_FALSE(ledger.find(Psn(14), 2)) << "a resend";
  ledger.on_fresh(Psn(19), {.seq = MessageSeq(2), .slot = 3});
  EXPECT_FALSE(ledger.find(Psn(17), 2)) << "two slots in three steps";
}

SentRun sent(uint32_t slot, uint32_t psn) {
  return {.first = slot, .count = 1, .stride = 1, .psn_first = Psn(psn)};
}

TEST(SentRuns, gathers_slots_of_one_stride_per_path_and_ends_a_run_at_a_jump) {
  SentRuns runs;
  std::vector<std::pair<uint16_t, SentRun>> told;
  const auto tell = [&](uint16_t path, const SentRun& run) { told.emplace_back(path, run); };
  for (uint32_t i = 0; i < 4; ++i) {
    runs.add(0, sent(2 * i, 0xfffffe + i), tell);
    runs.add(1, sent(2 * i + 1, i), tell);
  }
  EXPECT_TRUE(told.empty());
  runs.add(0, sent(50, 0x000002), tell);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].second.first, 0u);
  EXPECT_EQ(told[0].second.count, 4u);
  EXPECT_EQ(told[0].second.stride, 2u);
  runs.flush_all(tell);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[1].second.first, 50u);
  EXPECT_EQ(told[2].first, 1u);
  EXPECT_EQ(told[2].second.count, 4u);
  runs.flush_all(tell);
  EXPECT_EQ(told.size(), 3u) << "nothing is told twice";
}

// ---- outbox ----

// One packet after the other is taken while bytes are owed and packets are left.
RC_GTEST_PROP(RowLimit, is_what_packets_one_by_one_would_use_up, ()) {
  const RowLimit limit{.packets = *rc::gen::inRange(1u, 300u),
                       .bytes = *rc::gen::inRange<int64_t>(1, 100'000)};
  const uint32_t packet_bytes = *rc::gen::inRange(1u, 9000u);
  int64_t owed = limit.bytes;
  uint32_t taken = 0;
  while (owed > 0 && taken < limit.packets) {
    owed -= packet_bytes;
    ++taken;
  }
  RC_ASSERT(limit.packets_of(packet_bytes) == taken);
}

TEST(RowLimit, that_names_no_bytes_is_one_of_packets) {
  EXPECT_EQ(RowLimit{}.packets_of(9000), 1u);
  EXPECT_EQ(RowLimit{.packets = 256}.packets_of(9000), 256u);
}

// The pacer counts a row's cookies up by their stride.
RC_GTEST_PROP(SendTicket, of_a_later_slot_is_that_much_further_on, ()) {
  const auto below = [](uint32_t end) { return *rc::gen::inRange(0u, end); };
  const SendTicket first{.slot = below(1u << 20),
                         .place = below(1u << 10),
                         .qp = static_cast<uint16_t>(below(64)),
                         .life = static_cast<uint16_t>(below(1u << 12)),
                         .kind = static_cast<uint16_t>(below(3)),
                         .path_choice = static_cast<uint16_t>(below(3)),
                         .path = static_cast<uint16_t>(below(16))};
  SendTicket later = first;
  const uint32_t stride = below(1u << 10), count = below(1u << 10);
  later.slot += stride * count;
  RC_ASSERT(first.packed() + uint64_t{stride} * count == later.packed());
  RC_ASSERT(SendTicket::unpacked(later.packed()).packed() == later.packed());
}

TEST(Outbox, a_range_is_taken_off_in_rows) {
  LazyMemory memory;
  Outbox outbox(4, true, memory);
  ASSERT_TRUE(outbox.try_push({.kind = CW_SEND_DATA, .first = 10, .count = 7, .stride = 3}));
  outbox.advance(Priority::Data, 5);
  EXPECT_EQ(outbox.front(Priority::Data).first, 25u);
  EXPECT_EQ(outbox.front(Priority::Data).count, 2u);
  outbox.advance(Priority::Data, 2);
  EXPECT_TRUE(outbox.is_empty(Priority::Data));
}
using namespace cw::literals;

// ---- promises ----

struct Two {
  Two() {
    promises.share(portion);
    while (promises.has_room(UINT32_MAX)) promises.make();
  }
  Stock stock{60};
  Portion &portion = stock.join(), &other = stock.join();
  Promises promises;
  Instant now = Instant::from_ns(1'000'000'000);
};

TEST(Promises, of_what_is_its_own_are_made_at_once) {
  Two two;
  EXPECT_EQ(two.portion.held(), two.portion.own());
  two.promises.end();
  EXPECT_TRUE(two.promises.has_room(UINT32_MAX));
}

TEST(Promises, of_what_is_common_are_twice_what_was_begun_in_an_rtt) {
  Two two;
  EXPECT_TRUE(two.promises.has_room(0));
  EXPECT_FALSE(two.promises.has_room(1)) << "nothing was begun";
  for (int i = 0; i < 4; ++i) two.promises.on_begun(two.now, 20_ms);
  EXPECT_TRUE(two.promises.has_room(8));
  EXPECT_FALSE(two.promises.has_room(9));
  two.promises.on_begun(two.now + 20_ms, 20_ms);
  EXPECT_TRUE(two.promises.has_room(8)) << "while the next RTT is not over";
  two.promises.on_begun(two.now + 40_ms, 20_ms);
  EXPECT_FALSE(two.promises.has_room(3));
}

TEST(Promises, to_one_who_has_rested_begin_anew) {
  Two two;
  for (int i = 0; i < 8; ++i) two.promises.on_begun(two.now, 20_ms);
  two.promises.on_begun(two.now + 40_ms, 20_ms);
  EXPECT_TRUE(two.promises.has_room(2));
  EXPECT_FALSE(two.promises.has_room(3));
}

TEST(Promises, end_where_there_is_no_more) {
  Two two;
  while (two.other.has_room(1)) two.other.take();
  EXPECT_FALSE(two.promises.has_room(0));
  two.promises.reset(static_cast<uint32_t>(two.portion.held()));
  EXPECT_EQ(two.portion.held(), 0u);
}

// ---- transmitter ----

std::vector<uint16_t> take(Transmitter& transmitter, size_t count) {
  std::vector<uint16_t> paths(count);
  for (uint16_t& path : paths) path = transmitter.choose(CW_CHOOSE_ANY, 0, 0);
  return paths;
}

TEST(Transmitter, takes_paths_in_turn) {
  Transmitter transmitter(3);
  EXPECT_EQ(take(transmitter, 7), (std::vector<uint16_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Transmitter, spreads_by_weight_and_as_evenly_as_that_allows) {
  const std::array<uint8_t, 3> weights{4, 2, 1};
  Transmitter transmitter(3, weights);
  EXPECT_EQ(take(transmitter, 7), (std::vector<uint16_t>{0, 1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(take(transmitter, 2), (std::vector<uint16_t>{0, 1}));
}

TEST(Transmitter, leaves_out_what_is_down_and_keeps_the_others_weights) {
  const std::array<uint8_t, 3> weights{4, 2, 1};
  Transmitter transmitter(3, weights);
  take(transmitter, 5);
  transmitter.set_up(0b110);
  std::map<uint16_t, int> counts;
  for (const uint16_t path : take(transmitter, 300)) ++counts[path];
  EXPECT_EQ(counts, (std::map<uint16_t, int>{{1, 200}, {2, 100}}));
  EXPECT_FALSE(transmitter.is_up(0));
  EXPECT_FALSE(transmitter.is_up(3));
}

TEST(Transmitter, takes_the_path_that_is_asked_for_while_it_is_up) {
  Transmitter transmitter(2);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_ID, 1, 0), 1);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_ID, 1, 0), 1);
  transmitter.set_up(0b01);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_ID, 1, 0), 0);
}

TEST(Transmitter, avoids_the_last_path_where_there_is_another) {
  const std::array<uint8_t, 2> weights{16, 1};
  Transmitter transmitter(2, weights);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(transmitter.choose(CW_CHOOSE_NOT_LAST, 0, 0), 1);
  transmitter.set_up(0b01);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_NOT_LAST, 0, 0), 0);
}

TEST(Transmitter, counts_what_took_a_path_over_all_channels) {
  Transmitter transmitter(2);
  for (int i = 0; i < 5; ++i) transmitter.take_psn(0, 1);
  for (int i = 0; i < 3; ++i) transmitter.take_psn(2, 1);
  EXPECT_EQ(transmitter.sent(0), 0u);
  EXPECT_EQ(transmitter.sent(1), 8u);
  transmitter.restart_psns();
  EXPECT_EQ(transmitter.sent(1), 0u);
}

}  // namespace

}  // namespace cw::sdr
