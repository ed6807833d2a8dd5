// Coding beside the turn: nothing is lost, and what a turn itself computes stays within its budget
// however slow a codec is.
#include "offload/coding/code_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/codec/rows.h"

namespace cw {
namespace {
using namespace codec_test;

Coder make_coder(const cw_codec_ops& ops, const CodeShape& shape) {
  auto made = Coder::make(ops, shape);
  EXPECT_TRUE(made) << made.error().sentence;
  return std::move(*made);
}

std::unique_ptr<CodeExecutor> make_executor(std::span<const Coder* const> coders,
                                            const CodeExecutorOptions& options) {
  auto made = CodeExecutor::make(coders, options);
  EXPECT_TRUE(made) << made.error().sentence;
  return std::move(*made);
}

/// Encodes rows of two shapes, loses two shards of each, and rebuilds them.
void expect_all_rebuilt(const CodeExecutorOptions& options) {
  const Coder large = make_coder(*cw_codec_rs(), {16, 4, 1024});
  const Coder small = make_coder(*cw_codec_xor(), {4, 2, 64});
  const Coder* const coders[] = {&large, &small};
  const auto executor = make_executor(coders, options);
  constexpr uint32_t rows = 200;
  std::vector<Row> all;
  std::vector<std::vector<cw_shard>> data, repair;
  std::vector<Arrival> arrivals;
  for (uint32_t n = 0; n < rows; ++n) {
    const CodeShape& shape = coders[n % 2]->shape();
    all.emplace_back(shape, n);
    data.push_back(all[n].all_data());
    repair.push_back(all[n].all_repair());
    arrivals.emplace_back(all[n], shape, [](uint32_t s) { return s != 1 && s != 2; });
  }
  for (const bool is_decode : {false, true}) {
    std::vector<CodeJob> jobs;
    for (uint32_t n = 0; n < rows; ++n) {
      jobs.push_back({n, n % 2, is_decode, is_decode ? arrivals[n].present : data[n],
                      is_decode ? arrivals[n].wanted : repair[n]});
    }
    std::set<uint64_t> done;
    for (size_t taken = 0; done.size() < rows;) {
      executor->begin_turn();
      taken += executor->submit(std::span(jobs).subspan(taken));
      CodeDone results[7];
      for (size_t i = 0, count = executor->poll(results); i < count; ++i) {
        EXPECT_EQ(results[i].result.coded, Coded::Done);
        EXPECT_TRUE(done.insert(results[i].cookie).second);
      }
    }
  }
  EXPECT_EQ(executor->inline_count() + executor->handed_count(), 2u * rows);
  for (const Row& row : all) EXPECT_TRUE(row.is_rebuilt(1) && row.is_rebuilt(2));
}

TEST(CodeExecutor, codes_every_row_wherever_it_runs) {
  expect_all_rebuilt({});
  expect_all_rebuilt({.turn_work_max = 0, .threads = 2, .jobs_max = 4});
  expect_all_rebuilt({.turn_work_max = 70'000, .threads = 1, .jobs_max = 2});
  expect_all_rebuilt({.turn_work_max = 70'000, .threads = 0, .jobs_max = 8});
  expect_all_rebuilt({.turn_work_max = 1, .threads = 0, .jobs_max = 1});
}

TEST(CodeExecutor, a_coder_may_become_another_between_two_jobs) {
  const cw_codec_ops* const codecs[] = {cw_codec_rs(), cw_codec_xor()};
  auto room = Coder::make_room(codecs, {16, 4, 1024});
  ASSERT_TRUE(room);
  Coder& coder = *room;
  const Coder* const coders[] = {&coder};
  for (const uint64_t turn_work_max : {uint64_t{0}, uint64_t{1} << 30}) {
    const auto executor =
        make_executor(coders, {.turn_work_max = turn_work_max, .threads = 1, .jobs_max = 4});
    // The ids of what is there are the same each time: no solution of a former shape may serve.
    for (const auto& [ops, shape] :
         std::initializer_list<std::pair<const cw_codec_ops*, CodeShape>>{
             {codecs[0], {16, 4, 1024}},
             {codecs[1], {16, 4, 1024}},
             {codecs[0], {16, 3, 512}},
             {codecs[0], {5, 4, 1024}},
             {codecs[1], {16, 2, 64}},
             {codecs[0], {16, 4, 1024}}}) {
      ASSERT_TRUE(coder.try_become(*ops, shape));
      const Row row(shape, 3);
      const auto data = row.all_data(), repair = row.all_repair();
      const Arrival arrival(row, shape, [](uint32_t s) { return s != 1 && s != 2; });
      for (const CodeJob& job : {CodeJob{1, 0, false, data, repair},
                                 CodeJob{2, 0, true, arrival.present, arrival.wanted}}) {
        executor->begin_turn();
        ASSERT_EQ(executor->submit({&job, 1}), 1u);
        CodeDone done;
        while (executor->poll({&done, 1}) == 0) std::this_thread::yield();
        EXPECT_EQ(done.result.coded, Coded::Done);
      }
      EXPECT_TRUE(row.is_rebuilt(1) && row.is_rebuilt(2));
    }
  }
  EXPECT_FALSE(coder.try_become(*codecs[0], {17, 4, 1024})) << "there is no memory for it";
  EXPECT_FALSE(coder.try_become(*codecs[0], {0, 4, 1024}));
  EXPECT_EQ(coder.shape().k, 16u) << "it is as it was";
}

TEST(CodeExecutor, says_what_went_wrong_with_a_row) {
  const Coder coder = make_coder(*cw_codec_rs(), {4, 2, 64});
  const Coder* const coders[] = {&coder};
  const auto executor = make_executor(coders, {.threads = 0});
  const Row row(coder.shape(), 1);
  const cw_shard present[] = {row.data(0)}, wanted[] = {row.rebuilt(1)};
  const CodeJob job{7, 0, true, present, wanted};
  executor->begin_turn();
  ASSERT_EQ(executor->submit({&job, 1}), 1u);
  CodeDone done;
  ASSERT_EQ(executor->poll({&done, 1}), 1u);
  EXPECT_EQ(done.cookie, 7u);
  EXPECT_EQ(done.result.coded, Coded::NeedMore);
  EXPECT_EQ(done.result.need, 3u);
}

// ---- a codec that takes for ever
// -----------------------------------------------------------------

std::atomic<bool> is_gate_open;
std::atomic<uint32_t> waiting_at_gate;
std::thread::id owner;
uint32_t rows_of_owner;

/// On the owner's thread it only counts; on others it waits at the gate.
void slow_encode(const void*, const cw_shard*, const cw_shard*, uint32_t, void*) {
  if (std::this_thread::get_id() == owner) {
    ++rows_of_owner;
    return;
  }
  waiting_at_gate.fetch_add(1);
  is_gate_open.wait(false);
}

TEST(CodeExecutor, keeps_turning_within_its_budget_while_a_codec_stands_still) {
  cw_codec_ops slow = *cw_codec_rs();
  slow.encode = slow_encode;
  is_gate_open = false;
  waiting_at_gate = 0;
  owner = std::this_thread::get_id();
  const Coder coder = make_coder(slow, {8, 2, 64});
  const Coder* const coders[] = {&coder};
  constexpr uint64_t row_work = 8 * 2 * 64;
  const auto executor =
      make_executor(coders, {.turn_work_max = 3 * row_work, .threads = 2, .jobs_max = 16});
  const Row row(coder.shape(), 1);
  const auto data = row.all_data(), repair = row.all_repair();
  const std::vector<CodeJob> jobs(10, CodeJob{0, 0, false, data, repair});
  uint64_t taken = 0, done = 0;
  const auto turn = [&](bool more) {
    rows_of_owner = 0;
    executor->begin_turn();
    if (more) taken += executor->submit(jobs);
    EXPECT_LE(rows_of_owner, 3u);  // the longest turn, in rows
    CodeDone results[16];
    done += executor->poll(results);
  };
  for (int n = 0; n < 1000; ++n) turn(true);
  // Both threads hold what they can, and every turn has still done its own share.
  EXPECT_EQ(executor->handed_count(), 32u);
  EXPECT_EQ(executor->inline_count(), 3000u);
  EXPECT_EQ(done, 3000u);
  while (waiting_at_gate < 2) std::this_thread::yield();
  is_gate_open = true;
  is_gate_open.notify_all();
  while (done < taken) turn(false);
  EXPECT_EQ(done, 3032u);
}

}  // namespace
}  // namespace cw
