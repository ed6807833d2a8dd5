// The same records through a hart of the emulated DPA and through this processor: the same events,
// the same memory.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <thread>

#include "tests/unit/offload/dpa_rows.h"

namespace cw {
namespace {

using namespace std::chrono_literals;

/// Rows of a machine, each with a hart of its own.
class Machine {
 public:
  explicit Machine(uint32_t harts, RingSizes rings = {}, const Streams& streams = small_streams())
      : dpa_(dpa_of(harts)) {
    if (!dpa_) return;
    std::vector<cw_bits_row*> pointers;
    for (uint32_t i = 0; i < harts; ++i) {
      rows_.emplace_back(streams, rings, [&](size_t bytes) { return dpa_->allocate(bytes); });
      pointers.push_back(rows_.back().get());
    }
    const auto started = dpa_->start(pointers);
    is_up_ = started.has_value();
    EXPECT_TRUE(is_up_) << started.error().sentence;
  }
  bool is_up() const { return is_up_; }
  EmulatedDpa& dpa() { return *dpa_; }
  OwnedRow& row(size_t i) { return rows_[i]; }

 private:
  std::unique_ptr<EmulatedDpa> dpa_;
  std::vector<OwnedRow> rows_;
  bool is_up_ = false;
};

/// Events of both may come in other bursts.
void expect_as_on_host(const OwnedRow& row, const Events& events, const Records& records) {
  HostRow host(small_streams(), {});
  const Told here = told_by(host.run(records), small_streams());
  const Told there = told_by(events, small_streams());
  EXPECT_EQ(there.told_twice, 0U);
  EXPECT_EQ(there.records, here.records);
  EXPECT_TRUE(there.placed == here.placed);
  EXPECT_TRUE(there.others == here.others);
  EXPECT_TRUE(row.arena_bytes() == host.owned().arena_bytes());
}

bool stands_still(OwnedRow& row) {
  const uint32_t head = row.head();
  std::this_thread::sleep_for(50ms);
  return row.head() == head;
}

TEST(Dpa, TellsExactlyWhatTheHostTellsOfTheSameBursts) {
  Machine machine(1);
  ASSERT_TRUE(machine.is_up());
  HostRow host(small_streams(), {});
  const Records records = random_records(small_streams(), 1, 20'000);
  Prng prng(2);
  for (size_t at = 0; at < records.size();) {
    const size_t count = std::min<size_t>(prng.between(1, CW_BITS_BURST), records.size() - at);
    const std::span burst(records.data() + at, count);
    const Events here = host.run(burst);
    Events there;
    ASSERT_TRUE(pump(machine.row(0), burst, there, count));
    ASSERT_EQ(there.size(), here.size()) << "burst at " << at;
    for (size_t i = 0; i < here.size(); ++i) {
      ASSERT_EQ(number_of(there[i].about), number_of(here[i].about)) << "burst at " << at;
      ASSERT_EQ(there[i].bits, here[i].bits) << "burst at " << at;
    }
    at += count;
  }
  EXPECT_TRUE(machine.row(0).arena_bytes() == host.owned().arena_bytes());
}

TEST(Dpa, ScriptsReachEveryEventThereIs) {
  HostRow host(small_streams(), {});
  std::map<int, uint64_t> kinds;
  for (const cw_bits_event& event : host.run(random_records(small_streams(), 3, 100'000))) {
    ++kinds[event.about.kind];
  }
  for (int kind = CW_BITS_PLACED; kind <= CW_BITS_REFUSED; ++kind) {
    EXPECT_GT(kinds[kind], 50U) << "kind " << kind;
  }
}

TEST(Dpa, HartsThatRaceDoNotDisturbEachOther) {
  constexpr uint32_t harts = 4;
  constexpr size_t each = 260'000;
  Machine machine(harts, {.records = 1024, .events = 512});
  ASSERT_TRUE(machine.is_up());
  std::vector<Records> records(harts);
  std::vector<Events> events(harts);
  std::vector<std::thread> owners;
  std::vector<char> are_through(harts);
  for (uint32_t i = 0; i < harts; ++i) {
    records[i] = random_records(small_streams(), 10 + i, each);
    owners.emplace_back([&, i] {
      are_through[i] = pump(machine.row(i), records[i], events[i], 100 + 300 * i) ? 1 : 0;
    });
  }
  for (std::thread& owner : owners) owner.join();
  for (uint32_t i = 0; i < harts; ++i) {
    ASSERT_TRUE(are_through[i]) << "hart " << i << ", state " << machine.dpa().state(i);
    expect_as_on_host(machine.row(i), events[i], records[i]);
  }
}

TEST(Dpa, LosesNothingWhileNobodyTakesEvents) {
  constexpr uint32_t room = 64;
  Machine machine(1, {.records = 4096, .events = room});
  ASSERT_TRUE(machine.is_up());
  OwnedRow& row = machine.row(0);
  // Each of another id, so that each is an event of its own.
  Records records;
  for (uint32_t i = 0; i < 4000; ++i) {
    records.push_back(record(CW_BITS_PACKET, 0, 1, i % 16 << 22));
  }
  ASSERT_EQ(row.put(records), records.size());
  ASSERT_TRUE(comes_true([&] { return row.head() == room; }));
  EXPECT_TRUE(stands_still(row));
  Events events;
  ASSERT_TRUE(pump(row, {}, events, 1));
  EXPECT_EQ(events.size(), records.size());
  expect_as_on_host(row, events, records);
}

TEST(Dpa, AHaltedHartGoesOnWhereItStopped) {
  Machine machine(2);
  ASSERT_TRUE(machine.is_up());
  OwnedRow& row = machine.row(0);
  const Records records = random_records(small_streams(), 20, 200'000);
  Events events;
  std::span<const cw_bits_record> rest(records);
  for (int i = 0; i < 10; ++i) {
    rest = rest.subspan(row.put(rest));
    machine.dpa().set_halted(0, true);
    ASSERT_TRUE(comes_true([&] { return machine.dpa().state(0) == CW_DPA_HALTED; }));
    rest = rest.subspan(row.put(rest));
    EXPECT_FALSE(row.is_done());
    EXPECT_TRUE(stands_still(row));
    EXPECT_EQ(machine.dpa().state(1), uint32_t{CW_DPA_RUNNING});
    row.take(events);
    machine.dpa().set_halted(0, false);
  }
  ASSERT_TRUE(pump(row, rest, events, rest.size()));
  expect_as_on_host(row, events, records);
}

TEST(Dpa, AMachineThatStoodStillGoesOn) {
  Machine machine(1);
  ASSERT_TRUE(machine.is_up());
  OwnedRow& row = machine.row(0);
  const Records records = random_records(small_streams(), 30, 100'000);
  std::span<const cw_bits_record> rest(records);
  Events events;
  kill(machine.dpa().pid(), SIGSTOP);
  std::this_thread::sleep_for(20ms);
  rest = rest.subspan(row.put(rest));
  EXPECT_TRUE(stands_still(row));
  kill(machine.dpa().pid(), SIGCONT);
  ASSERT_TRUE(pump(row, rest, events, rest.size()));
  expect_as_on_host(row, events, records);
}

TEST(Dpa, AHartWhoseRowHasEndedParks) {
  Machine machine(2);
  ASSERT_TRUE(machine.is_up());
  const Records records = random_records(small_streams(), 40, 1'000);
  ASSERT_EQ(machine.row(0).put(records), records.size());
  machine.row(0).end();
  ASSERT_TRUE(comes_true([&] { return machine.dpa().state(0) == CW_DPA_PARKED; }));
  Events events;
  machine.row(0).take(events);
  expect_as_on_host(machine.row(0), events, records);
  EXPECT_EQ(machine.dpa().state(1), uint32_t{CW_DPA_RUNNING});
}

TEST(Dpa, AHartThatSleepsFindsWhatCame) {
  Machine machine(1);
  ASSERT_TRUE(machine.is_up());
  const Records records = random_records(small_streams(), 50, 320);
  Events events;
  for (size_t at = 0; at < records.size(); at += 64) {
    std::this_thread::sleep_for(100ms);
    ASSERT_TRUE(pump(machine.row(0), std::span(records).subspan(at, 64), events, 64));
  }
  expect_as_on_host(machine.row(0), events, records);
}

TEST(Dpa, AnExceptionStopsOneHartAndIsTold) {
  auto dpa = dpa_of(2);
  ASSERT_TRUE(dpa);
  const auto allocate = [&](size_t bytes) { return dpa->allocate(bytes); };
  OwnedRow bad(small_streams(), {}, allocate), good(small_streams(), {}, allocate);
  // An arena where the machine has no memory.
  cw_bits_row_add(bad.get(), 0, reinterpret_cast<char*>(bad.get()) + (int64_t{1} << 40));
  const std::array rows = {bad.get(), good.get()};
  ASSERT_TRUE(dpa->start(rows));
  const Records records = random_records(small_streams(), 60, 10'000);
  bad.put(std::array{record(CW_BITS_PACKET, 0, 1, 0)});
  EXPECT_TRUE(comes_true([&] { return dpa->state(0) == CW_DPA_FAULTED; }));
  EXPECT_FALSE(bad.is_done());
  Events events;
  ASSERT_TRUE(pump(good, records, events, records.size()));
  expect_as_on_host(good, events, records);
}

}  // namespace
}  // namespace cw
