// Sessions and sealed packets with who has written SPEC.md 19 a second time, with other people's
// cryptography, as the one who asks and as the one who is asked (seal_stranger.py).
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/pass/pass.h"
#include "tests/unit/seal/golden_sends.h"
#include "tests/unit/seal/sites.h"
#include "tests/unit/seal/stranger.h"

namespace cw::seal {
namespace {

constexpr uint8_t offers_psns = 1, offers_data = 2;

/// A transport packet of that payload, BTH to pad.
Bytes written(const Send& send) {
  Bytes bytes(4096);
  Packet packet{.data = bytes.data(), .bytes_max = static_cast<uint32_t>(bytes.size())};
  pass::write(send, packet, /*port_gathers=*/false);
  bytes.resize(packet.bytes);
  return bytes;
}

/// One of our sites in virtual time, and the stranger's, between whom nothing takes time.
struct SealMeeting {
  SealMeeting() = default;
  SealMeeting(std::vector<cw_aead_kind> kinds, uint8_t flags) { begin(std::move(kinds), flags); }

  void begin(std::vector<cw_aead_kind> kinds, uint8_t flags, uint8_t their_ciphers = 7) {
    covers_psns = (flags & offers_psns) != 0;
    site = std::make_unique<SealedSite>(ours, KeyringPeer{theirs.public_key, {}, preshared}, now,
                                        (flags & offers_data) != 0, std::move(kinds));
    stranger.ask("site", {row_of(theirs.private_key.bytes()),
                          row_of(ours.public_key),
                          row_of(preshared.bytes()),
                          {their_ciphers},
                          {flags}});
  }

  /// Milliseconds pass.
  void run(int ms) {
    for (int i = 0; i < ms; ++i) {
      now = now + Duration::from_ms(1);
      for (const OnWire& each : site->turn(now)) arrive(each);
    }
  }
  void arrive(const OnWire& packet) {
    const uint8_t type = packet.payload[3];
    if (type == 1 && !hears_firsts) return;
    ++heard[type];
    const auto answer = stranger.ask("hear", {written(SealedSite::send_of(packet))});
    if (answer.empty()) return refusals.push_back(stranger.refusal());
    if (!answer[0].empty()) ours_gets(answer[0]);
  }

  /// Nothing: it was a handshake's.
  std::optional<Arrival> ours_gets(const Bytes& bytes) {
    last = bytes;
    const Packet packet{.data = last.data(), .bytes = static_cast<uint32_t>(last.size())};
    Arrival arrival;
    pass::read(packet, arrival);
    if (site->sealer.open(arrival) != Sealer::Opened::Taken) return arrival;
    ++answered[last[20 + 3]];
    return std::nullopt;
  }
  void he_asks(uint8_t index) { ours_gets(stranger.ask("ask", {{index}}).at(0)); }

  /// What he reads when we send it; empty: he refuses it.
  Bytes he_opens(const Send& send) {
    Bytes bytes(4096);
    Packet packet{.data = bytes.data(), .bytes_max = static_cast<uint32_t>(bytes.size())};
    if (!pass::try_write_sealed(send, packet, site->sealer)) return {};
    bytes.resize(packet.bytes);
    const auto answer = stranger.ask("open", {bytes});
    return answer.empty() ? Bytes() : answer[0];
  }
  std::optional<Arrival> we_open(const Bytes& plain) {
    const auto sealed = stranger.ask("seal", {plain});
    return sealed.empty() ? std::nullopt : ours_gets(sealed[0]);
  }

  Stranger stranger{CW_SEAL_FOLDER "/seal_stranger.py"};
  Identity ours = Identity::random(), theirs = Identity::random();
  Secret preshared = Secret::random();
  Instant now = Instant() + Duration::from_s(1000);
  std::unique_ptr<SealedSite> site;
  bool hears_firsts = true, covers_psns = true;
  std::array<int, 4> heard{}, answered{};  // by type
  std::vector<std::string> refusals;
  Bytes last;
};

Bytes counting(size_t count) {
  Bytes bytes;
  bytes.reserve(count + 1);  // a payload points somewhere, even if it is empty
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(i * 7 + 1));
  return bytes;
}

void expect_same(const Arrival& arrival, const Send& sent, bool covers_psns) {
  ASSERT_EQ(arrival.form, sent.form) << static_cast<int>(arrival.error);
  EXPECT_EQ(Bytes(arrival.payload, arrival.payload + arrival.head.payload_bytes),
            Bytes(sent.payload, sent.payload + sent.head.payload_bytes));
  EXPECT_EQ(arrival.head.target_qp, sent.head.target_qp);
  EXPECT_EQ(arrival.head.is_solicited, covers_psns && sent.head.is_solicited);
}

/// Either end opens what the other seals, of both forms and with every pad.
void expect_sealed_packets_cross(SealMeeting& it) {
  for (const size_t bytes : {0u, 1u, 15u, 16u, 48u, 1022u}) {
    const Bytes payload = counting(bytes);
    Send solicited = golden_datagram(payload);
    solicited.head.is_solicited = true;
    for (const Send& send : {golden_slot(payload), golden_datagram(payload), solicited}) {
      const Bytes plain = written(send);
      const auto arrival = it.we_open(plain);
      ASSERT_TRUE(arrival) << it.stranger.refusal();
      expect_same(*arrival, send, it.covers_psns);
      it.run(1);
      ASSERT_TRUE(it.site->sealer.has_keys(0));
      EXPECT_EQ(it.he_opens(send), plain) << it.stranger.refusal();
    }
  }
}

void expect_session_of(SealMeeting& it, cw_aead_kind kind) {
  const auto session = it.stranger.ask("session", {});
  ASSERT_EQ(session.size(), 4u) << it.stranger.refusal();
  EXPECT_EQ(session[0], Bytes{static_cast<uint8_t>(kind)});
}

class SealStranger : public testing::TestWithParam<cw_aead_kind> {};

TEST_P(SealStranger, answers_us_and_each_opens_what_the_other_has_sealed) {
  SealMeeting it({GetParam()}, offers_psns | offers_data);
  it.run(1);
  EXPECT_EQ(it.answered[2], 1);
  it.run(1);
  expect_session_of(it, GetParam());
  EXPECT_TRUE(it.site->sealer.has_keys(0));
  expect_sealed_packets_cross(it);
  EXPECT_TRUE(it.refusals.empty()) << it.refusals.front();
}

TEST_P(SealStranger, answers_us_once_we_have_his_cookie) {
  SealMeeting it({GetParam()}, offers_psns | offers_data);
  it.stranger.ask("demand", {counting(16)});
  it.run(3);
  EXPECT_EQ(it.answered[3], 1);
  EXPECT_EQ(it.heard[1], 2) << "at once";
  expect_session_of(it, GetParam());
  expect_sealed_packets_cross(it);
  EXPECT_TRUE(it.refusals.empty()) << it.refusals.front();
}

TEST_P(SealStranger, asks_us_and_each_opens_what_the_other_has_sealed) {
  SealMeeting it({GetParam()}, offers_psns | offers_data);
  it.hears_firsts = false;
  it.he_asks(0xa5);
  it.run(3);
  expect_session_of(it, GetParam());
  EXPECT_FALSE(it.site->sealer.has_keys(0)) << "he has not shown yet that he has them";
  expect_sealed_packets_cross(it);
  EXPECT_TRUE(it.refusals.empty()) << it.refusals.front();
}

TEST_P(SealStranger, asks_us_too_often_and_is_answered_with_our_cookie) {
  SealMeeting it({GetParam()}, offers_psns | offers_data);
  it.hears_firsts = false;
  for (int i = 0; i < 5; ++i) it.he_asks(7);
  it.run(3);
  EXPECT_EQ(it.heard[3], 1);
  EXPECT_EQ(it.heard[2], 5);
  EXPECT_EQ(it.refusals, std::vector<std::string>(4, "an answer to something else"))
      << "those that he has forgotten";
  expect_session_of(it, GetParam());
  expect_sealed_packets_cross(it);
}

INSTANTIATE_TEST_SUITE_P(Ciphers, SealStranger,
                         testing::Values(CW_AEAD_AES_128_GCM, CW_AEAD_AES_256_GCM,
                                         CW_AEAD_CHACHA20_POLY1305));

TEST(SealWithAStranger, psns_are_covered_where_both_write_them) {
  for (const int flags : {offers_psns | offers_data, int{offers_data}}) {
    SealMeeting it;
    it.begin({CW_AEAD_AES_256_GCM}, static_cast<uint8_t>(flags));
    it.run(2);
    const Bytes payload = counting(64);
    Bytes sealed = it.stranger.ask("seal", {written(golden_slot(payload))}).at(0);
    sealed[11] ^= 1;  // of the PSN
    const auto arrival = it.ours_gets(sealed);
    ASSERT_TRUE(arrival);
    EXPECT_EQ(arrival->form == Form::Write, flags == offers_data);
    expect_sealed_packets_cross(it);
  }
}

TEST(SealWithAStranger, control_alone_is_sealed_where_both_say_so) {
  SealMeeting it({CW_AEAD_AES_128_GCM}, offers_psns);
  it.run(2);
  const Bytes payload = counting(64);
  const auto arrival = it.we_open(written(golden_datagram(payload)));
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->form, Form::Datagram);
  EXPECT_EQ(it.he_opens(golden_datagram(payload)), written(golden_datagram(payload)));
  const auto open = it.ours_gets(written(golden_slot(payload)));
  ASSERT_TRUE(open);
  EXPECT_EQ(open->form, Form::Write) << "as it is";
}

TEST(SealWithAStranger, no_session_is_made_where_the_two_cannot) {
  SealMeeting it;
  it.begin({CW_AEAD_CHACHA20_POLY1305}, offers_psns | offers_data, /*their_ciphers=*/3);
  it.run(100);
  EXPECT_TRUE(it.stranger.ask("session", {}).empty());
  EXPECT_FALSE(it.site->sealer.has_keys(0));
  it.he_asks(1);
  it.run(2);
  EXPECT_EQ(it.refusals, std::vector<std::string>{"no session"}) << "which our answer says";
}

TEST(SealWithAStranger, a_first_message_under_a_new_ticket_is_answered_under_that) {
  SealMeeting it({CW_AEAD_AES_128_GCM}, offers_psns | offers_data);
  it.hears_firsts = false;
  it.he_asks(3);
  it.ours_gets(it.stranger.ask("ticket", {{0, 0, 0, 1}}).at(0));
  it.run(2);
  EXPECT_EQ(it.heard[2], 2);
  EXPECT_EQ(it.refusals, std::vector<std::string>{"an answer to something else"});
  expect_sealed_packets_cross(it);
}

TEST(SealWithAStranger, what_is_changed_is_opened_by_neither) {
  SealMeeting it({CW_AEAD_CHACHA20_POLY1305}, offers_psns | offers_data);
  it.run(2);
  const Bytes payload = counting(33);
  const Bytes plain = written(golden_slot(payload));
  for (size_t at = 0; at < plain.size() + seal_bytes; ++at) {
    Bytes sealed = it.stranger.ask("seal", {plain}).at(0);
    sealed[at] ^= 0x80;
    const auto arrival = it.ours_gets(sealed);
    // What networks change, and the pad.
    const bool is_free = at == 2 || at == 3 || at == 4 || at == 8 || at >= sealed.size() - 3;
    ASSERT_TRUE(arrival) << at;
    EXPECT_EQ(arrival->form == Form::Write, is_free) << at;
  }
}

}  // namespace
}  // namespace cw::seal
