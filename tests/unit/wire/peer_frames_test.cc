// Whole frames between peers: what one end wraps the other must read, and what is not a peer's has
// a name.
#include <gtest/gtest.h>

#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/outer/peer_frames.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

using Kind = PeerFrames::Kind;

constexpr IpVersion both_versions[] = {IpVersion::V4, IpVersion::V6};
constexpr MacAddress our_mac = {2, 0, 0, 0, 0, 1}, hop_mac = {2, 0, 0, 0, 0, 9};
constexpr uint16_t our_port = 4791, far_port = 6000, paths = 4;

IpAddress ip(uint8_t last) { return {10, 0, 0, last}; }

PeerFrames end(IpVersion version, uint8_t own, uint16_t own_port, std::vector<FramePeer> peers,
               std::vector<FrameGroup> groups = {}) {
  return PeerFrames({.ip_version = version,
                     .ip = ip(own),
                     .mac = our_mac,
                     .udp_port = own_port,
                     .paths = paths,
                     .peers = std::move(peers),
                     .groups = std::move(groups)},
                    exact_icrc());
}
/// Ours, whose peers are 2 and 3, and that of 3.
PeerFrames near_end(IpVersion version) {
  return end(version, 1, our_port, {{ip(2), far_port}, {ip(3), far_port}});
}
PeerFrames far_end(IpVersion version) { return end(version, 3, far_port, {{ip(1), our_port}}); }

/// A packet of this many bytes, behind room for headers and before room for the ICRC.
ByteVector wrapped_by(PeerFrames& end, PeerFrames::Route& route, uint16_t path,
                      size_t transport_bytes) {
  ByteVector room(outer_headers_bytes_max + transport_bytes + icrc_bytes);
  const auto transport = std::span(room).subspan(outer_headers_bytes_max, transport_bytes);
  for (size_t i = 0; i < transport.size(); ++i) transport[i] = static_cast<uint8_t>(i * 7 + path);
  const size_t before = end.wrap(route, transport, 46, 1);
  return {room.begin() + static_cast<ptrdiff_t>(outer_headers_bytes_max - before), room.end()};
}

ByteVector wrapped_by(PeerFrames& end, uint16_t path, size_t transport_bytes, size_t peer = 0) {
  return wrapped_by(end, end.route_to(peer, path, hop_mac), path, transport_bytes);
}

TEST(PeerFrames, of_every_path_are_read_where_they_arrive) {
  for (const IpVersion version : both_versions) {
    PeerFrames near = near_end(version), far = far_end(version);
    for (uint16_t path = 0; path < paths; ++path) {
      const ExactCopy frame(wrapped_by(far, path, 100u + path));
      PeerFrame read;
      ASSERT_EQ(near.read(frame.span(), read), Kind::Right) << path;
      EXPECT_EQ(read.peer, 1);
      EXPECT_EQ(read.path, path);
      EXPECT_EQ(read.dscp, 46);
      EXPECT_EQ(read.ecn, 1);
      EXPECT_EQ(read.transport_bytes, 100u + path);
      EXPECT_EQ(frame.span()[read.transport_offset], path);
    }
  }
}

TEST(PeerFrames, to_a_group_are_read_by_who_belongs_to_it) {
  const FrameGroup ours{.ip = {239, 1, 2, 3}, .mac = {1, 0, 0x5e, 1, 2, 3}, .udp_port = 4800};
  FrameGroup other = ours;
  other.ip[3] = 4;
  for (const IpVersion version : both_versions) {
    PeerFrames near = end(version, 1, our_port, {{ip(2), far_port}, {ip(3), far_port}}, {ours});
    PeerFrames far = end(version, 3, far_port, {{ip(1), our_port}}, {other, ours});
    for (uint16_t path = 0; path < paths; ++path) {
      const ExactCopy frame(wrapped_by(far, far.route_to_group(1, path), path, 100));
      const auto parsed = parse_frame(frame.span(), FrameStart::Ethernet);
      ASSERT_TRUE(parsed);
      EXPECT_EQ(parsed->address.target_mac, ours.mac);
      EXPECT_EQ(parsed->address.hop_limit, 4);
      EXPECT_EQ(parsed->address.target_udp_port, ours.udp_port);
      PeerFrame read;
      ASSERT_EQ(near.read(frame.span(), read), Kind::Right);
      EXPECT_EQ(read.peer, 1);
      EXPECT_EQ(read.path, path);
      const ExactCopy foreign(wrapped_by(far, far.route_to_group(0, path), path, 100));
      EXPECT_EQ(near.read(foreign.span(), read), Kind::Elsewhere);
      ASSERT_EQ(far.read(wrapped_by(far, far.route_to_group(1, path), path, 100), read),
                Kind::Unknown);
    }
  }
}

// [C-63]
TEST(PeerFrames, of_every_link_are_another_peer_s) {
  constexpr uint16_t links = 3;
  std::vector<FramePeer> near_peers, far_peers;
  for (uint16_t link = 0; link < links; ++link) {
    near_peers.push_back({ip(3), far_port, link});
    far_peers.push_back({ip(1), our_port, static_cast<uint16_t>(links - 1 - link)});
  }
  for (const IpVersion version : both_versions) {
    PeerFrames near = end(version, 1, our_port, near_peers);
    PeerFrames far = end(version, 3, far_port, far_peers);
    for (uint16_t link = 0; link < links; ++link) {
      const ExactCopy frame(wrapped_by(far, 3, 64, links - 1 - link));
      PeerFrame read;
      ASSERT_EQ(near.read(frame.span(), read), Kind::Right) << link;
      EXPECT_EQ(read.peer, link);
      EXPECT_EQ(read.path, 3);
      EXPECT_EQ(parse_frame(frame.span(), FrameStart::Ethernet)->address.source_udp_port,
                far_port + 16 * link + 3);
    }
  }
}

TEST(PeerFrames, are_what_the_encoder_writes_for_rows_of_any_lengths) {
  for (const IpVersion version : both_versions) {
    PeerFrames far = far_end(version);
    for (const size_t bytes : {60u, 60u, 1404u, 16u, 1404u, 1404u}) {
      const ByteVector frame = wrapped_by(far, 2, bytes);
      const auto parsed = parse_frame(frame, FrameStart::Ethernet);
      ASSERT_TRUE(parsed);
      ByteVector headers(parsed->transport_offset);
      encode_outer_headers(parsed->address, FrameStart::Ethernet, bytes, headers);
      EXPECT_TRUE(std::ranges::equal(headers, std::span(frame).first(headers.size())));
      EXPECT_TRUE(exact_icrc().is_right(parsed->ip_and_udp_of(frame), parsed->covered_of(frame)));
      EXPECT_EQ(parsed->address.source_udp_port, far_port + 2);
      EXPECT_EQ(parsed->address.target_mac, hop_mac);
    }
  }
}

TEST(PeerFrames, leave_for_a_hop_s_new_mac) {
  PeerFrames far = far_end(IpVersion::V4);
  wrapped_by(far, 0, 40);
  const MacAddress other = {2, 0, 0, 0, 0, 7};
  ByteVector room(outer_headers_bytes_max + 40 + icrc_bytes);
  const auto transport = std::span(room).subspan(outer_headers_bytes_max, 40);
  const size_t before = far.wrap(far.route_to(0, 0, other), transport, 0, 0);
  EXPECT_TRUE(std::ranges::equal(
      other, std::span(room).subspan(outer_headers_bytes_max - before, other.size())));
}

// Longer headers than a form has: the frame is read header by header.
TEST(PeerFrames, may_bear_a_tag) {
  PeerFrames near = near_end(IpVersion::V4), far = far_end(IpVersion::V4);
  ByteVector frame = wrapped_by(far, 3, 64);
  const ByteVector tag = {0x81, 0x00, 0x00, 0x07};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  PeerFrame read;
  ASSERT_EQ(near.read(ExactCopy(frame).span(), read), Kind::Right);
  EXPECT_EQ(read.peer, 1);
  EXPECT_EQ(read.path, 3);
  EXPECT_EQ(read.transport_bytes, 64u);
  ASSERT_EQ(near.read(ExactCopy(frame).span(), read, /*leaves_icrc=*/true), Kind::Right);
  EXPECT_FALSE(read.is_icrc_due) << "where its IP header begins would have to be kept";
  frame.back() ^= 1;
  EXPECT_EQ(near.read(ExactCopy(frame).span(), read, /*leaves_icrc=*/true), Kind::Malformed);
}

TEST(PeerFrames, may_be_asked_for_their_icrc_later) {
  constexpr size_t transport_bytes = 64, udp_checksum = transport_bytes + icrc_bytes + 2;
  for (const IpVersion version : both_versions) {
    PeerFrames near = near_end(version), far = far_end(version);
    const ByteVector right = wrapped_by(far, 1, transport_bytes);
    const auto is_right_with = [&](size_t from_end, uint8_t change) {
      ByteVector frame = right;
      frame[frame.size() - from_end] ^= change;
      const ExactCopy copy(frame);
      PeerFrame read;
      EXPECT_EQ(near.read(copy.span(), read, /*leaves_icrc=*/true), Kind::Right);
      EXPECT_TRUE(read.is_icrc_due);
      return near.is_icrc_right(copy.span().subspan(read.transport_offset, read.transport_bytes));
    };
    EXPECT_TRUE(is_right_with(1, 0));
    for (size_t at = 1; at <= transport_bytes + icrc_bytes; ++at) {
      const bool is_the_networks = at == transport_bytes;  // the fifth byte of the BTH
      EXPECT_EQ(is_right_with(at, 1), is_the_networks) << at;
    }
    EXPECT_TRUE(is_right_with(udp_checksum, 1)) << "counts as ones";
    EXPECT_FALSE(is_right_with(udp_checksum + 5, 2)) << "another path's source port";
    PeerFrame read;
    ASSERT_EQ(near.read(ExactCopy(right).span(), read), Kind::Right);
    EXPECT_FALSE(read.is_icrc_due) << "nobody said that it could wait";
  }
}

TEST(PeerFrames, of_others_have_a_name) {
  PeerFrames near = near_end(IpVersion::V4), far = far_end(IpVersion::V4);
  const auto kind_of = [&near](const ByteVector& frame) {
    PeerFrame read;
    return near.read(ExactCopy(frame).span(), read);
  };
  const ByteVector right = wrapped_by(far, 0, 64);
  EXPECT_EQ(kind_of(right), Kind::Right);
  ByteVector frame = right;
  frame[12] = 0x08, frame[13] = 0x06;
  EXPECT_EQ(kind_of(frame), Kind::Foreign) << "ARP";
  PeerFrames stranger = end(IpVersion::V4, 4, far_port, {{ip(1), our_port}});
  EXPECT_EQ(kind_of(wrapped_by(stranger, 0, 64)), Kind::Unknown);
  PeerFrames of_other_port = end(IpVersion::V4, 3, far_port + paths, {{ip(1), our_port}});
  EXPECT_EQ(kind_of(wrapped_by(of_other_port, 0, 64)), Kind::Unknown);
  PeerFrames to_other = end(IpVersion::V4, 3, far_port, {{ip(5), our_port}});
  EXPECT_EQ(kind_of(wrapped_by(to_other, 0, 64)), Kind::Elsewhere);
  PeerFrames to_other_port = end(IpVersion::V4, 3, far_port, {{ip(1), our_port + 1}});
  EXPECT_EQ(kind_of(wrapped_by(to_other_port, 0, 64)), Kind::Elsewhere);
  frame = right;
  frame[60] ^= 1;
  EXPECT_EQ(kind_of(frame), Kind::Malformed) << "an ICRC that is wrong";
  frame = right;
  frame.resize(frame.size() - 1);
  EXPECT_EQ(kind_of(frame), Kind::Malformed) << "not whole";
  frame.assign(42 + 8 + icrc_bytes, 0);
  encode_outer_headers(parse_frame(right, FrameStart::Ethernet)->address, FrameStart::Ethernet, 8,
                       frame);
  EXPECT_EQ(kind_of(frame), Kind::Malformed) << "less than a BTH";
}

}  // namespace

}  // namespace cw::test
