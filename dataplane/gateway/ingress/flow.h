// Which frames keep their order among themselves: a keyed hash of what names a flow, cut to one of
// 65,536 buckets. Two flows in one bucket wait for each other and lose nothing else, so there is no
// state per flow and nothing to evict; without the key, hosts cannot aim at each other's buckets.
// The bucket also says which link of several a flow takes, so the key is the same in each life of a
// site: what the far end still holds of the last one cannot be overtaken by another link.
//
//   what                      is named by addresses, protocol and
//   TCP, UDP                  both ports
//   RoCEv2                    destination QP, and whether it is of the requesting half (requests)
//                             or of the answering one (READ and ATOMIC responses, acknowledgements)
//   fragments, all else       nothing more
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory/table.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway {

/// SipHash (Aumasson and Bernstein), for rows of whole 64-bit words as the machine has them.
/// 1-3 keeps who does not know the key from finding collisions; 2-4 is the original.
template <int CompressRounds, int FinalRounds>
class SipHash {
 public:
  constexpr SipHash(uint64_t key_low, uint64_t key_high)
      : start_{key_low ^ 0x736f6d6570736575, key_high ^ 0x646f72616e646f6d,
               key_low ^ 0x6c7967656e657261, key_high ^ 0x7465646279746573} {}

  constexpr uint64_t operator()(std::span<const uint64_t> words) const {
    State state = start_;
    for (const uint64_t word : words) state.take(word);
    state.take(uint64_t{words.size() * sizeof(uint64_t)} << 56);
    state.v2 ^= 0xff;
    for (int i = 0; i < FinalRounds; ++i) state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
  }

 private:
  struct State {
    uint64_t v0, v1, v2, v3;
    constexpr void take(uint64_t word) {
      v3 ^= word;
      for (int i = 0; i < CompressRounds; ++i) round();
      v0 ^= word;
    }
    constexpr void round() {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  State start_;
};

class FlowHash {
 public:
  /// `key` is secret.
  explicit FlowHash(const uint64_t (&key)[2]) : hash_(key[0], key[1]) {}

  /// Cost: hot, two words hashed for IPv4, five for IPv6.
  uint16_t bucket_of(const IpPacket& packet) const {
    const uint64_t name = name_behind_addresses(packet);
    const auto source = halves_of(packet.source), target = halves_of(packet.target);
    // Of IPv4 the other halves are zero.
    const std::array v4{name, source[0] | target[0] << 32};
    if (!packet.is_v6) return static_cast<uint16_t>(hash_(v4));
    const std::array v6{name, source[0], source[1], target[0], target[1]};
    return static_cast<uint16_t>(hash_(v6));
  }

 private:
  enum Named : uint64_t { ByAddresses, ByPorts, ByRequester, ByResponder };

  static uint64_t name_behind_addresses(const IpPacket& packet) {
    const auto name = [&packet](Named named, uint32_t number) {
      return named << 40 | uint64_t{packet.protocol} << 32 | number;
    };
    if (packet.is_roce) {
      return name(packet.is_roce_response() ? ByResponder : ByRequester, packet.target_qp);
    }
    if (!packet.has_ports) return name(ByAddresses, 0);
    return name(ByPorts, uint32_t{packet.source_port} << 16 | packet.target_port);
  }

  SipHash<1, 3> hash_;
};

/// The next number of each bucket of one stream. 256 KiB at most, a page of 4 KiB for each row of
/// 1,024 buckets of which any was used; numbers begin anew with an epoch.
class BucketSequences {
 public:
  BucketSequences() : next_(bucket_count, &memory_) {}

  /// What a frame of `bytes` is to bear; a frame in turn has its number only when take() follows.
  FrameHeader header_for(uint16_t bytes, uint16_t bucket, FrameOrder order) const {
    const uint32_t seq = order == FrameOrder::AtOnce ? 0 : next_[bucket];
    return {bytes, bucket, seq, order};
  }
  /// The frame with this header is on its way.
  void take(const FrameHeader& header) {
    if (header.order == FrameOrder::InTurn) ++next_[header.bucket];
  }
  void restart() { memory_.rest(); }

 private:
  LazyMemory memory_;
  Table<uint32_t> next_;
};

}  // namespace cw::gateway
