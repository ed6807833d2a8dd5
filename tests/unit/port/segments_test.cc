// Splitting, merging and checksums of the TUN port: pure functions, held against plain ones.
#include <gtest/gtest.h>

#include <functional>

#include "dataplane/port/tun/merge.h"
#include "dataplane/port/tun/split.h"
#include "dataplane/wire/outer/checksum.h"
#include "tests/property/property.h"
#include "tests/unit/port/segments.h"

namespace cw::test {
namespace {

JoinedShape any_shape() {
  JoinedShape shape;
  shape.is_v4 = *rc::gen::arbitrary<bool>();
  shape.is_tcp = *rc::gen::arbitrary<bool>();
  shape.segment_bytes = *rc::gen::inRange<uint16_t>(1, 1500);
  shape.payload_bytes = *rc::gen::inRange<uint32_t>(1, std::min(60 * shape.segment_bytes, 65000));
  shape.identification = *rc::gen::arbitrary<uint16_t>();
  shape.seq = *rc::gen::arbitrary<uint32_t>();
  shape.flags = *rc::gen::element<uint8_t>(0x10, 0x18, 0x11, 0x19, 0x50, 0x90, 0xd8);
  shape.option_words = *rc::gen::inRange<uint8_t>(0, 11);
  shape.seed = *rc::gen::arbitrary<uint32_t>();
  return shape;
}

/// The packets merged into one, as the port would hand it to the kernel; empty: not all merge.
Joined merge_all(const std::vector<ByteVector>& packets) {
  Merger merger;
  merger.begin(packets.front());
  for (size_t i = 1; i < packets.size(); ++i) {
    if (!merger.try_add(packets[i])) return {};
  }
  const auto headers = merger.write_headers();
  Joined joined{{headers.begin(), headers.end()}, merger.offload()};
  for (const ByteVector& packet : packets) {
    joined.packet.insert(joined.packet.end(),
                         packet.begin() + static_cast<ptrdiff_t>(merger.header_bytes()),
                         packet.end());
  }
  return joined;
}

// ---- checksums ----------------------------------------------------------------------------------

RC_GTEST_PROP(Checksum, is_that_of_the_plain_sum, (ByteVector bytes)) {
  // Zero and all ones are the same number.
  RC_ASSERT(sum_of(bytes) % 0xffff == plain_sum(bytes) % 0xffff);
}

TEST(Checksum, is_the_example_of_the_rfc) {
  const ByteVector bytes = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(sum_of(bytes), 0xddf2);
}

TEST(Checksum, adds_up_when_all_words_carry) {
  for (const size_t count : {1, 2, 15, 16, 17, 31, 65535}) {
    const ByteVector ones(count, 0xff);
    EXPECT_EQ(sum_of(ones), count % 2 == 0 || count == 0 ? 0xffff : plain_sum(ones)) << count;
  }
}

RC_GTEST_PROP(Checksum, is_completed_where_the_kernel_left_it_undone, ()) {
  Joined joined = make_joined(any_shape());
  RC_ASSERT(complete_checksum(joined.packet, joined.offload));
  RC_ASSERT(fault_of(joined.packet) == "");
}

TEST(Checksum, is_not_written_outside_the_packet) {
  ByteVector packet(60, 1);
  const ByteVector before = packet;
  for (const uint16_t start : {43, 44, 60, 61, 65535}) {
    EXPECT_FALSE(complete_checksum(packet, {.checksum_start = start, .checksum_offset = 16}));
  }
  EXPECT_FALSE(complete_checksum(packet, {.checksum_start = 20, .checksum_offset = 65535}));
  EXPECT_FALSE(complete_checksum(packet, {.checksum_start = 20, .checksum_offset = 7}));
  EXPECT_EQ(packet, before);
  EXPECT_TRUE(complete_checksum(packet, {.checksum_start = 42, .checksum_offset = 16}));
}

// ---- split --------------------------------------------------------------------------------------

RC_GTEST_PROP(Split, gives_right_packets_that_carry_all_the_payload, ()) {
  const JoinedShape shape = any_shape();
  const Joined joined = make_joined(shape);
  const auto pieces = split_all(joined);
  const size_t header_bytes = joined.offload.header_bytes;
  RC_ASSERT(pieces.size() == (shape.payload_bytes + shape.segment_bytes - 1) / shape.segment_bytes);
  ByteVector payload;
  for (const ByteVector& piece : pieces) {
    RC_ASSERT(fault_of(piece) == "");
    RC_ASSERT(piece.size() <= header_bytes + shape.segment_bytes);
    payload.insert(payload.end(), piece.begin() + static_cast<ptrdiff_t>(header_bytes),
                   piece.end());
  }
  RC_ASSERT(payload == ByteVector(joined.packet.begin() + static_cast<ptrdiff_t>(header_bytes),
                                  joined.packet.end()));
}

TEST(Split, counts_on_in_identification_and_sequence_number_and_over_their_ends) {
  const auto pieces = split_all(make_joined({.payload_bytes = 0x1001, .segment_bytes = 0x800}));
  ASSERT_EQ(pieces.size(), 3u);
  const uint16_t identifications[] = {0xfffe, 0xffff, 0};
  const uint32_t seqs[] = {0xfffff000, 0xfffff800, 0};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ip_layout::load<be16>(&pieces[i][4]), identifications[i]);
    EXPECT_EQ(ip_layout::load<be32>(&pieces[i][24]), seqs[i]);
  }
  EXPECT_EQ(pieces[2].size(), 20u + 32 + 1);
}

TEST(Split, leaves_fin_and_psh_to_the_last_piece_and_cwr_to_the_first) {
  const auto pieces = split_all(make_joined({.flags = 0xd9}));
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0][33], 0xd0);
  EXPECT_EQ(pieces[1][33], 0x50);
  EXPECT_EQ(pieces[2][33], 0x59);
}

TEST(Split, refuses_what_does_not_fit_together) {
  const Joined good = make_joined({});
  ASSERT_EQ(split_all(good).size(), 3u);
  const auto refuses = [&](auto change) {
    Joined bad = good;
    change(bad);
    return !Splitter::make(bad.packet, bad.offload);
  };
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.gso = Gso::None; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.gso = Gso::TcpV6; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.gso = Gso::Udp; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.segment_bytes = 0; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.needs_checksum = false; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.checksum_start = 24; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.checksum_start = 65535; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.offload.checksum_offset = 6; }));
  EXPECT_TRUE(refuses([](Joined& j) { j.packet[0] = 0x46; })) << "longer header";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet[0] = 0x75; })) << "IP version 7";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet[6] = 0x20; })) << "fragment";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet[9] = 17; })) << "UDP within";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet[32] = 0x40; })) << "TCP header too short";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet.resize(51); })) << "TCP header cut off";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet.resize(52); })) << "no payload";
  EXPECT_TRUE(refuses([](Joined& j) { j.packet.clear(); }));
  EXPECT_FALSE(refuses([](Joined& j) { j.packet.resize(53); }));
}

// ---- merge --------------------------------------------------------------------------------------

RC_GTEST_PROP(Merge, undoes_splitting, ()) {
  JoinedShape shape = any_shape();
  shape.is_tcp = true;
  const Joined joined = make_joined(shape);
  const auto pieces = split_all(joined);
  RC_PRE(pieces.size() > 1);
  const Joined merged = merge_all(pieces);
  RC_ASSERT(merged.packet == joined.packet);
  RC_ASSERT(merged.offload.gso == joined.offload.gso);
  RC_ASSERT(merged.offload.has_cwr == joined.offload.has_cwr);
  RC_ASSERT(merged.offload.segment_bytes == joined.offload.segment_bytes);
  RC_ASSERT(merged.offload.checksum_start == joined.offload.checksum_start);
  RC_ASSERT(merged.offload.header_bytes == joined.offload.header_bytes);
  RC_ASSERT(split_all(merged) == pieces);
}

RC_GTEST_PROP(Merge, never_hides_a_damaged_byte, ()) {
  JoinedShape shape = any_shape();
  shape.is_tcp = true;
  auto pieces = split_all(make_joined(shape));
  RC_PRE(pieces.size() > 1);
  ByteVector& hit = pieces[*rc::gen::inRange<size_t>(0, 2)];
  hit[*rc::gen::inRange<size_t>(0, hit.size())] ^=
      static_cast<uint8_t>(1 << *rc::gen::inRange(0, 8));
  Merger merger;
  merger.begin(pieces[0]);
  RC_ASSERT((!merger.try_add(pieces[1]) || fault_of(hit) == ""));
}

/// Whether two segments still merge when the second has been changed, its checksums being right.
bool merges_with(const JoinedShape& shape, const std::function<void(ByteVector&)>& change) {
  auto pieces = split_all(make_joined(shape));
  ByteVector& second = pieces[1];
  const bool is_v4 = shape.is_v4;
  change(second);
  const size_t transport = is_v4 ? 20 : 40;
  if (is_v4) {
    second[10] = second[11] = 0;
    ip_layout::store16(&second[10], static_cast<uint16_t>(~plain_sum({second.data(), 20})));
  }
  const std::span<const uint8_t> addresses(&second[is_v4 ? 12 : 8], is_v4 ? 8 : 32);
  const uint32_t pseudo =
      plain_sum(addresses, static_cast<uint32_t>(6 + second.size() - transport));
  ip_layout::store16(&second[transport + 16], pseudo);
  complete_checksum(second,
                    {.checksum_start = static_cast<uint16_t>(transport), .checksum_offset = 16});
  Merger merger;
  merger.begin(pieces[0]);
  return merger.try_add(second);
}

TEST(Merge, wants_every_field_equal_that_is_not_counted_on) {
  const auto flip = [](size_t at, uint8_t bit = 1) {
    return [at, bit](ByteVector& packet) { packet[at] ^= bit; };
  };
  const JoinedShape v4{.seq = 1000}, v6{.is_v4 = false, .seq = 1000};
  EXPECT_TRUE(merges_with(v4, [](ByteVector&) {}));
  EXPECT_TRUE(merges_with(v6, [](ByteVector&) {}));
  // DSCP, ECN; identification; don't fragment; time to live; both addresses.
  for (const size_t at : {1, 5, 6, 8, 15, 19}) EXPECT_FALSE(merges_with(v4, flip(at, 0x40))) << at;
  // Ports, seq, acknowledged, offset's reserved bits, window, urgent pointer, option.
  for (const size_t at : {0, 3, 7, 11, 12, 15, 19, 25}) {
    EXPECT_FALSE(merges_with(v4, flip(20 + at))) << at;
    EXPECT_FALSE(merges_with(v6, flip(40 + at))) << at;
  }
  // Traffic class, flow label, hop limit, both addresses.
  for (const size_t at : {1, 3, 7, 8, 39}) EXPECT_FALSE(merges_with(v6, flip(at))) << at;
  // SYN, RST, URG, ECE, CWR; but FIN and PSH are those of a last segment.
  for (const uint8_t flag : {0x02, 0x04, 0x20, 0x40, 0x80}) {
    EXPECT_FALSE(merges_with(v4, flip(33, flag))) << int{flag};
  }
  for (const uint8_t flag : {0x01, 0x08, 0x09}) EXPECT_TRUE(merges_with(v4, flip(33, flag)));
}

TEST(Merge, ends_after_a_short_segment_and_after_a_pushed_one) {
  const auto short_end = split_all(make_joined({.payload_bytes = 1500, .seq = 1}));
  const auto behind_short = split_all(
      make_joined({.payload_bytes = 3000, .segment_bytes = 400, .identification = 0, .seq = 1501}));
  Merger merger;
  merger.begin(short_end[0]);
  EXPECT_TRUE(merger.try_add(short_end[1]));
  EXPECT_FALSE(merger.try_add(behind_short[0]));
  EXPECT_EQ(merger.packet_count(), 2u);

  const auto pushed = split_all(make_joined({.payload_bytes = 2000, .seq = 1, .flags = 0x18}));
  const auto behind_pushed =
      split_all(make_joined({.payload_bytes = 3000, .identification = 0, .seq = 2001}));
  merger.begin(pushed[0]);
  EXPECT_TRUE(merger.try_add(pushed[1]));
  EXPECT_FALSE(merger.try_add(behind_pushed[0]));
  merger.begin(pushed[1]);
  EXPECT_FALSE(merger.try_add(behind_pushed[0])) << "a pushed segment begins nothing";
}

TEST(Merge, stays_below_what_ip_can_say) {
  const auto first = make_joined({.payload_bytes = 65000, .segment_bytes = 1000, .seq = 1});
  auto pieces = split_all(first);
  const auto second = split_all(make_joined(
      {.payload_bytes = 3000, .segment_bytes = 1000, .identification = 63, .seq = 65001}));
  pieces.insert(pieces.end(), second.begin(), second.end());
  Merger merger;
  merger.begin(pieces[0]);
  size_t count = 1;
  while (count < pieces.size() && merger.try_add(pieces[count])) ++count;
  EXPECT_EQ(count, 65u);
}

TEST(Merge, begins_with_any_bytes) {
  Merger merger;
  for (size_t bytes = 0; bytes < 80; ++bytes) {
    for (const uint8_t version : {0x45, 0x60, 0x00, 0xff}) {
      ByteVector packet(bytes, 0);
      if (bytes > 0) packet[0] = version;
      merger.begin(packet);
      EXPECT_FALSE(merger.try_add(packet));
    }
  }
}

}  // namespace
}  // namespace cw::test
