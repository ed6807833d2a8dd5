#include "dataplane/port/verbs/device/memory.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::verbs {
namespace {

/// Of a registration, by what the kernel says.
std::string refusal(const Device& device, size_t bytes, bool is_dmabuf) {
  const int error = errno;
  const std::string begin =
      "device \"" + device.name() + "\" does not register " + std::to_string(bytes) + " bytes";
  const std::string why = " (" + std::string(std::strerror(error)) + ")";
  if (is_dmabuf && (error == EOPNOTSUPP || error == EPROTONOSUPPORT)) {
    return begin + " of a dmabuf" + why + ": its driver takes none; copy through memory of yours";
  }
  if (is_dmabuf) return begin + " of a dmabuf" + why;
  return begin + why +
         ": the user needs CAP_IPC_LOCK, or a higher limit of locked memory (ulimit -l)";
}

}  // namespace

// ---- what lies where ----

std::vector<Memory::Region>::iterator Memory::find_region(std::span<const uint8_t> memory) {
  return std::ranges::find_if(regions_, [&](const Region& each) {
    return each.memory.data() == memory.data() && each.memory.size() == memory.size();
  });
}

Registration Memory::make(std::span<uint8_t> memory, const Dmabuf& where, int access) const {
  ibv_pd* const domain = device_.domain();
  if (where.fd < 0) return Registration(ibv_reg_mr(domain, memory.data(), memory.size(), access));
  const auto named = reinterpret_cast<uintptr_t>(memory.data());
  return Registration(
      ibv_reg_dmabuf_mr(domain, where.offset, memory.size(), named, where.fd, access));
}

Result<uint32_t> Memory::add(std::span<uint8_t> memory, const Dmabuf& where) {
  const auto known = find_region(memory);
  if (known != regions_.end()) {
    ++known->uses;
    return known->registration->lkey;
  }
  const bool is_dmabuf = where.fd >= 0;
  OwnedFd kept(is_dmabuf ? fcntl(where.fd, F_DUPFD_CLOEXEC, 0) : -1);
  if (is_dmabuf && kept.get() < 0) {
    return failure("descriptor " + std::to_string(where.fd) +
                   " of a dmabuf cannot be kept: " + std::strerror(errno));
  }
  Registration made = make(memory, where, IBV_ACCESS_LOCAL_WRITE);
  if (made == nullptr) return failure(refusal(device_, memory.size(), is_dmabuf));
  const uint32_t key = made->lkey;
  regions_.push_back({memory, std::move(kept), where.offset, std::move(made), 1});
  return key;
}

const Memory::Region* Memory::holder_of(const uint8_t* at) const {
  const auto found = std::ranges::find_if(regions_, [&](const Region& each) {
    return static_cast<size_t>(at - each.memory.data()) < each.memory.size();
  });
  return found == regions_.end() ? nullptr : &*found;
}

Registration Memory::lay_open(std::span<uint8_t> memory) const {
  constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const Region* const region = holder_of(memory.data());
  if (region == nullptr || region->dmabuf.get() < 0) return make(memory, {}, access);
  const auto offset = static_cast<size_t>(memory.data() - region->memory.data());
  return make(memory, {region->dmabuf.get(), region->dmabuf_offset + offset}, access);
}

void Memory::remove(std::span<uint8_t> memory) {
  const auto region = find_region(memory);
  if (region == regions_.end() || --region->uses > 0) return;
  latest_ = {};
  regions_.erase(region);
}

std::optional<uint32_t> Memory::search(const uint8_t* at) {
  const Region* const region = holder_of(at);
  if (region == nullptr) return std::nullopt;
  latest_ = region->memory;
  latest_key_ = region->registration->lkey;
  return latest_key_;
}

// ---- what peers may write to ----

Windows::Windows(const Memory& memory, size_t count)
    : memory_(memory),
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
  Registration made = memory_.lay_open(memory);
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
