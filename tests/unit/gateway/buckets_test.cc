#include "dataplane/gateway/order/buckets.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cw::gateway {
namespace {

constexpr uint32_t messages = 4;

struct Buckets {
  Buckets(size_t count, size_t streams) : stock(count) {
    for (size_t i = 0; i < streams; ++i) {
      tables.push_back(std::make_unique<BucketTable>(stock, Front{}, messages));
    }
  }
  Bucket& use(size_t stream, uint16_t bucket, uint32_t message = 0) {
    const ParsedFrame frame{.header = {20, bucket, 0}, .seq = MessageSeq(message)};
    Bucket* const found = tables[stream]->find(frame);
    EXPECT_NE(found, nullptr);
    found->front.message = MessageSeq(message);
    return *found;
  }
  /// Uses `count` of them, one after the other.
  void use_many(size_t stream, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) use(stream, static_cast<uint16_t>(i));
  }
  bool knows(size_t stream, uint16_t bucket) { return use(stream, bucket).is_known; }

  BucketStock stock;
  std::vector<std::unique_ptr<BucketTable>> tables;
};

TEST(Buckets, are_each_streams_own) {
  Buckets buckets(64, 3);
  for (uint32_t i = 0; i < 3; ++i) buckets.use(i, 7).front.next = BucketSeq(i);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(buckets.use(i, 7).front.next, BucketSeq(i));
}

TEST(Buckets, of_one_stream_alone_are_all_there_are) {
  Buckets buckets(bucket_count, 1);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < bucket_count; ++i) {
      ASSERT_TRUE(buckets.knows(0, static_cast<uint16_t>(i)));
    }
  }
}

TEST(Buckets, that_rest_longest_are_forgotten_first) {
  Buckets buckets(3, 1);
  buckets.use(0, 1, 9);
  buckets.use(0, 2, 5);  // its message is over
  buckets.use(0, 3, 9);
  buckets.use(0, 4, 9);
  for (const uint16_t bucket : {1, 3, 4}) EXPECT_TRUE(buckets.knows(0, bucket)) << bucket;
  EXPECT_FALSE(buckets.knows(0, 2));
}

TEST(Buckets, are_known_again_in_a_new_epoch) {
  Buckets buckets(3, 1);
  buckets.use_many(0, 4);
  EXPECT_FALSE(buckets.knows(0, 0));
  buckets.tables[0]->reset();
  for (uint16_t i = 0; i < 4; ++i) EXPECT_TRUE(buckets.knows(0, i));
}

/// Two thirds are in parts: of 96 for four, sixteen each.
TEST(Buckets, of_who_has_more_than_his_part_go_to_others) {
  Buckets buckets(96, 4);
  buckets.use_many(0, 1000);
  EXPECT_EQ(buckets.tables[0]->count(), 16u + 32u);
  for (size_t stream = 1; stream < 4; ++stream) {
    buckets.use_many(stream, 16);
    for (uint16_t i = 0; i < 16; ++i) EXPECT_TRUE(buckets.knows(stream, i));
  }
  buckets.use_many(1, 20);
  EXPECT_EQ(buckets.tables[1]->count(), 20u);
  EXPECT_EQ(buckets.tables[0]->count(), 44u);
}

TEST(Buckets, of_who_has_no_more_than_his_part_are_his) {
  Buckets buckets(96, 4);
  buckets.use_many(1, 16);
  buckets.use_many(0, 1000);
  for (uint16_t i = 0; i < 16; ++i) EXPECT_TRUE(buckets.knows(1, i));
}

}  // namespace
}  // namespace cw::gateway
