// A handshake and sealed packets from given keys: byte for byte those that another implementation
// of SPEC.md 19 has made (tests/data/packets/seal.txt).
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "dataplane/pass/pass.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/golden_packets.h"
#include "tests/unit/seal/golden_sends.h"
#include "tests/unit/seal/hex.h"

namespace cw::seal {
namespace {

using Vectors = std::map<std::string, Bytes>;

/// So many bytes that count upwards.
Bytes upwards(uint8_t first, size_t count) {
  Bytes bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(first + i));
  return bytes;
}
Secret secret_from(uint8_t first) {
  const Bytes bytes = upwards(first, key_bytes);
  return Secret(std::span(bytes).first<key_bytes>());
}

constexpr uint32_t vector_ticket = 0x11223344;
constexpr uint8_t index_a = 0x2a, index_b = 0x51, vector_shard = 3;
constexpr uint64_t sealed_before = 0x01020304;
constexpr std::string_view vector_prologue = "causeway seal 1";

/// A packet as its port would be handed it.
struct Buffer {
  Bytes bytes = Bytes(512);
  Packet packet{.data = bytes.data(), .bytes_max = static_cast<uint32_t>(bytes.size())};
  Bytes written() const { return {bytes.begin(), bytes.begin() + packet.bytes}; }
};

/// As a sealer says it.
Bytes said(const Bytes& handshake) {
  Send send = golden_datagram(handshake);
  send.head.target_qp = send.source_qp = control_qpn_default;
  send.head.psn = Psn(0);
  Buffer buffer;
  pass::write(send, buffer.packet, /*port_gathers=*/false);
  return buffer.written();
}

struct Handshakes {
  Identity a = Identity::of(secret_from(0x01)), b = Identity::of(secret_from(0x21));
  Secret preshared = secret_from(0x81);
  std::span<const uint8_t> prologue{reinterpret_cast<const uint8_t*>(vector_prologue.data()),
                                    vector_prologue.size()};
  MessageCheck to_a{a.public_key}, to_b{b.public_key};
  Bytes first_message;
  SessionKeys keys;  // of A
  Vectors made;

  Handshakes() {
    make_first();
    make_second("second_aes_128", {index_b, 1 << CW_AEAD_AES_128_GCM, true, true});
    make_second("second_aes_256", {index_b, 1 << CW_AEAD_AES_256_GCM, true, true});
    make_second("second_chacha", {index_b, 1 << CW_AEAD_CHACHA20_POLY1305, true, true});
    make_second("second_none", {.has_psns = true});
  }

 private:
  Initiator initiator() const {
    return {a, b.public_key, prologue, Identity::of(secret_from(0x41))};
  }
  void make_first() {
    Initiator asks = initiator();
    first_message = *asks.write_first(
        bytes_of({.index = index_a, .kinds = 7, .has_psns = true, .seals_data = true}));
    const HandshakeHead head = {HandshakeType::First, vector_ticket};
    Check cookie;
    std::ranges::copy(upwards(0xa1, check_bytes), cookie.begin());
    const Bytes first = handshake_packet(head, first_message, to_b, std::nullopt);
    made["first"] = said(first);
    made["first_proven"] = said(handshake_packet(head, first_message, to_b, cookie));
    made["cookie"] = said(cookie_packet(vector_ticket, cookie, b.public_key, first_check_of(first),
                                        to_a, secret_from(0xb1)));
  }
  void make_second(const std::string& name, const Offer& offer) {
    Responder responder(b, prologue, Identity::of(secret_from(0x61)));
    responder.read_first(first_message);
    const auto answer = responder.write_second(bytes_of(offer), preshared);
    made[name] = said(handshake_packet({HandshakeType::Second, vector_ticket}, answer->message,
                                       to_a, std::nullopt));
    Initiator asks = initiator();
    asks.write_first(
        bytes_of({.index = index_a, .kinds = 7, .has_psns = true, .seals_data = true}));
    const SessionKeys session = asks.read_second(answer->message, preshared)->keys;
    if (name == "second_aes_128") keys = session;
  }
};

/// One end's of a session, and its sealer.
struct End {
  End(const cw_aead& aead, cw_aead_kind kind, const SessionKeys& of_a, bool is_a, bool covers_psns)
      : keys(aead, kind, (is_a ? of_a.send : of_a.receive).bytes().data(),
             (is_a ? of_a.receive : of_a.send).bytes().data()) {
    keys.receive_index = is_a ? index_a : index_b;
    keys.send_index = is_a ? index_b : index_a;
    keys.shard = vector_shard;
    keys.covers_psns = covers_psns;
    keys.sealed = sealed_before;
    for (const auto what : {SealerOrder::What::Add, SealerOrder::What::Use}) {
      sealer.try_order({.what = what, .keys = &keys, .note = {}});
    }
    sealer.take_orders(Instant());
  }
  Bytes seal(const Send& send) {
    Buffer buffer;
    pass::try_write_sealed(send, buffer.packet, sealer);
    return buffer.written();
  }
  /// What it reads of it; empty: it does not open.
  Bytes open(Bytes bytes) {
    const Packet packet{.data = bytes.data(), .bytes = static_cast<uint32_t>(bytes.size())};
    Arrival arrival;
    pass::read(packet, arrival);
    sealer.open(arrival);
    if (arrival.form == Form::Other) return {};
    return {arrival.payload, arrival.payload + arrival.head.payload_bytes};
  }

  ShardKeys keys;
  Sealer sealer{SealerOptions{.payload_max = 512}};
};

constexpr std::pair<const char*, cw_aead_kind> named_kinds[] = {
    {"aes_128", CW_AEAD_AES_128_GCM},
    {"aes_256", CW_AEAD_AES_256_GCM},
    {"chacha", CW_AEAD_CHACHA20_POLY1305}};

void add_sealed(Vectors& made, const cw_aead& aead, const SessionKeys& keys) {
  const Bytes payload = upwards(0, 50), text = upwards(0x80, 48);
  for (const auto& [name, kind] : named_kinds) {
    End a(aead, kind, keys, true, true), b(aead, kind, keys, false, true);
    const Bytes write = made[std::string("write_") + name] = a.seal(golden_slot(payload));
    const Bytes datagram = made[std::string("datagram_") + name] = a.seal(golden_datagram(text));
    const Bytes back = made[std::string("back_") + name] = b.seal(golden_slot(payload));
    EXPECT_EQ(b.open(write), payload) << name;
    EXPECT_EQ(b.open(datagram), text) << name;
    EXPECT_EQ(a.open(back), payload) << name;
    EXPECT_EQ(a.open(write), Bytes()) << name;
  }
  made["psn_free"] = End(aead, CW_AEAD_AES_128_GCM, keys, true, false).seal(golden_slot(payload));
}

TEST(SealVectors, are_what_these_keys_make_here_too) {
  Vectors expected;
  for (const auto& packet :
       test::load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/seal.txt")) {
    expected[packet.name] = packet.bytes;
  }
  for (const cw_aead* aead : {cw_aead_openssl(), cw_aead_fastest()}) {
    Handshakes handshakes;
    Vectors& made = handshakes.made;
    for (const auto part : {std::span<const uint8_t>(handshakes.keys.send.bytes()),
                            std::span<const uint8_t>(handshakes.keys.receive.bytes()),
                            std::span<const uint8_t>(handshakes.keys.hash)}) {
      made["keys"].insert(made["keys"].end(), part.begin(), part.end());
    }
    add_sealed(made, *aead, handshakes.keys);
    EXPECT_EQ(made.size(), expected.size());
    for (const auto& [name, bytes] : expected) {
      EXPECT_EQ(hex_of(made[name]), hex_of(bytes)) << name << " by " << aead->library;
    }
  }
}

TEST(SealVectors, the_cookie_opens_for_who_was_sent_it) {
  const Handshakes it;
  const auto payload_of = [&it](const char* name) {
    const Bytes& packet = it.made.at(name);
    return Bytes(packet.begin() + 20, packet.end());
  };
  const Bytes cookie = payload_of("cookie"), first = payload_of("first");
  ASSERT_TRUE(it.to_a.fits(cookie));
  const auto opened = open_cookie(cookie, it.b.public_key, first_check_of(first));
  ASSERT_TRUE(opened);
  EXPECT_EQ(Bytes(opened->begin(), opened->end()), upwards(0xa1, check_bytes));
  EXPECT_TRUE(has_cookie(payload_of("first_proven"), *opened));
  EXPECT_FALSE(has_cookie(first, *opened));
}

}  // namespace
}  // namespace cw::seal
