#include <gtest/gtest.h>

#include "tests/lab/enclosure.h"
#include "tests/lab/space.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!cw::lab::obstacle().empty()) return RUN_ALL_TESTS();
  return cw::lab::run_enclosed([] { return RUN_ALL_TESTS(); });
}
