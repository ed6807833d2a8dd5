// What the program in the kernel (steering.bpf.c) and its user agree on. C, and no more than
// integers: the program is built for another machine.
#pragma once

#include <linux/types.h>

#define STEERING_SOCKETS_MAX 64  // receive queues of an interface
#define STEERING_PEERS_MAX 4096  // addresses of peers
#define STEERING_PREFIXES_MAX 65536

enum steering_side {
  STEERING_NONE = 0,  // everything is the kernel's
  STEERING_WAN = 1,
  STEERING_LAN = 2,
};

// Addresses and ports as they are on the wire; IPv4 in the first four bytes, the rest zero.
struct steering_address {
  __u8 bytes[16];
};

struct steering_config {
  __u32 side;
  __u32 hellos_per_second;  // WAN: of each processor
  __u16 udp_port;           // WAN: ours, big endian
  __u16 vlan;               // LAN: of the hosts' frames; 0: they have no tag
  __u8 ip_version;          // WAN: 4 or 6
  __u8 mac[6];              // LAN: ours
  __u8 zero[5];
  struct steering_address address;  // WAN: ours
};

// LAN: what goes to a socket. The key of an LPM trie, one for each IP version.
struct steering_prefix {
  __u32 bits;
  struct steering_address address;
};

// What becomes of a frame, each counted on its processor.
enum steering_fate {
  STEERING_TAKEN,        // to a socket
  STEERING_PASSED,       // to the kernel
  STEERING_STRANGER,     // WAN: to our UDP port, not from a peer; from here on it is dropped
  STEERING_OPTIONS,      // WAN: to our UDP port with IPv4 options, which no peer writes
  STEERING_FRAGMENT,     // WAN: a first fragment to our UDP port
  STEERING_SHORT,        // WAN: to our UDP port, and too short for a transport packet
  STEERING_HELLO_FLOOD,  // WAN: more HELLOs than may come
  STEERING_FATES,
};

// Of one processor.
struct steering_bucket {
  __u64 at_ns;   // when it was filled last
  __u64 tokens;  // in millionths of a HELLO
};
