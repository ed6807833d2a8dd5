#include "dataplane/sdr/sdk/context.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;

namespace {

constexpr uint32_t index_bits = 16;
constexpr uintptr_t page_bytes = 4096;

Region* find(const cw_mr* mr) {
  Region* region = Regions::find(mr);
  if (region == nullptr) misuse("the memory region is null or was deregistered");
  return region;
}

bool is_sound(const cw_context* context, void* address, size_t bytes, uint32_t access) {
  if (context == nullptr) return misuse("the context is null"), false;
  if (address == nullptr || bytes == 0 ||
      bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(address)) {
    return misuse("%zu bytes at %p cannot be a region", bytes, address), false;
  }
  if (access > CW_ACCESS_REMOTE_WRITE) {
    return misuse("access is %u and must be CW_ACCESS_LOCAL or CW_ACCESS_REMOTE_WRITE", access),
           false;
  }
  if (context->free_regions.is_empty()) {
    return misuse("all %zu regions are in use: raise regions_max", context->regions.count()), false;
  }
  return true;
}

/// What the device has registered.
cw_mr* lend(cw_context& context, std::span<uint8_t> memory, uint32_t access) {
  const uint32_t index = context.free_regions.pop();
  Region& region = context.regions.at(index);
  const auto life = static_cast<uint16_t>(region.life == UINT16_MAX ? 1 : region.life + 1);
  region = {.context = &context,
            .address = memory.data(),
            .bytes = memory.size(),
            .access = access,
            .lkey = uint32_t{life} << index_bits | index,
            .life = life};
  return context.regions.lend(index);
}

}  // namespace

cw_mr* cw_mr_reg(cw_context* context, void* address, size_t bytes, uint32_t access) {
  if (!is_sound(context, address, bytes, access)) return nullptr;
  const std::span<uint8_t> memory(static_cast<uint8_t*>(address), bytes);
  if (const auto done = context->sdr.port().register_memory(memory); !done) {
    return misuse(done.error()), nullptr;
  }
  return lend(*context, memory, access);
}

cw_mr* cw_mr_reg_dmabuf(cw_context* context, int fd, uint64_t offset, void* address, size_t bytes,
                        uint32_t access) {
  if (!is_sound(context, address, bytes, access)) return nullptr;
  if (fd < 0) return misuse("the descriptor of the dmabuf is %d", fd), nullptr;
  if (((reinterpret_cast<uintptr_t>(address) ^ offset) & (page_bytes - 1)) != 0) {
    return misuse(
               "offset %llu of a dmabuf is not mapped at %p: both lie at the same place in "
               "their pages",
               static_cast<unsigned long long>(offset), address),
           nullptr;
  }
  const std::span<uint8_t> memory(static_cast<uint8_t*>(address), bytes);
  if (const auto done = context->sdr.port().register_dmabuf(memory, {fd, offset}); !done) {
    return misuse(done.error()), nullptr;
  }
  return lend(*context, memory, access);
}

int cw_mr_dereg(cw_mr* mr) {
  Region* region = find(mr);
  if (region == nullptr) return CW_ERROR;
  if (region->uses > 0) return CW_RETRY;
  const uint32_t index = region->lkey & ((1u << index_bits) - 1);
  region->context->sdr.port().forget_memory({region->address, region->bytes});
  CW_ASSERT(region->context->free_regions.try_push(index));
  Regions::end(mr);
  return CW_SUCCESS;
}

uint32_t cw_mr_lkey_get(const cw_mr* mr) {
  const Region* region = find(mr);
  return region == nullptr ? 0 : region->lkey;
}

Region* cw_context::find_region(uint32_t lkey, const void* address, uint64_t bytes) {
  const uint32_t index = lkey & ((1u << index_bits) - 1);
  const bool is_known =
      index < regions.count() && regions.is_lent(index) && regions.at(index).lkey == lkey;
  if (!is_known) return misuse("lkey 0x%x names no region of this context", lkey), nullptr;
  Region& region = regions.at(index);
  const auto offset = reinterpret_cast<uintptr_t>(address) -
                      reinterpret_cast<uintptr_t>(region.address);  // huge when below it
  if (offset > region.bytes || bytes > region.bytes - offset) {
    misuse("%llu bytes at %p leave the region of %zu bytes at %p",
           static_cast<unsigned long long>(bytes), address, region.bytes,
           static_cast<void*>(region.address));
    return nullptr;
  }
  return &region;
}
