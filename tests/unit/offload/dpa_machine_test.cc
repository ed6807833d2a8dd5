// The emulated DPA as a process: what is said when it cannot be had, and that nothing is left of
// it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/unit/offload/dpa_rows.h"

namespace cw {
namespace {

using namespace std::chrono_literals;

std::string why_not(const EmulatedDpaOptions& options) {
  auto made = EmulatedDpa::make(options);
  return made ? "" : made.error().sentence;
}

testing::AssertionResult says(const std::string& sentence, const std::string& part) {
  if (sentence.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << sentence << "\" lacks \"" << part << '"';
}

/// Nobody runs as `pid`, be it that its last parent has not looked yet.
bool is_gone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return true;
  return stat.substr(stat.rfind(')')).starts_with(") Z");
}

TEST(DpaMachine, SaysWhatToInstallWhenTheEmulatorIsMissing) {
  EmulatedDpaOptions options = dpa_options(1);
  options.emulator = "qemu-system-of-nobody";
  EXPECT_TRUE(says(why_not(options), "qemu-system-of-nobody"));
  EXPECT_TRUE(says(why_not(options), "install qemu-system-misc"));
}

TEST(DpaMachine, SaysWhatToInstallWhenItsProgramIsMissing) {
  EmulatedDpaOptions options = dpa_options(1);
  options.program = "/nowhere/causeway-dpa.elf";
  EXPECT_TRUE(says(why_not(options), options.program));
  EXPECT_TRUE(says(why_not(options), "install gcc-riscv64-linux-gnu"));
}

TEST(DpaMachine, PassesOnWhatTheEmulatorSaysWhenItEnds) {
  EmulatedDpaOptions options = dpa_options(1);
  options.emulator = "ls";  // which knows none of the arguments
  EXPECT_TRUE(says(why_not(options), "ended by itself: Try 'ls --help'"));
}

TEST(DpaMachine, RefusesWhatItCannotDo) {
  EXPECT_TRUE(says(why_not(dpa_options(0)), "1 to 256"));
  EXPECT_TRUE(says(why_not(dpa_options(257)), "1 to 256"));
  EmulatedDpaOptions options = dpa_options(2);
  options.counts_instructions = true;
  EXPECT_TRUE(says(why_not(options), "one hart only"));
  options = dpa_options(1);
  options.memory_bytes = 1 << 20;
  EXPECT_TRUE(says(why_not(options), "32 to 2048"));
  options.memory_bytes = (64 << 20) + 1;
  EXPECT_TRUE(says(why_not(options), "whole MiB"));
}

TEST(DpaMachine, RefusesMoreRowsThanHartsAndRowsOfOthers) {
  for (const size_t count : {1, 2}) {
    auto dpa = dpa_of(1);
    ASSERT_TRUE(dpa);
    const auto allocate = [&](size_t bytes) { return dpa->allocate(bytes); };
    OwnedRow row(small_streams(), {}, allocate);
    HostRow other(small_streams(), {});
    const std::array rows = {count == 1 ? other.owned().get() : row.get(), row.get()};
    const auto started = dpa->start(std::span(rows).first(count));
    ASSERT_FALSE(started);
    EXPECT_TRUE(says(started.error().sentence,
                     count == 1 ? "does not lie in its memory" : "as many harts as rows"));
  }
}

TEST(DpaMachine, HandsOutItsMemoryInLinesOfZerosUntilThereIsNoMore) {
  auto dpa = dpa_of(1);
  ASSERT_TRUE(dpa);
  const char* end = nullptr;
  size_t sum = 0;
  for (size_t bytes = 1; auto* memory = static_cast<char*>(dpa->allocate(bytes)); bytes *= 3) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % CW_BITS_LINE, 0U);
    EXPECT_GE(memory, end);
    EXPECT_EQ(std::count(memory, memory + bytes, '\0'), static_cast<ptrdiff_t>(bytes));
    end = memory + bytes;
    sum += bytes;
  }
  EXPECT_GT(sum, size_t{16} << 20);
  EXPECT_EQ(dpa->allocate(SIZE_MAX), nullptr);
  EXPECT_NE(dpa->allocate(64), nullptr);
}

TEST(DpaMachine, HartsWithoutARowPark) {
  auto dpa = dpa_of(3);
  ASSERT_TRUE(dpa);
  OwnedRow row(small_streams(), {}, [&](size_t bytes) { return dpa->allocate(bytes); });
  ASSERT_TRUE(dpa->start(std::array{row.get()}));
  EXPECT_TRUE(
      comes_true([&] { return dpa->state(1) == CW_DPA_PARKED && dpa->state(2) == CW_DPA_PARKED; }));
  EXPECT_EQ(dpa->state(0), uint32_t{CW_DPA_RUNNING});
}

TEST(DpaMachine, LeavesNoProcess) {
  auto dpa = dpa_of(2);
  ASSERT_TRUE(dpa);
  const pid_t pid = dpa->pid();
  EXPECT_EQ(kill(pid, 0), 0);
  dpa.reset();
  EXPECT_EQ(kill(pid, 0), -1);
  // Not even when it does not listen.
  dpa = dpa_of(1);
  ASSERT_TRUE(dpa);
  const pid_t deaf = dpa->pid();
  kill(deaf, SIGSTOP);
  dpa.reset();
  EXPECT_EQ(kill(deaf, 0), -1);
}

TEST(DpaMachine, WhoseEmulatorIsKilledStandsStill) {
  auto dpa = dpa_of(2);
  ASSERT_TRUE(dpa);
  const auto allocate = [&](size_t bytes) { return dpa->allocate(bytes); };
  OwnedRow first(small_streams(), {}, allocate), second(small_streams(), {}, allocate);
  ASSERT_TRUE(dpa->start(std::array{first.get(), second.get()}));
  const Records records = random_records(small_streams(), 70, 5'000);
  Events events;
  ASSERT_TRUE(pump(first, records, events, records.size()));
  const pid_t pid = dpa->pid();
  kill(pid, SIGKILL);
  ASSERT_TRUE(comes_true([&] { return is_gone(pid); }));
  const uint32_t head = first.head();
  EXPECT_GT(first.put(records), 0U);
  dpa->ring(0);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(first.head(), head);
  EXPECT_NE(dpa->allocate(4096), nullptr);
  dpa.reset();
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(DpaMachine, EndsWithItsProcess) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto dpa = EmulatedDpa::make(dpa_options(1));
    const pid_t emulator = dpa ? (*dpa)->pid() : 0;
    if (write(pipe_ends[1], &emulator, sizeof(emulator)) > 0) raise(SIGKILL);
    _exit(1);
  }
  pid_t emulator = 0;
  ASSERT_EQ(read(pipe_ends[0], &emulator, sizeof(emulator)), ssize_t{sizeof(emulator)});
  ASSERT_NE(emulator, 0);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return is_gone(emulator); }));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace
}  // namespace cw
