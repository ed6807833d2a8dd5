#include "dataplane/port/dpdk/packet_pool.h"

#include <rte_eal.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <vector>

#include "dataplane/port/dpdk/mbuf_inline.h"

namespace cw {
namespace {

/// Packets given back last are lent first, since they are warm; by the ring that DPDK prefers all
/// take turns, and a pool is larger than the caches.
bool try_order(rte_mempool* pool, bool is_copied) {
  return (is_copied && rte_mempool_set_ops_byname(pool, "stack", nullptr) == 0) ||
         rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr) == 0;
}

/// So much that objects fill pages without a gap, together with all that DPDK puts around.
unsigned bytes_in_pages(unsigned bytes, unsigned flags) {
  const auto page = static_cast<size_t>(getpagesize());
  const size_t total = rte_mempool_calc_obj_size(bytes, flags, nullptr);
  const size_t wanted = total <= page / 2 ? page / 2 : page;
  return total >= wanted ? bytes : static_cast<unsigned>(bytes + wanted - total);
}

/// Takes the packets that the driver does not tell the kernel of out of the pool, for ever.
void forget_what_is_beyond(rte_mempool* pool) {
  const auto* const memory = STAILQ_FIRST(&pool->mem_list);
  const auto begin = reinterpret_cast<uintptr_t>(memory->addr);
  const uintptr_t end = begin + size_t{pool->populated_size} *
                                    rte_mempool_calc_obj_size(pool->elt_size, pool->flags, nullptr);
  std::vector<void*> told;
  void* object = nullptr;
  for (unsigned i = 0; i < pool->populated_size; ++i) {
    if (rte_mempool_ops_dequeue_bulk(pool, &object, 1) != 0) break;
    const auto at = reinterpret_cast<uintptr_t>(object);
    if (at >= begin && at + pool->elt_size + pool->trailer_size <= end) told.push_back(object);
  }
  rte_mempool_ops_enqueue_bulk(pool, told.data(), static_cast<unsigned>(told.size()));
}

}  // namespace

// What rte_pktmbuf_pool_create() does, with a flag and an order that it does not take.
rte_mempool* make_packet_pool(const PacketPoolOptions& options) {
  const bool is_packed = options.is_copied && !rte_eal_has_hugepages();
  const unsigned flags = (is_packed ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0u) |
                         (options.is_umem ? RTE_MEMPOOL_F_NO_SPREAD : 0u);
  const auto around = static_cast<unsigned>(sizeof(rte_mbuf) + packet_room_bytes);
  const unsigned bytes = around + options.room_bytes;
  rte_mempool* const pool = rte_mempool_create_empty(
      options.name.c_str(), options.packets + (options.is_umem ? 1 : 0),
      options.is_umem ? bytes_in_pages(bytes, flags) : bytes, options.cache_packets,
      sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, flags);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private sizes = {
      .mbuf_data_room_size = options.room_bytes, .mbuf_priv_size = packet_room_bytes, .flags = 0};
  rte_pktmbuf_pool_init(pool, &sizes);
  if (!try_order(pool, options.is_copied) || rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  if (options.is_umem) forget_what_is_beyond(pool);
  return pool;
}

}  // namespace cw
