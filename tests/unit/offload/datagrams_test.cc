#include "offload/stage/datagrams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "offload/stage/line_memory.h"
#include "offload/stage/pinned_threads.h"
#include "tests/unit/offload/stripes.h"

namespace cw {
namespace {

using Events = std::vector<cw_bits_event>;

/// Memory of this process, and rows that it runs itself.
class Host {
 public:
  Stripes::Allocate allocate() {
    return [this](size_t bytes) { return memory_.emplace_back(bytes).get(); };
  }
  static void serve(const Stripes& stripes) {
    for (cw_bits_row* const row : stripes.rows()) {
      while (cw_bits_serve(row) > 0) {
      }
    }
  }

 private:
  std::deque<LineMemory> memory_;
};

std::string memory_of(const Stripes& stripes, const StripedStep& step) {
  return {reinterpret_cast<const char*>(stripes.memory()), step.part_bytes * step.sources};
}

size_t count_of(const Events& events, uint8_t kind) {
  return static_cast<size_t>(
      std::ranges::count_if(events, [&](const auto& e) { return e.about.kind == kind; }));
}

/// Whether the slots of a chunk are all in.
bool is_whole(const std::vector<bool>& in, uint32_t chunk, uint32_t chunk_slots) {
  const size_t end = std::min<size_t>(in.size(), size_t{chunk + 1} * chunk_slots);
  return std::find(in.begin() + chunk * chunk_slots, in.begin() + static_cast<ptrdiff_t>(end),
                   false) == in.begin() + static_cast<ptrdiff_t>(end);
}

TEST(Datagrams, land_once_in_any_order_and_a_chunk_is_told_when_it_is_whole) {
  Prng prng(1);
  for (const uint32_t stripes_count : {1, 2, 3, 7}) {
    for (const uint32_t chunk_slots : {1, 4, 64}) {
      Host host;
      Stripes stripes({.stripes = stripes_count, .chunk_slots = chunk_slots}, host.allocate());
      const StripedStep step{.part_bytes = 1 + prng.below(300 * 64)};
      stripes.open(step);
      std::vector<bool> in(step.slots().count());
      Events events;
      const auto arrivals = arrivals_of(step, prng);
      for (const uint32_t slot : arrivals) {
        ASSERT_TRUE(stripes.try_put(step, slot));
        if (prng.chance(0.9)) {
          Host::serve(stripes);
          stripes.take(events);
        }
        in[slot] = true;
        const uint32_t chunk = slot / chunk_slots;
        if (stripes.is_done()) {
          EXPECT_EQ(stripes.has_chunk(chunk), is_whole(in, chunk, chunk_slots));
        }
      }
      Host::serve(stripes);
      stripes.take(events);
      for (uint32_t slot = 0; slot < in.size(); ++slot) EXPECT_TRUE(stripes.has_slot(slot));
      EXPECT_EQ(count_of(events, CW_DATAGRAMS_PLACED), in.size());
      EXPECT_EQ(count_of(events, CW_DATAGRAMS_DUPLICATE), arrivals.size() - in.size());
      EXPECT_EQ(memory_of(stripes, step), whole_memory(step));
    }
  }
}

TEST(Datagrams, that_others_copy_are_told_with_their_place) {
  Host host;
  Stripes stripes({.stripes = 2}, host.allocate());
  const StripedStep step{.part_bytes = 1001};
  stripes.open(step, /*is_copied_by_others=*/true);
  for (uint32_t slot = 0; slot < step.slots().count(); ++slot) {
    ASSERT_TRUE(stripes.try_put(step, slot));
  }
  Host::serve(stripes);
  EXPECT_NE(memory_of(stripes, step), whole_memory(step));
  Events events;
  stripes.take(events);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_COPY), step.slots().count());
  EXPECT_EQ(memory_of(stripes, step), whole_memory(step));
}

TEST(Datagrams, by_another_stripe_than_their_slots_are_refused) {
  Host host;
  Stripes stripes({.stripes = 2}, host.allocate());
  const StripedStep step{.part_bytes = 100 * 64};
  stripes.open(step);
  const group::Header header = step.header(64);
  ASSERT_TRUE(stripes.try_put(0, header, payload_of(step, 64), header.immediate()));
  Host::serve(stripes);
  Events events;
  stripes.take(events);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_SLOT), 1U);
  EXPECT_FALSE(stripes.has_slot(64));
}

TEST(Datagrams, of_a_closed_step_land_nowhere_and_the_next_one_begins_empty) {
  Host host;
  Stripes stripes({.stripes = 1}, host.allocate());
  StripedStep step{.part_bytes = 64};
  EXPECT_EQ(step.slots().count(), 8U);
  Events events;
  ASSERT_TRUE(stripes.try_put(step, 0));
  Host::serve(stripes);
  stripes.take(events);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_CLOSED), 1U);
  stripes.open(step);
  ASSERT_TRUE(stripes.try_put(step, 0));
  stripes.close();
  ASSERT_TRUE(stripes.try_put(step, 1));
  Host::serve(stripes);
  EXPECT_FALSE(stripes.has_slot(1));
  const StripedStep old = std::exchange(step, {.part_bytes = 64, .step = step.step + 1});
  stripes.open(step);
  ASSERT_TRUE(stripes.try_put(old, 0));
  Host::serve(stripes);
  stripes.take(events);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_CLOSED), 3U);
  EXPECT_FALSE(stripes.has_slot(0));
}

TEST(Datagrams, land_from_threads_of_their_own_each_stripe) {
  Prng prng(2);
  auto threads = std::make_unique<PinnedThreads>(std::vector<int>{});
  Stripes stripes({.stripes = 4, .slots_max = 16384, .chunk_slots = 8},
                  [&](size_t bytes) { return threads->allocate(bytes); });
  const StripedStep step{.part_bytes = 64 * 2000};
  ASSERT_TRUE(threads->start(stripes.rows()));
  stripes.open(step);
  Events events;
  const std::string whole = whole_memory(step);
  const auto arrivals = arrivals_of(step, prng);
  for (const uint32_t slot : arrivals) {
    while (!stripes.try_put(step, slot)) {
      stripes.take(events);
      std::this_thread::yield();
    }
    threads->ring(stripes.stripe_of(slot));
    // Who sees a chunk sees its bytes.
    const uint64_t chunk = prng.below(step.slots().count() / 8);
    if (!stripes.has_chunk(static_cast<uint32_t>(chunk))) continue;
    const size_t at = step.slots().offset_of(static_cast<uint32_t>(chunk * 8));
    EXPECT_EQ(std::memcmp(stripes.memory() + at, whole.data() + at, 8 * 64), 0);
  }
  while (!stripes.is_done()) {
    stripes.take(events);
    std::this_thread::yield();
  }
  stripes.take(events);
  const uint32_t slots = step.slots().count();
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_PLACED), slots);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_DUPLICATE), arrivals.size() - slots);
  for (uint32_t slot = 0; slot < slots; ++slot) ASSERT_TRUE(stripes.has_slot(slot));
  for (uint32_t chunk = 0; chunk < slots / 8; ++chunk) ASSERT_TRUE(stripes.has_chunk(chunk));
  EXPECT_EQ(memory_of(stripes, step), whole);
  threads.reset();
}

// ---- the same checks as everybody's ----

/// A header that is right but for a field or two, or for none.
group::Header nearly_right(const StripedStep& step, Prng& prng) {
  group::Header header = step.header(static_cast<uint32_t>(prng.below(step.slots().count() + 1)) %
                                     step.slots().count());
  for (uint64_t i = prng.below(3); i > 0; --i) {
    const auto any = static_cast<uint32_t>(prng.below(10));
    switch (prng.below(10)) {
      case 0:
        header.kind = static_cast<group::Kind>(any % 16);
        break;
      case 1:
        header.is_last_slot = any % 2 != 0;
        break;
      case 2:
        header.source = static_cast<uint16_t>(any);
        break;
      case 3:
        header.key = any % 2 != 0 ? StripedStep::own_key : StripedStep::group_key;
        break;
      case 4:
        header.step = header.step + (any % 2 != 0 ? 256 : any);
        break;
      case 5:
        header.message = any;
        break;
      case 6:
        header.slot = any * 3;
        break;
      case 7:
        header.message_slots = any;
        break;
      case 8:
        header.source_slots = any;
        break;
      default:
        header.resends = static_cast<uint8_t>(any % 2);
        break;
    }
  }
  return header;
}

const std::map<WireError, uint8_t> reasons = {
    {WireError::GroupShort, CW_DATAGRAMS_SHORT}, {WireError::GroupVersion, CW_DATAGRAMS_VERSION},
    {WireError::GroupKind, CW_DATAGRAMS_KIND},   {WireError::GroupKey, CW_DATAGRAMS_KEY},
    {WireError::GroupOwn, CW_DATAGRAMS_OWN},     {WireError::GroupSource, CW_DATAGRAMS_SOURCE},
    {WireError::GroupStep, CW_DATAGRAMS_STEP},   {WireError::GroupClosed, CW_DATAGRAMS_CLOSED},
    {WireError::GroupSlot, CW_DATAGRAMS_SLOT},   {WireError::GroupLength, CW_DATAGRAMS_LENGTH}};

TEST(Datagrams, are_dropped_for_the_reasons_that_every_receiver_has) {
  Prng prng(3);
  Host host;
  Stripes stripes({.stripes = 1}, host.allocate());
  const StripedStep step{.part_bytes = 150};
  const group::Slots slots = step.slots();
  const group::Member self{StripedStep::group_key, StripedStep::own_key, StripedStep::members,
                           StripedStep::rank};
  stripes.open(step);
  Host::serve(stripes);
  Events events;
  stripes.take(events);
  std::map<uint8_t, size_t> seen;
  for (int i = 0; i < 20'000; ++i) {
    const group::Header header = nearly_right(step, prng);
    std::vector<uint8_t> payload(prng.chance(0.9) ? slots.bytes_of(header.slot % slots.count())
                                                  : prng.below(80));
    const uint32_t immediate = header.immediate() ^ (prng.chance(0.05) ? 1u << 24 : 0);
    std::vector<uint8_t> packet(group::header_bytes);
    group::encode_header(header, packet);
    group::Header read;
    const auto error = group::check(
        immediate, packet, payload.size(), self,
        [&](const group::Header& h) {
          return h.step == step.step && h.message == 0 ? &slots : nullptr;
        },
        read);
    ASSERT_TRUE(stripes.try_put(0, header, payload, immediate));
    Host::serve(stripes);
    events.clear();
    stripes.take(events);
    ASSERT_EQ(events.size(), 1U);
    const uint8_t kind = events[0].about.kind;
    ++seen[kind];
    if (error) {
      ASSERT_EQ(kind, reasons.at(*error));
    } else {
      ASSERT_TRUE(kind == CW_DATAGRAMS_PLACED || kind == CW_DATAGRAMS_DUPLICATE);
    }
  }
  // Placed, duplicate, and all reasons but two, for which a header cannot be whole.
  EXPECT_EQ(seen.size(), 2 + reasons.size() - 2);
}

TEST(Datagrams, shorter_than_their_header_or_of_another_version_are_dropped) {
  Host host;
  Stripes stripes({.stripes = 1}, host.allocate());
  const StripedStep step{.part_bytes = 64};
  stripes.open(step);
  Host::serve(stripes);
  cw_bits_row* const row = stripes.rows()[0];
  ASSERT_TRUE(stripes.try_put(step, 0));
  ASSERT_TRUE(stripes.try_put(step, 1));
  cw_bits_records(row)[1].generation = 31;
  auto* const second = reinterpret_cast<uint8_t*>(row) + row->buffers_offset +
                       size_t{cw_bits_records(row)[2].stream} * row->buffers_stride;
  second[0] = 0x21;
  Host::serve(stripes);
  Events events;
  stripes.take(events);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_SHORT), 1U);
  EXPECT_EQ(count_of(events, CW_DATAGRAMS_VERSION), 1U);
}

TEST(Datagrams, have_no_landing_that_makes_no_sense) {
  EXPECT_EQ(cw_landing_size(0, 1, 16), 0U);
  EXPECT_EQ(cw_landing_size(1, 0, 16), 0U);
  EXPECT_EQ(cw_landing_size(1, CW_DATAGRAMS_STRIPES_MAX + 1, 16), 0U);
  EXPECT_EQ(cw_landing_size(1, 1, 3), 0U);
  EXPECT_EQ(cw_landing_size(1, 1, 128), 0U);
  Host host;
  Stripes stripes({.stripes = 1, .slots_max = 8}, host.allocate());
  const cw_datagrams_shape shape = StripedStep{.part_bytes = 65}.shape(false);
  EXPECT_EQ(cw_landing_shape(stripes.landing(), &shape, stripes.memory()), -1);
}

}  // namespace
}  // namespace cw
