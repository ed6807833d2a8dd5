#include "dataplane/base/assert.h"

#include <gtest/gtest.h>

namespace cw {
namespace {

TEST(AssertDeathTest, prints_one_line_with_file_line_and_condition_and_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int packets = 3;
  EXPECT_EXIT(CW_ASSERT(packets == 4), testing::KilledBySignal(SIGABRT),
              "^[^\n]*assert_test\\.cc:[0-9]+: assertion failed: packets == 4\n$");
}

TEST(Assert, evaluates_its_condition_once_and_goes_on) {
  int evaluations = 0;
  CW_ASSERT(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(DcheckDeathTest, stops_the_program_exactly_in_builds_without_ndebug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int evaluations = 0;
#ifdef NDEBUG
  CW_DCHECK(++evaluations == 0);
  EXPECT_EQ(evaluations, 0) << "costs nothing, not even the condition";
#else
  EXPECT_DEATH(CW_DCHECK(++evaluations == 0), "assertion failed: \\+\\+evaluations == 0");
#endif
}

}  // namespace
}  // namespace cw
