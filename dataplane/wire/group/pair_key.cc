#include "dataplane/wire/group/pair_key.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/endian.h"

namespace cw::group {
namespace {

/// What the key is the MAC of.
struct PairName {
  char what[19];
  be64 epoch;
  be16 lower, higher;
};
static_assert(sizeof(PairName) == 31);

}  // namespace

PairKey pair_key(const MacKey& secret, uint64_t epoch, uint16_t one, uint16_t other) {
  PairName pair{{},
                be64(epoch),
                be16(std::min(one, other)),  // [C-72]
                be16(std::max(one, other))};
  static constexpr char what[] = "causeway group pair";
  static_assert(sizeof(what) - 1 == sizeof(pair.what));
  std::memcpy(pair.what, what, sizeof(pair.what));
  PairKey key;
  secret.compute(secret.state, &pair, sizeof(pair), key.data());
  return key;
}

}  // namespace cw::group
