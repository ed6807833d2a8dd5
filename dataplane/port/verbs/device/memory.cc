#include "dataplane/port/verbs/device/memory.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::verbs {

// ---- what lies where ----

std::vector<Memory::Region>::iterator Memory::find_region(std::span<const uint8_t> memory) {
  return std::ranges::find_if(regions_, [&](const Region& each) {
    return each.memory.data() == memory.data() && each.memory.size() == memory.size();
  });
}

Result<uint32_t> Memory::add(std::span<uint8_t> memory) {
  const auto known = find_region(memory);
  if (known != regions_.end()) {
    ++known->uses;
    return known->registration->lkey;
  }
  constexpr int access = IBV_ACCESS_LOCAL_WRITE;
  Registration made(ibv_reg_mr(device_.domain(), memory.data(), memory.size(), access));
  if (made == nullptr) {
    return failure(
        "device \"" + device_.name() + "\" does not register " + std::to_string(memory.size()) +
        " bytes (" + std::strerror(errno) +
        "): the user needs CAP_IPC_LOCK, or a higher limit of locked memory (ulimit -l)");
  }
  const uint32_t key = made->lkey;
  regions_.push_back({memory, std::move(made), 1});
  return key;
}

void Memory::remove(std::span<uint8_t> memory) {
  const auto region = find_region(memory);
  if (region == regions_.end() || --region->uses > 0) return;
  latest_ = {};
  regions_.erase(region);
}

std::optional<uint32_t> Memory::search(const uint8_t* at) {
  for (const Region& each : regions_) {
    if (static_cast<size_t>(at - each.memory.data()) >= each.memory.size()) continue;
    latest_ = each.memory;
    latest_key_ = each.registration->lkey;
    return latest_key_;
  }
  return std::nullopt;
}

// ---- what peers may write to ----

Windows::Windows(const Device& device, size_t count)
    : device_(device),
      count_max_(count),
      table_(std::bit_ceil(count * 2 + 1)),
      mask_(table_.size() - 1) {}

/// Of the key, or of the free place where it would be.
size_t Windows::place_of(uint32_t key) const {
  constexpr uint32_t golden = 0x9e3779b1;
  size_t place = key * golden >> 8 & mask_;
  while (table_[place] != nullptr && table_[place]->rkey != key) place = (place + 1) & mask_;
  return place;
}

Window Windows::open(std::span<uint8_t> memory) {
  if (count_ == count_max_) return ++refused_, Window();
  if (memory.empty()) memory = nowhere_;
  constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  Registration made(ibv_reg_mr(device_.domain(), memory.data(), memory.size(), access));
  if (made == nullptr || made->rkey == 0) return ++refused_, Window();
  const Window window{reinterpret_cast<uintptr_t>(memory.data()), made->rkey};
  Registration& place = table_[place_of(made->rkey)];
  CW_ASSERT(place == nullptr);
  place = std::move(made);
  ++count_;
  return window;
}

void Windows::close(uint32_t key) {
  size_t hole = place_of(key);
  if (table_[hole] == nullptr) return;
  table_[hole].reset();
  --count_;
  // What was put behind it for lack of room moves up, so that it is still found.
  for (size_t next = (hole + 1) & mask_; table_[next] != nullptr; next = (next + 1) & mask_) {
    Registration moved = std::move(table_[next]);
    table_[place_of(moved->rkey)] = std::move(moved);
  }
}

}  // namespace cw::verbs
