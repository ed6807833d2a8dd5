#include "bench/rdma/operations.h"

namespace cw::bench {
namespace {

constexpr Operation all[] = {
    {"write", "ib_write_bw -u 18", "RC writes of 64 KiB"},
    {"write_8qp", "ib_write_bw -u 18 -q 8", "RC writes of 64 KiB by 8 QPs"},
    {"write_cm", "ib_write_bw -u 18 -R", "RC writes of 64 KiB, connected by rdma_cm"},
    {"write_uc", "ib_write_bw -c UC", "UC writes of 64 KiB; what was sent, lost or not"},
    {"send", "ib_send_bw -u 18", "RC sends of 64 KiB"},
    {"send_8qp", "ib_send_bw -u 18 -q 8", "RC sends of 64 KiB by 8 QPs"},
    {"send_uc", "ib_send_bw -c UC", "UC sends of 64 KiB that arrived whole", false, true},
    {"send_ud", "ib_send_bw -c UD", "UD sends that arrived", false, true},
    {"read", "ib_read_bw -u 18", "RC reads of 64 KiB"},
    {"read_8qp", "ib_read_bw -u 18 -q 8", "RC reads of 64 KiB by 8 QPs"},
    {"atomic", "ib_atomic_bw -u 18", "fetch-and-adds of 8 bytes"},
    {"latency", "ib_write_lat -u 18 -n 200", "RC writes of 2 bytes, 200 there and back", true},
};

}  // namespace

std::span<const Operation> operations() { return all; }

const Operation* find_operation(const std::string& name) {
  for (const Operation& each : all) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

}  // namespace cw::bench
