// Who a site is and whom it believes, as files say it.
#include <gtest/gtest.h>

#include <string>

#include "control/gateway/plan.h"
#include "tests/unit/site_config/folder.h"

namespace cw::site {
namespace {

// Public halves of 32 times 2 and 32 times 3.
const std::string two = "zo060cy2M+x7cMF4FKXHbs0CloUFDTRHRboFhw5YfVk=";
const std::string three = "Xf7dO2vUf2+ijuFdlp1bsOpTd01Ii9r53xxuASSz7yI=";

/// A sealed file; lines more of [site], [pair] and [[peer]].
std::string sealed(const std::string& peer,
                   const std::string& site = "private_key_file = 'site.key'\n",
                   const std::string& pair = "") {
  return "[site]\nname = 'south'\n" + site + "[lan]\naddresses = ['10.1.0.1/24']\n[wan]\n" +
         "rate = '1 Gbit/s'\n[pair]\nrtt = '20 ms'\n" + pair +
         "[[peer]]\nname = 'north'\naddress = '192.0.2.2'\nroutes = ['10.2.0.0/16']\n" + peer;
}
std::string with_key(const std::string& more = "") { return "public_key = '" + two + "'\n" + more; }

std::string mistake(const std::string& text) {
  const auto plan = read_plan("f", text);
  return plan ? "" : plan.error().sentence;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SealKeys, of_a_new_file_are_all_it_takes_and_everything_is_sealed) {
  const Folder folder;
  const auto plan = read_plan("f", sealed(with_key()));
  ASSERT_TRUE(plan) << plan.error().sentence;
  ASSERT_TRUE(plan->seal);
  EXPECT_TRUE(plan->seal->seals_data);
  EXPECT_EQ(seal::text_of(plan->seal->peers[0]->key), two);
  EXPECT_FALSE(plan->seal->peers[0]->next_key);
  EXPECT_EQ(plan->exposure, "");
  EXPECT_TRUE(plan->warnings.empty());
}

TEST(SealKeys, take_24_bytes_of_every_packet_and_of_the_rate) {
  const Folder folder;
  const auto plain = read_plan("f", file_with("", "")), plan = read_plan("f", sealed(with_key()));
  ASSERT_TRUE(plain && plan);
  EXPECT_EQ(plan->wan.payload_bytes_max, plain->wan.payload_bytes_max);
  EXPECT_EQ(plan->peers[0].control.payload_bytes, plain->peers[0].control.payload_bytes - 24);
  EXPECT_EQ(plan->classes[0].stream.payload_bytes, plain->classes[0].stream.payload_bytes - 24);
  EXPECT_EQ(plan->peers[0].pacer.packet_overhead_bytes,
            plain->peers[0].pacer.packet_overhead_bytes + 24);
}

TEST(SealKeys, that_are_missing_or_two_are_told_in_so_many_words) {
  const Folder folder;
  EXPECT_TRUE(has(mistake(sealed(with_key(), "")),
                  "site.private_key_file is missing; `causeway-key generate FILE`"));
  EXPECT_TRUE(has(mistake(sealed("")),
                  "peer.public_key of \"north\" is missing: `causeway-key public FILE`"));
  EXPECT_TRUE(
      has(mistake(sealed(with_key(), "private_key_file = 'site.key'\n", "key_file = 'pair.key'\n")),
          "pair.key_file and site.private_key_file are there both"));
  EXPECT_TRUE(
      has(mistake(sealed("public_key = 'zo060cq'\n")), "must be a public key: the 44 characters"));
  EXPECT_TRUE(
      has(mistake(sealed(with_key("next_public_key = 'x'\n"))), "peer.next_public_key is \"x\""));
  EXPECT_TRUE(has(mistake(sealed(with_key(), "private_key_file = 'none.key'\n")),
                  "`causeway-key generate none.key` makes one"));
  EXPECT_TRUE(has(mistake(sealed(with_key("preshared_key_file = 'none.psk'\n"))),
                  "`causeway-key preshared none.psk` makes one"));
  const std::string twin =
      "[[peer]]\nname = 'east'\naddress = '192.0.2.3'\nroutes = ['10.3.0.0/16']\n";
  EXPECT_TRUE(has(mistake(sealed(with_key(twin + with_key()))), "is another peer's too"));
}

TEST(SealKeys, that_others_can_read_are_no_keys) {
  const Folder folder;
  folder.write("site.key", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n", 0640);
  EXPECT_TRUE(has(mistake(sealed(with_key())), "chmod 600 site.key"));
}

TEST(SealKeys, left_out_or_not_used_for_data_are_loud) {
  const Folder folder;
  const auto old = read_plan("f", file_with("", ""));
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->seal);
  EXPECT_TRUE(has(old->exposure, "NOTHING IS SEALED"));
  const auto open =
      read_plan("f", sealed(with_key(), "private_key_file = 'site.key'\n", "seal = false\n"));
  ASSERT_TRUE(open) << open.error().sentence;
  EXPECT_FALSE(open->seal->seals_data);
  EXPECT_TRUE(has(open->exposure, "CROSSES AS IT IS"));
  EXPECT_EQ(open->peers[0].pacer.packet_overhead_bytes, old->peers[0].pacer.packet_overhead_bytes);
}

TEST(SealKeys, of_a_peer_that_changes_its_own_are_two) {
  const Folder folder;
  folder.write("north.psk", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\n");
  const auto plan = read_plan("f", sealed(with_key("next_public_key = '" + three +
                                                   "'\npreshared_key_file = 'north.psk'\n")));
  ASSERT_TRUE(plan) << plan.error().sentence;
  EXPECT_EQ(seal::text_of(*plan->seal->peers[0]->next_key), three);
  EXPECT_EQ(plan->seal->peers[0]->preshared.bytes()[31], 2);
}

TEST(SealKeys, ciphers_are_offered_as_they_are_chosen) {
  const Folder folder;
  const auto plan = read_plan(
      "f", sealed(with_key(), "private_key_file = 'site.key'\n", "cipher = 'chacha20-poly1305'\n"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->seal->kinds, std::vector{CW_AEAD_CHACHA20_POLY1305});
}

/// Who reads a file again may have given up the right to read these.
TEST(SealKeys, are_not_read_a_second_time) {
  const Folder folder;
  const auto first = read_plan("f", sealed(with_key()));
  ASSERT_TRUE(first);
  folder.write("site.key", "gone\n", 0666);
  EXPECT_FALSE(read_plan("f", sealed(with_key())));
  const auto again =
      read_plan("f", sealed(with_key()), {.key = first->key.get(), .secrets = &first->secrets});
  ASSERT_TRUE(again) << again.error().sentence;
  EXPECT_EQ(again->seal->own.public_key, first->seal->own.public_key);
}

}  // namespace
}  // namespace cw::site
