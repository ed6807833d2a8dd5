// Who of a row is asked in a turn: those of a thousand that have something to do, and no others.
#include "dataplane/core/turn/activity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/turn/member_set.h"

namespace cw {
namespace {
using namespace literals;

std::vector<size_t> members_of(const MemberSet& set) {
  std::vector<size_t> members;
  set.for_each([&](size_t member) { members.push_back(member); });
  return members;
}

std::vector<size_t> awake_of(const Activity& row) { return members_of(row.awake()); }

TEST(MemberSet, holds_what_a_set_of_numbers_holds) {
  Prng prng(20261125);
  MemberSet set, others;
  std::set<size_t> model, other_model;
  for (int step = 0; step < 20'000; ++step) {
    const auto member = static_cast<size_t>(prng.below(MemberSet::members_max));
    switch (prng.below(8)) {
      case 0:
        set.remove(member);
        model.erase(member);
        break;
      case 1:
        others.add(member);
        other_model.insert(member);
        break;
      case 2:
        if (prng.below(50) != 0) break;
        set.add_all(others);
        model.merge(std::set<size_t>(other_model));
        break;
      case 3:
        if (prng.below(200) != 0) break;
        set.clear();
        model.clear();
        break;
      default:
        set.add(member);
        model.insert(member);
    }
    ASSERT_EQ(set.has(member), model.contains(member));
    ASSERT_EQ(set.is_empty(), model.empty());
    if (step % 64 == 0) {
      ASSERT_EQ(members_of(set), std::vector<size_t>(model.begin(), model.end()));
    }
  }
}

TEST(MemberSet, is_visited_from_any_member_on_and_around) {
  Prng prng(20261126);
  for (int round = 0; round < 500; ++round) {
    MemberSet set;
    for (uint64_t i = prng.below(200); i > 0; --i) set.add(prng.below(MemberSet::members_max));
    const auto first = static_cast<size_t>(prng.below(MemberSet::members_max));
    std::vector<size_t> expected = members_of(set), seen;
    std::ranges::rotate(expected, std::ranges::lower_bound(expected, first));
    set.for_each_from(first, [&](size_t member) { seen.push_back(member); });
    ASSERT_EQ(seen, expected) << first;
  }
}

class ActivityOf : public testing::TestWithParam<size_t> {
 protected:
  ActivityOf() {
    for (size_t i = 0; i < GetParam(); ++i) EXPECT_EQ(row_.add(), i);
  }
  /// Turns in which nothing happens until all sleep, each until an instant of its own.
  void let_all_sleep() {
    for (int turn = 0; turn < 2; ++turn) {
      row_.begin_turn(now_);
      row_.for_awake([&](size_t i) {
        if (row_.may_sleep(i)) row_.rest_until(i, due_of(i));
      });
    }
  }
  Instant due_of(size_t member) const {
    return now_ + Duration::from_us(static_cast<int64_t>(10 + member * 7 % GetParam()));
  }

  Activity row_;
  Instant now_ = Instant() + 1_s;
};

TEST_P(ActivityOf, all_are_awake_first_and_asleep_a_turn_after_nothing_happened) {
  row_.begin_turn(now_);
  EXPECT_EQ(awake_of(row_).size(), GetParam());
  EXPECT_FALSE(row_.may_sleep(0));
  row_.begin_turn(now_);
  EXPECT_TRUE(row_.may_sleep(0));
  let_all_sleep();
  EXPECT_TRUE(awake_of(row_).empty());
  EXPECT_FALSE(row_.is_any_awake());
  EXPECT_EQ(row_.next_due(), now_ + 10_us);
}

TEST_P(ActivityOf, each_wakes_at_its_instant_and_no_sooner) {
  let_all_sleep();
  std::vector<Instant> due(GetParam());
  for (size_t i = 0; i < GetParam(); ++i) due[i] = due_of(i);
  const Instant end = std::ranges::max(due);
  for (Instant now = row_.next_due(); now <= end; now = now + 1_us) {
    row_.begin_turn(now);
    std::vector<size_t> expected;
    for (size_t i = 0; i < GetParam(); ++i) {
      if (due[i] == now) expected.push_back(i);
    }
    ASSERT_EQ(awake_of(row_), expected);
    for (const size_t i : expected) {
      EXPECT_FALSE(row_.may_sleep(i));
      row_.rest_until(i, Instant::never());
    }
  }
  EXPECT_EQ(row_.next_due(), Instant::never());
}

TEST_P(ActivityOf, who_is_told_is_awake_at_once_and_for_a_turn_more) {
  const size_t member = GetParam() - 1;
  const Activity::Wake wake = row_.wake_of(member);
  let_all_sleep();
  wake();
  EXPECT_EQ(awake_of(row_), std::vector<size_t>{member});
  // What it waited for is not news any more.
  const bool is_alone = GetParam() == 1;
  EXPECT_EQ(row_.next_due() == Instant::never(), is_alone);
  row_.begin_turn(now_);
  EXPECT_FALSE(row_.may_sleep(member));
  row_.begin_turn(now_);
  EXPECT_TRUE(row_.may_sleep(member));
  wake();
  EXPECT_FALSE(row_.may_sleep(member));
}

/// A row as it would be written without any word of bits.
struct PlainRow {
  std::vector<bool> awake, fresh, was_fresh;
  std::vector<Instant> due;

  explicit PlainRow(size_t count)
      : awake(count), fresh(count, true), was_fresh(count), due(count) {}
  void begin_turn(Instant now) {
    for (size_t i = 0; i < due.size(); ++i) {
      if (!awake[i] && due[i] <= now) fresh[i] = true;
      awake[i] = awake[i] || fresh[i];
    }
    was_fresh = fresh;
    fresh.assign(fresh.size(), false);
  }
  Instant next_due() const {
    Instant next = Instant::never();
    for (size_t i = 0; i < due.size(); ++i) {
      if (!awake[i] && !fresh[i]) next = std::min(next, due[i]);
    }
    return next;
  }
};

TEST_P(ActivityOf, draws_of_anything_are_what_a_plain_row_makes_of_them) {
  Prng prng(GetParam());
  PlainRow plain(GetParam());
  for (int turn = 0; turn < 3000; ++turn) {
    now_ = now_ + Duration::from_us(static_cast<int64_t>(prng.below(40)));
    row_.begin_turn(now_);
    plain.begin_turn(now_);
    for (size_t i = 0; i < GetParam(); ++i) {
      if (!plain.awake[i]) continue;
      ASSERT_EQ(row_.may_sleep(i), !plain.fresh[i] && !plain.was_fresh[i]);
      if (!row_.may_sleep(i) || prng.below(4) == 0) continue;
      const Instant due = now_ + Duration::from_us(static_cast<int64_t>(1 + prng.below(3000)));
      row_.rest_until(i, due);
      plain.awake[i] = false;
      plain.due[i] = due;
    }
    for (uint64_t count = prng.below(4); count > 0; --count) {
      const auto member = static_cast<size_t>(prng.below(GetParam()));
      row_.wake(member);
      plain.fresh[member] = true;
    }
    std::vector<size_t> expected;
    for (size_t i = 0; i < GetParam(); ++i) {
      if (plain.awake[i] || plain.fresh[i]) expected.push_back(i);
    }
    ASSERT_EQ(awake_of(row_), expected) << turn;
    ASSERT_EQ(row_.next_due(), plain.next_due()) << turn;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ActivityOf, testing::Values(1, 63, 64, 65, 1024),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace cw
