// A handshake with who has written it a second time, with other people's cryptography, in both
// roles (noise_stranger.py).
#include <gtest/gtest.h>

#include <cstring>

#include "dataplane/seal/noise/handshake.h"
#include "tests/unit/seal/stranger.h"

namespace cw::seal {
namespace {

Bytes text(const char* characters) {
  return row_of(std::span(reinterpret_cast<const uint8_t*>(characters), std::strlen(characters)));
}

struct Meeting {
  Stranger stranger{CW_SEAL_FOLDER "/noise_stranger.py"};
  Identity ours = Identity::random(), theirs = Identity::random();
  Secret preshared = Secret::random();
  Bytes prologue = text("causeway");
};

TEST(HandshakeWithAStranger, is_completed_as_the_initiator) {
  Meeting it;
  Initiator initiator(it.ours, it.theirs.public_key, it.prologue);
  const auto first = initiator.write_first(text("who we are"));
  ASSERT_TRUE(first);
  const auto answer =
      it.stranger.ask("respond", {row_of(it.theirs.private_key.bytes()),
                                  row_of(it.preshared.bytes()), it.prologue, *first, text("hi")});
  ASSERT_EQ(answer.size(), 6u);
  EXPECT_EQ(answer[0], row_of(it.ours.public_key));
  EXPECT_EQ(answer[1], text("who we are"));
  const auto end = initiator.read_second(answer[2], it.preshared);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->payload, text("hi"));
  EXPECT_EQ(row_of(end->keys.receive.bytes()), answer[3]);
  EXPECT_EQ(row_of(end->keys.send.bytes()), answer[4]);
  EXPECT_EQ(row_of(end->keys.hash), answer[5]);
}

TEST(HandshakeWithAStranger, is_completed_as_the_responder) {
  Meeting it;
  const auto first = it.stranger.ask(
      "initiate", {row_of(it.theirs.private_key.bytes()), row_of(it.ours.public_key),
                   row_of(it.preshared.bytes()), it.prologue, text("who they are")});
  ASSERT_EQ(first.size(), 1u);
  Responder responder(it.ours, it.prologue);
  EXPECT_EQ(responder.read_first(first[0]), text("who they are"));
  EXPECT_EQ(responder.other(), it.theirs.public_key);
  const auto second = responder.write_second({}, it.preshared);
  ASSERT_TRUE(second);
  const auto end = it.stranger.ask("finish", {second->message});
  ASSERT_EQ(end.size(), 4u);
  EXPECT_TRUE(end[0].empty());
  EXPECT_EQ(end[1], row_of(second->keys.receive.bytes()));
  EXPECT_EQ(end[2], row_of(second->keys.send.bytes()));
  EXPECT_EQ(end[3], row_of(second->keys.hash));
}

TEST(HandshakeWithAStranger, is_refused_by_him_as_by_us) {
  Meeting it;
  Initiator initiator(it.ours, it.theirs.public_key, it.prologue);
  Bytes first = *initiator.write_first({});
  first.back() ^= 1;
  EXPECT_TRUE(it.stranger
                  .ask("respond", {row_of(it.theirs.private_key.bytes()),
                                   row_of(it.preshared.bytes()),
                                   it.prologue,
                                   first,
                                   {}})
                  .empty());
}

}  // namespace
}  // namespace cw::seal
