#include "dataplane/base/result.h"

#include <gtest/gtest.h>

namespace cw {
namespace {

Result<int> make_port_count(int wanted) {
  if (wanted > 4) return failure("ports: 5 asked for, 1 to 4 accepted");
  return wanted;
}

TEST(Result, carries_either_the_value_or_the_sentence) {
  EXPECT_EQ(make_port_count(4).value(), 4);
  EXPECT_EQ(make_port_count(5).error().sentence, "ports: 5 asked for, 1 to 4 accepted");
}

}  // namespace
}  // namespace cw
