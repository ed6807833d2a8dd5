// The rules, applied to the project itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tidy/rules.h"

namespace cw::tidy {
namespace {

const Files& tree() {
  static const Files files = read_tree(CW_SOURCE_DIR);
  return files;
}

void expect_none(const Violations& violations) {
  for (const Violation& violation : violations) ADD_FAILURE() << to_string(violation);
}

TEST(Tree, was_found) {
  const auto has = [](std::string_view path) {
    return std::ranges::find(tree(), path, &File::path) != tree().end();
  };
  EXPECT_TRUE(has("dataplane/port.h"));
  EXPECT_TRUE(has("tests/tidy/tree_test.cc"));
  EXPECT_TRUE(has("CMakeLists.txt"));
}

TEST(Tree, includes_only_what_the_table_allows) { expect_none(check_includes(tree())); }
TEST(Tree, makes_no_banned_calls) { expect_none(check_calls(tree())); }
TEST(Tree, keeps_its_shape) { expect_none(check_shape(tree())); }
TEST(Tree, has_a_sentence_and_a_test_per_drop_reason) { expect_none(check_drop_reasons(tree())); }
TEST(Tree, has_a_test_per_field_of_the_policy_door) { expect_none(check_policy_fields(tree())); }
TEST(Tree, cites_every_rule_of_the_specification) { expect_none(check_citations(tree())); }

}  // namespace
}  // namespace cw::tidy
