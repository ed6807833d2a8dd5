// What two sites have sealed is opened by the key log of one of them, and by nothing else.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "control/dissector/capture_copy.h"
#include "control/dissector/key_log.h"
#include "control/dissector/opener.h"
#include "tests/golden_packets.h"
#include "tests/unit/dissector/pcapng.h"
#include "tests/unit/dissector/tshark.h"
#include "tests/unit/seal/sites.h"

namespace cw::test {
namespace {

using dissector::KeyLogFile;
using dissector::Opener;
using seal::OnWire;

class SealedFrames : public testing::Test {
 protected:
  SealedFrames() {
    std::string path = testing::TempDir() + "causeway-open-XXXXXX";
    folder_ = mkdtemp(path.data());
  }
  ~SealedFrames() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  /// Both have keys then; a's are logged, and none is of a session before.
  void agree(cw_aead_kind kind) {
    const std::vector<cw_aead_kind> kinds = {kind};
    pair_ = std::make_unique<seal::SealedPair>();
    pair_->sends_data = false;
    pair_->a = std::make_unique<seal::SealedSite>(pair_->key_a, peer(pair_->key_b, "north \"B\""),
                                                  pair_->now, true, kinds, &log());
    pair_->b = std::make_unique<seal::SealedSite>(pair_->key_b, peer(pair_->key_a, "south"),
                                                  pair_->now, true, kinds);
    ASSERT_TRUE(pair_->run_until([&] { return pair_->both_have_keys(); }, 200));
  }
  KeyLogFile& log() {
    if (log_ == nullptr) log_ = *KeyLogFile::open(path("log"));
    return *log_;
  }
  Opener opener() const { return Opener(*dissector::read_key_log(path("log"))); }

  static ByteVector hello() {
    return load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/control.txt").front().bytes;
  }
  static OnWire plain(Form form) {
    OnWire packet;
    packet.form = form;
    packet.head.target_qp = form == Form::Write ? 0x1000 : 0xca05;
    packet.head.psn = Psn(0xfffffe);
    packet.head.key = form == Form::Write ? 0x5eedda7a : control_qkey;
    packet.head.address = form == Form::Write ? 0x7f0000001000 : 0;
    packet.head.immediate = form == Form::Write ? 5u << 22 : 0;
    packet.head.is_solicited = form == Form::Write;
    packet.source_qp = form == Form::Write ? 0 : 0xca05;
    packet.payload = {0, 0, 0, 5, 0, 0x24, 0, 0};  // a slot of message 5 with one ping
    append_hex(packet.payload,
               "001c0007000000094500001c000040004001269d0a0100020a0200020800f7ff00000000");
    if (form == Form::Datagram) packet.payload = hello();
    return packet;
  }
  static ByteVector frame_of(const OnWire& packet, const FrameAddress& address) {
    Transport transport;
    transport.opcode = opcode_of(packet.form);
    transport.target_qp = packet.head.target_qp;
    transport.psn = packet.head.psn;
    transport.is_solicited = packet.head.is_solicited;
    transport.payload = packet.payload;
    if (packet.form == Form::Write) {
      transport.rdma = {packet.head.address, packet.head.key,
                        static_cast<uint32_t>(packet.payload.size())};
      transport.immediate = packet.head.immediate;
    } else {
      transport.datagram = {packet.head.key, packet.source_qp};
    }
    return make_frame(address, transport);
  }
  seal::SealedSite& a() { return *pair_->a; }
  seal::SealedSite& b() { return *pair_->b; }

 private:
  static seal::KeyringPeer peer(const seal::Identity& who, const char* name) {
    seal::KeyringPeer it;
    it.key = who.public_key;
    it.name = name;
    return it;
  }

  std::string folder_;
  std::unique_ptr<KeyLogFile> log_;
  std::unique_ptr<seal::SealedPair> pair_;
};

FrameAddress over_v6_in_a_vlan() {
  FrameAddress address = between_gateways();
  address.vlan = 0x6064;
  address.ip_version = IpVersion::V6;
  address.source_ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  address.target_ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  address.dscp = 26;
  return address;
}

TEST_F(SealedFrames, become_what_they_were_in_both_directions_whatever_the_cipher) {
  for (int kind = 0; kind < CW_AEAD_KINDS; ++kind) {
    ASSERT_NO_FATAL_FAILURE(agree(static_cast<cw_aead_kind>(kind)));
    Opener opener = this->opener();
    for (const FrameAddress& address : {between_gateways(), over_v6_in_a_vlan()}) {
      for (const Form form : {Form::Write, Form::Datagram}) {
        const OnWire packet = plain(form);
        const auto sealed = a().seal(packet), answer = b().seal(packet);
        ASSERT_TRUE(sealed && answer);
        const auto out = opener.open(frame_of(*sealed, address), FrameStart::Ethernet);
        const auto back = opener.open(frame_of(*answer, address), FrameStart::Ethernet);
        ASSERT_TRUE(out && back) << kind;
        EXPECT_EQ(out->bytes, frame_of(packet, address)) << kind;
        EXPECT_EQ(back->bytes, frame_of(packet, address)) << kind;
        EXPECT_TRUE(out->about.contains("to \"north \"B\"\", number ")) << out->about;
        EXPECT_TRUE(back->about.contains("from \"north \"B\"\", number ")) << back->about;
      }
    }
    EXPECT_EQ(opener.counts().opened, 8u);
    EXPECT_EQ(opener.counts().kept, 0u);
  }
}

TEST_F(SealedFrames, stay_as_they_are_where_a_bit_differs_or_there_is_no_key) {
  ASSERT_NO_FATAL_FAILURE(agree(CW_AEAD_AES_128_GCM));
  Opener opener = this->opener();
  const OnWire sealed = *a().seal(plain(Form::Write));
  const auto change = [&](auto how) {
    OnWire other = sealed;
    how(other);
    return opener.open(frame_of(other, between_gateways()), FrameStart::Ethernet);
  };
  EXPECT_TRUE(change([](OnWire&) {}));
  EXPECT_FALSE(change([](OnWire& it) { it.payload[3] ^= 1; }));
  EXPECT_FALSE(change([](OnWire& it) { it.payload.back() ^= 1; }));
  EXPECT_FALSE(change([](OnWire& it) { it.head.psn = Psn(7); }));
  EXPECT_FALSE(change([](OnWire& it) { it.head.immediate ^= 1; }));
  EXPECT_FALSE(change([](OnWire& it) { it.head.address ^= 1; }));
  EXPECT_FALSE(change([](OnWire& it) { it.payload.resize(20); }));
  EXPECT_EQ(opener.counts().kept, 5u) << "the last is too short to be sealed";
  auto lines = *dissector::read_key_log(path("log"));
  for (auto& each : lines) each.agreement.send.bytes()[5] ^= 1;
  EXPECT_FALSE(Opener(lines).open(frame_of(sealed, between_gateways()), FrameStart::Ethernet));
}

TEST_F(SealedFrames, are_opened_in_a_capture_whose_other_blocks_stay) {
  ASSERT_NO_FATAL_FAILURE(agree(CW_AEAD_AES_256_GCM));
  const ByteVector slot = frame_of(*a().seal(plain(Form::Write)), between_gateways());
  const ByteVector control = frame_of(*b().seal(plain(Form::Datagram)), between_gateways());
  for (const bool is_swapped : {false, true}) {
    PcapngText recorded(is_swapped);
    recorded.add(control);
    recorded.add(slot);
    recorded.add(slot, 100);
    recorded.add_other(0x7fffff00);
    std::ofstream(path("in")) << recorded.text();
    std::istringstream from(recorded.text());
    std::ostringstream to;
    Opener opener = this->opener();
    const auto counts = dissector::copy_capture(from, to, opener);
    ASSERT_TRUE(counts) << counts.error().sentence;
    EXPECT_EQ(counts->packets, 3u);
    EXPECT_EQ(counts->cut, 1u);
    EXPECT_EQ(opener.counts().opened, 2u);
    EXPECT_TRUE(to.str().ends_with(recorded.text().substr(recorded.text().size() - 24)));
    std::ofstream(path("out")) << to.str();
    const std::string columns = fields({"_ws.col.Info", "icmp.type", "frame.comment"});
    const auto before = shown_of_file(path("in"), columns);
    ASSERT_EQ(before.size(), 3u);
    EXPECT_TRUE(before[0].starts_with("Control, sealed, 80 bytes, number ")) << before[0];
    EXPECT_TRUE(before[1].starts_with("Slot, sealed, 44 bytes, number ")) << before[1];
    EXPECT_TRUE(before[1].ends_with("||")) << before[1];
    const auto after = shown_of_file(path("out"), columns);
    ASSERT_EQ(after.size(), 3u);
    EXPECT_TRUE(after[0].starts_with("HELLO||opened: was sealed from ")) << after[0];
    EXPECT_TRUE(after[1].starts_with("Slot of message 5, 1 frames begin|8|opened: was sealed to "))
        << after[1];
    EXPECT_TRUE(shown_of_file(path("out"), "-Y _ws.malformed").empty());
  }
}

TEST_F(SealedFrames, of_a_file_that_is_none_or_ends_too_soon_are_copied_as_far_as_it_goes) {
  ASSERT_NO_FATAL_FAILURE(agree(CW_AEAD_AES_128_GCM));
  PcapngText recorded(false);
  recorded.add(frame_of(*a().seal(plain(Form::Write)), between_gateways()));
  const std::string text = recorded.text();
  for (size_t size = 0; size < text.size(); ++size) {
    std::istringstream from(text.substr(0, size));
    std::ostringstream to;
    Opener opener = this->opener();
    const auto counts = dissector::copy_capture(from, to, opener);
    const bool is_whole = size == 28 || size == 48;  // it ends behind a block
    ASSERT_EQ(counts.has_value(), is_whole) << size;
    const char* why = size < 12 ? "is no pcapng" : "ends within a block";
    EXPECT_TRUE(is_whole || counts.error().sentence.contains(why)) << size;
  }
}

TEST_F(SealedFrames, of_a_damaged_capture_do_no_harm) {
  ASSERT_NO_FATAL_FAILURE(agree(CW_AEAD_AES_128_GCM));
  PcapngText recorded(false);
  for (const Form form : {Form::Write, Form::Datagram}) {
    recorded.add(frame_of(*a().seal(plain(form)), between_gateways()));
  }
  std::mt19937 random(1);
  Opener opener = this->opener();
  size_t copied = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = recorded.text();
    for (size_t times = 1 + random() % 3; times > 0; --times) {
      text[random() % text.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    std::istringstream from(text);
    std::ostringstream to;
    copied += dissector::copy_capture(from, to, opener).has_value() ? 1 : 0;
  }
  EXPECT_GT(copied, 10'000u) << "most damage is in packets";
  EXPECT_GT(opener.counts().opened, 10'000u);
  EXPECT_GT(opener.counts().kept, 1'000u);
}

TEST_F(SealedFrames, have_their_keys_in_a_file_that_is_its_owners_alone) {
  ASSERT_NO_FATAL_FAILURE(agree(CW_AEAD_AES_128_GCM));
  struct stat about{};
  ASSERT_EQ(stat(path("log").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777u, 0600u);
  const auto first = *dissector::read_key_log(path("log"));
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(first.front().peer, "north \"B\"");
  (*KeyLogFile::open(path("log")))->agreed("other", first.front().agreement);
  const auto both = *dissector::read_key_log(path("log"));
  ASSERT_EQ(both.size(), first.size() + 1) << "it goes on behind what is there";
  EXPECT_EQ(both.back().peer, "other");
  EXPECT_EQ(dissector::line_of({"other", both.front().agreement}), dissector::line_of(both.back()));

  const auto refusal = [&](const std::string& name) {
    const auto opened = KeyLogFile::open(path(name));
    return opened ? std::string() : opened.error().sentence;
  };
  for (const mode_t mode : {0640u, 0604u, 0620u, 0601u}) {
    chmod(path("log").c_str(), mode);
    EXPECT_TRUE(refusal("log").contains("others may open it")) << mode;
  }
  chmod(path("log").c_str(), 0600);
  std::filesystem::create_symlink(path("log"), path("link"));
  EXPECT_TRUE(refusal("link").contains("cannot be written"));
  mkfifo(path("pipe").c_str(), 0600);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(refusal("pipe").contains("no file of this user's own"));
  close(reader);
}

TEST_F(SealedFrames, have_no_keys_in_a_log_that_is_damaged) {
  ASSERT_NO_FATAL_FAILURE(agree(CW_AEAD_AES_128_GCM));
  const std::string good = dissector::line_of(dissector::read_key_log(path("log"))->front());
  EXPECT_EQ(dissector::parse_key_log(good + "\n\n" + good)->size(), 2u);
  for (const std::string& bad :
       {std::string("x"), std::string("{}"), good.substr(0, good.size() - 3),
        std::string(good).replace(good.find("gcm"), 3, "ccm"),
        std::string(good).replace(good.size() - 6, 1, "g")}) {
    const auto parsed = dissector::parse_key_log(good + "\n" + bad + "\n");
    ASSERT_FALSE(parsed) << bad;
    EXPECT_TRUE(parsed.error().sentence.starts_with("line 2 is no session")) << bad;
  }
  std::ofstream(path("none"));
  EXPECT_TRUE(dissector::read_key_log(path("none")).error().sentence.contains("has no session"));
  EXPECT_TRUE(dissector::read_key_log(path("gone")).error().sentence.contains("cannot be read"));
}

}  // namespace
}  // namespace cw::test
