#include "dataplane/port/dpdk/packet_pool.h"

#include <rte_eal.h>
#include <rte_mbuf_pool_ops.h>

#include "dataplane/port/dpdk/mbuf_inline.h"

namespace cw {
namespace {

/// Packets given back last are lent first, since they are warm; by the ring that DPDK prefers all
/// take turns, and a pool is larger than the caches.
bool try_order(rte_mempool* pool, bool is_copied) {
  return (is_copied && rte_mempool_set_ops_byname(pool, "stack", nullptr) == 0) ||
         rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr) == 0;
}

}  // namespace

// What rte_pktmbuf_pool_create() does, with a flag and an order that it does not take.
rte_mempool* make_packet_pool(const PacketPoolOptions& options) {
  const bool is_packed = options.is_copied && !rte_eal_has_hugepages();
  const auto bytes = static_cast<unsigned>(sizeof(rte_mbuf) + packet_room_bytes);
  rte_mempool* const pool = rte_mempool_create_empty(
      options.name.c_str(), options.packets, bytes + options.room_bytes, options.cache_packets,
      sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY,
      is_packed ? unsigned{RTE_MEMPOOL_F_NO_IOVA_CONTIG} : 0u);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private sizes = {
      .mbuf_data_room_size = options.room_bytes, .mbuf_priv_size = packet_room_bytes, .flags = 0};
  rte_pktmbuf_pool_init(pool, &sizes);
  if (!try_order(pool, options.is_copied) || rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

}  // namespace cw
