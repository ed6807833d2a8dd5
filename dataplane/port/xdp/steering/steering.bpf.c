// Which frames of an interface are the gateway's. Runs in the kernel (XDP) on each frame that
// arrives, before the kernel has made anything of it; all that is not ours goes on to the kernel as
// if there were no gateway.
//
//   WAN   UDP to our address and port, of a peer's address   -> the socket of its queue
//         the same of anybody else, or not as a peer writes  -> dropped, counted
//   LAN   IP to one of our prefixes, to our MAC or a group's -> the socket of its queue
//   else                                                     -> the kernel
//
// A queue whose socket is gone, as that of a process that was killed, has all its frames go to the
// kernel: what is left of a dead gateway swallows nothing.
//
// Fragments behind the first have no ports and go to the kernel, as do frames with a VLAN tag that
// is not ours, and IPv6 packets with a header between IP and UDP: no peer writes such.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xdp/xdp_helpers.h>

#include "dataplane/port/xdp/steering/steering.h"

#define IP_MORE 0x2000
#define IP_OFFSET 0x1fff
#define BTH_BYTES 12
#define DETH_BYTES 8
#define OPCODE_UD_SEND_ONLY 0x64
#define ENVELOPE_MAGIC 0xca05
#define RECEIVER_NONCE 16  // in an envelope (SPEC.md 4)
#define HELLO 1000000ull

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, STEERING_SOCKETS_MAX);
  __type(key, __u32);
  __type(value, __u32);
} sockets SEC(".maps");

// Never changes once the program is loaded, so that what it is not for is left out.
const volatile struct steering_config own = {};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, STEERING_PEERS_MAX);
  __type(key, struct steering_address);
  __type(value, __u8);
} peers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, STEERING_PREFIXES_MAX);
  __type(key, struct steering_prefix);
  __type(value, __u8);
} prefixes_v4 SEC(".maps"), prefixes_v6 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, STEERING_FATES);
  __type(key, __u32);
  __type(value, __u64);
} fates SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct steering_bucket);
} hellos SEC(".maps");

struct {
  __uint(priority, 20);
  __uint(XDP_PASS, 1);  // what is the kernel's may be another program's first
} XDP_RUN_CONFIG(causeway_xdp);

// ---- what becomes of a frame ----

static __always_inline int end(__u32 fate, int action) {
  __u64* const count = bpf_map_lookup_elem(&fates, &fate);
  if (count) ++*count;
  return action;
}
static __always_inline int pass(void) { return end(STEERING_PASSED, XDP_PASS); }
static __always_inline int drop(__u32 fate) { return end(fate, XDP_DROP); }
static __always_inline int take(const struct xdp_md* frame) {
  end(STEERING_TAKEN, XDP_PASS);
  return bpf_redirect_map(&sockets, frame->rx_queue_index, XDP_PASS);
}

// ---- WAN ----

// An envelope to a receiver whose nonce its sender does not know.
static __always_inline int is_hello(const __u8* transport, const void* stop) {
  const __u8* const envelope = transport + BTH_BYTES + DETH_BYTES;
  if ((const void*)(envelope + RECEIVER_NONCE + sizeof(__u64)) > stop) return 0;
  if (transport[0] != OPCODE_UD_SEND_ONLY) return 0;
  if (envelope[0] != ENVELOPE_MAGIC >> 8 || envelope[1] != (ENVELOPE_MAGIC & 0xff)) return 0;
  __u8 any = 0;
  for (int i = 0; i < (int)sizeof(__u64); ++i) any |= envelope[RECEIVER_NONCE + i];
  return any == 0;
}

static __always_inline int may_greet(void) {
  const __u32 zero = 0;
  struct steering_bucket* const bucket = bpf_map_lookup_elem(&hellos, &zero);
  if (!bucket) return 1;
  const __u64 now = bpf_ktime_get_ns(), most = own.hellos_per_second * HELLO;
  __u64 gap = now - bucket->at_ns;
  if (gap > 1000000000ull) gap = 1000000000ull;
  __u64 tokens = bucket->tokens + gap * own.hellos_per_second / (1000000000ull / HELLO);
  if (tokens > most) tokens = most;
  bucket->at_ns = now;
  bucket->tokens = tokens < HELLO ? tokens : tokens - HELLO;
  return tokens >= HELLO;
}

static __always_inline int steer_udp(const struct xdp_md* frame, const struct udphdr* udp,
                                     const struct steering_address* source, __u32 flaw) {
  const void* const stop = (const void*)(long)frame->data_end;
  if ((const void*)(udp + 1) > stop || udp->dest != own.udp_port) return pass();
  if (flaw) return drop(flaw);
  if (!bpf_map_lookup_elem(&peers, source)) return drop(STEERING_STRANGER);
  const __u8* const transport = (const __u8*)(udp + 1);
  if ((const void*)(transport + BTH_BYTES) > stop) return drop(STEERING_SHORT);
  if (is_hello(transport, stop) && !may_greet()) return drop(STEERING_HELLO_FLOOD);
  return take(frame);
}

static __always_inline int steer_wan_v4(const struct xdp_md* frame, const struct iphdr* ip) {
  const void* const stop = (const void*)(long)frame->data_end;
  if ((const void*)(ip + 1) > stop || ip->protocol != IPPROTO_UDP) return pass();
  if (ip->daddr != *(const volatile __u32*)own.address.bytes) return pass();
  const __u16 fragment = bpf_ntohs(ip->frag_off);
  if (fragment & IP_OFFSET || ip->ihl < 5) return pass();
  struct steering_address source = {};
  __builtin_memcpy(source.bytes, &ip->saddr, sizeof(ip->saddr));
  const __u32 flaw = ip->ihl > 5 ? STEERING_OPTIONS : fragment & IP_MORE ? STEERING_FRAGMENT : 0;
  const struct udphdr* const udp = (const void*)((const __u8*)ip + ip->ihl * 4);
  return steer_udp(frame, udp, &source, flaw);
}

static __always_inline int steer_wan_v6(const struct xdp_md* frame, const struct ipv6hdr* ip) {
  const void* const stop = (const void*)(long)frame->data_end;
  if ((const void*)(ip + 1) > stop || ip->nexthdr != IPPROTO_UDP) return pass();
  const __u64* const target = (const __u64*)&ip->daddr;
  const volatile __u64* const ours = (const volatile __u64*)&own.address;
  if (target[0] != ours[0] || target[1] != ours[1]) return pass();
  struct steering_address source;
  __builtin_memcpy(source.bytes, &ip->saddr, sizeof(source.bytes));
  return steer_udp(frame, (const void*)(ip + 1), &source, 0);
}

static __always_inline int steer_wan(const struct xdp_md* frame) {
  const void* const stop = (const void*)(long)frame->data_end;
  const struct ethhdr* const link = (const void*)(long)frame->data;
  if ((const void*)(link + 1) > stop) return pass();
  if (own.ip_version == 4 && link->h_proto == bpf_htons(ETH_P_IP)) {
    return steer_wan_v4(frame, (const void*)(link + 1));
  }
  if (own.ip_version == 6 && link->h_proto == bpf_htons(ETH_P_IPV6)) {
    return steer_wan_v6(frame, (const void*)(link + 1));
  }
  return pass();
}

// ---- LAN ----

struct vlan_tag {
  __be16 id;
  __be16 type;
};

static __always_inline int is_for_us(const struct ethhdr* link) {
  if (link->h_dest[0] & 1) return 1;  // of a group, which its prefix tells
  __u8 differs = 0;
  for (int i = 0; i < ETH_ALEN; ++i) differs |= link->h_dest[i] ^ own.mac[i];
  return differs == 0;
}

static __always_inline int steer_lan(const struct xdp_md* frame) {
  const void* const stop = (const void*)(long)frame->data_end;
  const struct ethhdr* const link = (const void*)(long)frame->data;
  if ((const void*)(link + 1) > stop || !is_for_us(link)) return pass();
  const void* content = link + 1;
  __be16 type = link->h_proto;
  __u16 vlan = 0;
  if (type == bpf_htons(ETH_P_8021Q)) {
    const struct vlan_tag* const tag = content;
    if ((const void*)(tag + 1) > stop) return pass();
    vlan = bpf_ntohs(tag->id) & 0xfff;
    type = tag->type;
    content = tag + 1;
  }
  if (vlan != own.vlan) return pass();
  struct steering_prefix target = {.bits = 32};
  if (type == bpf_htons(ETH_P_IP)) {
    const struct iphdr* const ip = content;
    if ((const void*)(ip + 1) > stop) return pass();
    __builtin_memcpy(target.address.bytes, &ip->daddr, sizeof(ip->daddr));
    return bpf_map_lookup_elem(&prefixes_v4, &target) ? take(frame) : pass();
  }
  if (type == bpf_htons(ETH_P_IPV6)) {
    const struct ipv6hdr* const ip = content;
    if ((const void*)(ip + 1) > stop) return pass();
    target.bits = 128;
    __builtin_memcpy(target.address.bytes, &ip->daddr, sizeof(ip->daddr));
    return bpf_map_lookup_elem(&prefixes_v6, &target) ? take(frame) : pass();
  }
  return pass();
}

SEC("xdp")
int causeway_xdp(struct xdp_md* frame) {
  const __u32 queue = frame->rx_queue_index;
  if (!bpf_map_lookup_elem(&sockets, &queue)) return XDP_PASS;
  if (own.side == STEERING_WAN) return steer_wan(frame);
  if (own.side == STEERING_LAN) return steer_lan(frame);
  return pass();
}

// What the kernel asks for its clock: this file may be had under the GPL, version 2, too.
char terms[] SEC("license") = "GPL";
