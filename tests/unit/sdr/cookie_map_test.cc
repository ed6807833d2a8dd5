#include "dataplane/sdr/seat/cookie_map.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "dataplane/base/prng.h"

namespace cw::sdr {
namespace {

TEST(CookieMap, does_what_an_unordered_map_of_bounded_size_does) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Prng prng(seed);
    constexpr size_t capacity = 16;
    CookieMap<uint64_t> map(capacity);
    std::unordered_map<uint64_t, uint64_t> model;
    for (int step = 0; step < 4000; ++step) {
      const uint64_t cookie = prng.below(40), value = prng.next();
      if (prng.below(2) == 0) {
        const bool fits = model.contains(cookie) || model.size() < capacity;
        ASSERT_EQ(map.try_set(cookie, value), fits) << seed;
        if (fits) model[cookie] = value;
      } else {
        map.remove(cookie);
        model.erase(cookie);
      }
      ASSERT_EQ(map.count(), model.size()) << seed;
      for (uint64_t each = 0; each < 40; ++each) {
        const uint64_t* found = map.find(each);
        ASSERT_EQ(found != nullptr, model.contains(each)) << seed;
        if (found != nullptr) {
          ASSERT_EQ(*found, model[each]) << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cw::sdr
