// A gateway's file with something else in a place, and the sentence that is to be said of it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "control/gateway/plan.h"
#include "tests/unit/site_config/folder.h"

namespace cw::site {

inline std::string verdict(const std::string& text) {
  const auto plan = read_plan("f", text);
  return plan ? "" : plan.error().sentence;
}

struct Row {
  const char *from, *to, *more;
  const char* sentence;
};

inline void expect_all(std::initializer_list<Row> rows) {
  const Folder folder;
  folder.write("short.key", "0123456789\n");
  for (const Row& row : rows) {
    EXPECT_EQ(verdict(file_with(row.from, row.to, row.more)), row.sentence)
        << row.from << " -> " << row.to << " " << row.more;
  }
}

}  // namespace cw::site
