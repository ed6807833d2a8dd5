#include "dataplane/core/counters.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace cw {
namespace {

template <class Key>
void expect_good_rows(size_t count) {
  std::set<std::string_view> names, sentences;
  for (size_t i = 0; i < count; ++i) {
    const auto key = static_cast<Key>(i);
    const std::string_view name = name_of(key), sentence = sentence_of(key);
    EXPECT_TRUE(names.insert(name).second) << name << " is declared twice";
    EXPECT_TRUE(sentences.insert(sentence).second) << name << " has another's sentence";
    EXPECT_GE(sentence.size(), 15u) << name;
    EXPECT_NE(sentence.back(), '.') << name << ": no full stop";
    const bool begins_with_acronym = sentence.size() > 1 && std::isupper(sentence[1]);
    EXPECT_TRUE(std::islower(sentence.front()) || begins_with_acronym) << name << ": lower case";
    for (const char c : name) EXPECT_TRUE(std::islower(c) || c == '_') << name;
  }
}

TEST(Counters, every_drop_reason_has_a_name_and_a_sentence_of_its_own) {
  expect_good_rows<DropReason>(drop_reason_count);
}

TEST(Counters, every_counter_has_a_name_and_a_sentence_of_its_own) {
  expect_good_rows<Counter>(counter_count);
}

TEST(Counters, names_follow_the_order_of_the_table) {
  EXPECT_EQ(name_of(DropReason::wire_short), "wire_short");
  EXPECT_EQ(name_of(DropReason::packet_duplicate), "packet_duplicate");
  EXPECT_EQ(name_of(Counter::tx_held), "tx_held");
}

TEST(Counters, a_snapshot_tells_what_was_added_since_an_earlier_one) {
  Drops drops;
  drops.add(DropReason::wire_short);
  const Drops::Snapshot before = drops.snapshot_any_thread();
  drops.add(DropReason::wire_short, 2);
  drops.add(DropReason::wire_opcode);
  const Drops::Snapshot added = drops.snapshot_any_thread().since(before);
  EXPECT_EQ(added[DropReason::wire_short], 2u);
  EXPECT_EQ(added[DropReason::wire_opcode], 1u);
  EXPECT_EQ(added.sum(), 3u);
  EXPECT_EQ(drops.read_any_thread(DropReason::wire_short), 3u);
}

}  // namespace
}  // namespace cw
