#include "dataplane/neighbour/table/neighbour_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// The finish of splitmix64: each bit of the result hangs on each of the input.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool is_free(const Neighbour& it) { return is_unspecified(it.ip.ip); }

/// Who loses its place first: nobody, then who never answered, then who was heard longest ago.
bool is_rather_lost(const Neighbour& a, const Neighbour& b) {
  if (is_free(a) != is_free(b)) return is_free(a);
  if (a.is_known != b.is_known) return !a.is_known;
  return a.is_known ? a.heard < b.heard : a.asked < b.asked;
}

}  // namespace

NeighbourTable::NeighbourTable(size_t count, const uint64_t (&key)[2])
    : key_{key[0], key[1]}, all_(count) {
  CW_ASSERT(std::has_single_bit(count) && count >= ways);
}

Neighbour* NeighbourTable::set_of(const HostAddress& ip) {
  const auto words = halves_of(ip.ip);
  const uint64_t hash = mixed(mixed(words[0] ^ key_[0]) ^ words[1] ^ key_[1]);
  return &all_[hash % (all_.size() / ways) * ways];
}

Neighbour* NeighbourTable::in(Neighbour* set, const HostAddress& ip) {
  Neighbour* const end = set + ways;
  Neighbour* const found = std::find_if(set, end, [&](const Neighbour& it) { return it.ip == ip; });
  return found == end ? nullptr : found;
}

Neighbour& NeighbourTable::take(const HostAddress& ip) {
  CW_DCHECK(!is_unspecified(ip.ip));
  Neighbour* const set = set_of(ip);
  if (Neighbour* const found = in(set, ip)) return *found;
  Neighbour& place = *std::min_element(set, set + ways, is_rather_lost);
  place = {.ip = ip};
  return place;
}

void NeighbourTable::doubt_all() {
  for (Neighbour& it : all_) it.doubt();
}

size_t NeighbourTable::known_count() const {
  return static_cast<size_t>(std::ranges::count_if(all_, &Neighbour::is_known));
}

}  // namespace cw
