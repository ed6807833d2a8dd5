// Prints, as Markdown, what a process keeps of each peer, and a **model** of what it costs an RNIC
// to have a queue pair for each: an RNIC keeps contexts of queue pairs in a cache of its own, and
// one that is not there is fetched from the host's memory. No RNIC was measured.
//
//   peer_state [--messages N]      1,000,000 messages per cell unless told
//
// Of a reliable connection: a context of 256 bytes and 128 work requests of 64 bytes each, both
// ways together; the cache keeps the contexts that were used last (LRU), and a miss takes a
// microsecond. All three are assumptions of ours; the sweep shows how much hangs on the second and
// third.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/datagram/member_row.h"
#include "dataplane/message/peer_row.h"

namespace {

constexpr uint64_t context_bytes = 256, request_bytes = 64, requests = 128;
constexpr uint64_t spray_row_bytes = 24;  // where there are several paths
constexpr uint32_t peer_counts[] = {100, 1'000, 10'000};

/// The contexts that were used last.
class Cache {
 public:
  Cache(uint32_t contexts, uint32_t room) : places_(contexts, used_.end()), room_(room) {}

  /// False: it had to be fetched.
  bool use(uint32_t context) {
    auto& place = places_[context];
    const bool is_there = place != used_.end();
    if (is_there) {
      used_.splice(used_.begin(), used_, place);
      return true;
    }
    if (used_.size() == room_) {
      places_[used_.back()] = used_.end();
      used_.pop_back();
    }
    used_.push_front(context);
    place = used_.begin();
    return false;
  }

 private:
  std::list<uint32_t> used_;
  std::vector<std::list<uint32_t>::iterator> places_;
  uint32_t room_;
};

enum class Order { ByChance, InTurn };

/// Share of messages whose context is not in the cache, once it is full.
double misses(uint32_t peers, uint32_t room, Order order, uint64_t messages) {
  Cache cache(peers, room);
  cw::Prng prng(1);
  uint64_t missed = 0;
  for (uint64_t i = 0; i < 2 * messages; ++i) {
    const uint64_t peer = order == Order::InTurn ? i % peers : prng.below(peers);
    const bool is_there = cache.use(static_cast<uint32_t>(peer));
    if (i >= messages && !is_there) ++missed;
  }
  return static_cast<double>(missed) / static_cast<double>(messages);
}

void print_memory() {
  const uint64_t ours = sizeof(cw::group::MemberRow) + sizeof(cw::group::PeerRow);
  const uint64_t theirs = context_bytes + requests * request_bytes;
  std::printf(
      "| peers | one queue pair, bytes a peer | MiB | with several paths, MiB | a queue pair each, "
      "bytes a peer (assumed) | MiB |\n|---|---|---|---|---|---|\n");
  for (const uint32_t peers : peer_counts) {
    const double mib = peers / double{1 << 20};
    std::printf("| %u | %llu | %.2f | %.2f | %llu | %.2f |\n", peers,
                static_cast<unsigned long long>(ours), static_cast<double>(ours) * mib,
                static_cast<double>(ours + spray_row_bytes) * mib,
                static_cast<unsigned long long>(theirs), static_cast<double>(theirs) * mib);
  }
  std::printf("\n");
}

/// Of messages of 4 KiB at 100 Gbit/s, 0.33 us each: how much longer one takes whose context is
/// fetched while nothing else is done.
void print_model(uint64_t messages) {
  std::printf(
      "| peers | contexts in the cache | missed, peers by chance | missed, peers in turn | a "
      "message's time at 0.5, 1 and 2 us a miss, by chance, of 0.33 us |\n|---|---|---|---|---|\n");
  for (const uint32_t peers : peer_counts) {
    for (const uint32_t room : {1024u, 2048u, 4096u, 8192u, 16384u}) {
      const double by_chance = misses(peers, room, Order::ByChance, messages);
      std::printf("| %u | %u | %.1f %% | %.1f %% | %.2f, %.2f, %.2f |\n", peers, room,
                  100 * by_chance, 100 * misses(peers, room, Order::InTurn, messages),
                  1 + by_chance * 0.5 / 0.33, 1 + by_chance / 0.33, 1 + by_chance * 2 / 0.33);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  uint64_t messages = 1'000'000;
  if (count == 3 && std::strcmp(arguments[1], "--messages") == 0) {
    messages = std::strtoull(arguments[2], nullptr, 10);
  } else if (count != 1) {
    messages = 0;
  }
  if (messages == 0) return std::fprintf(stderr, "usage: peer_state [--messages N]\n"), 2;
  print_memory();
  print_model(messages);
}
