#include "dataplane/core/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace cw {
namespace {
using namespace literals;

void add_one(void* argument, Instant) { ++*static_cast<int*>(argument); }

TEST(Mailbox, runs_one_change_per_call_in_order) {
  Mailbox mailbox(4);
  int first = 0, second = 0;
  const auto first_ticket = mailbox.try_post_any_thread({add_one, &first});
  const auto second_ticket = mailbox.try_post_any_thread({add_one, &second});
  ASSERT_TRUE(first_ticket && second_ticket);
  EXPECT_FALSE(mailbox.is_done_any_thread(*first_ticket));
  EXPECT_TRUE(mailbox.run_one(Instant()));
  EXPECT_TRUE(mailbox.is_done_any_thread(*first_ticket));
  EXPECT_FALSE(mailbox.is_done_any_thread(*second_ticket));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  EXPECT_TRUE(mailbox.run_one(Instant()));
  EXPECT_FALSE(mailbox.run_one(Instant()));
}

TEST(Mailbox, a_full_one_declines_until_the_worker_has_run_a_change) {
  Mailbox mailbox(2);
  int count = 0;
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(mailbox.try_post_any_thread({add_one, &count}));
    EXPECT_TRUE(mailbox.try_post_any_thread({add_one, &count}));
    EXPECT_FALSE(mailbox.try_post_any_thread({add_one, &count}));
    while (mailbox.run_one(Instant())) continue;
  }
  EXPECT_EQ(count, 10);
}

TEST(Mailbox, a_poster_stops_waiting_when_its_patience_is_over) {
  Mailbox mailbox;
  int count = 0;
  const auto ticket = mailbox.try_post_any_thread({add_one, &count});
  EXPECT_FALSE(mailbox.wait_any_thread(*ticket, 1_ms));
  mailbox.run_one(Instant());
  EXPECT_TRUE(mailbox.wait_any_thread(*ticket, 1_ms));
}

TEST(Mailbox, several_posters_and_one_worker_lose_nothing_and_see_the_results) {
  constexpr int posters = 4, rounds = 200;
  Mailbox mailbox(8);  // small, so that posters also meet a full one
  int total = 0;       // written by the worker only
  std::atomic<int> done{0};
  struct Request {
    int* total;
    int seen = 0;
  };
  std::vector<std::thread> threads;
  for (int p = 0; p < posters; ++p) {
    threads.emplace_back([&] {
      int before = 0;
      for (int i = 0; i < rounds; ++i) {
        Request request{&total};
        const Change change{[](void* argument, Instant) {
                              auto* mine = static_cast<Request*>(argument);
                              mine->seen = ++*mine->total;
                            },
                            &request};
        auto ticket = mailbox.try_post_any_thread(change);
        while (!ticket) {
          std::this_thread::yield();
          ticket = mailbox.try_post_any_thread(change);
        }
        ASSERT_TRUE(mailbox.wait_any_thread(*ticket, 30_s));
        ASSERT_GT(request.seen, before);
        before = request.seen;
      }
      ++done;
    });
  }
  while (done < posters) {
    if (!mailbox.run_one(Instant())) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, posters * rounds);
}

}  // namespace
}  // namespace cw
