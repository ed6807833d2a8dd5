#include "tests/tidy/source.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cw::tidy {
namespace {

TEST(BlankProse, keeps_length_and_lines) {
  EXPECT_EQ(blank_prose("a // b\nc /* d\n e */ f"), "a     \nc     \n      f");
  EXPECT_EQ(blank_prose("f(\"x\\\"y\", '\\'', 1'000)"), "f(\"    \", '  ', 1'000)");
  EXPECT_EQ(blank_prose("R\"(a\"b)\" c"), "R\"     \" c");
  EXPECT_EQ(blank_prose("R\"x(a)\" )x\" c"), "R\"        \" c");
}

TEST(BlankProse, survives_what_never_ends) {
  EXPECT_EQ(blank_prose("\"abc"), "\"   ");
  EXPECT_EQ(blank_prose("/* abc"), "      ");
  EXPECT_EQ(blank_prose("\"abc\\"), "\"    ");
  EXPECT_EQ(blank_prose("R\"(abc"), "R\"    ");
}

TEST(Lines, are_as_many_as_newlines) {
  EXPECT_EQ(lines_of("a\n\nb\n").size(), 3u);
  EXPECT_EQ(lines_of("a\nb").size(), 2u);
  EXPECT_TRUE(lines_of("").empty());
}

TEST(Includes, are_found_with_their_lines_and_kinds) {
  const auto found = includes_of(make_file("a.cc", "\n#include <span>\n#  include \"b/c.h\"\n"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].line == 2 && found[0].name == "span" && !found[0].is_quoted);
  EXPECT_TRUE(found[1].line == 3 && found[1].name == "b/c.h" && found[1].is_quoted);
}

TEST(Words, know_what_stands_around_them) {
  const auto words = words_of("std::chrono::now(a.free (1), b->c, Pool::d, ::e())");
  const auto word = [&](std::string_view text) {
    return *std::ranges::find(words, text, &Word::text);
  };
  EXPECT_TRUE(word("now").is_std && word("now").is_called && !word("now").is_scoped);
  EXPECT_TRUE(word("free").is_member && word("free").is_called);
  EXPECT_TRUE(word("c").is_member && !word("c").is_called);
  EXPECT_TRUE(word("d").is_scoped && !word("d").is_std);
  EXPECT_FALSE(words_of("Duration time()")[1].is_called) << "a declaration";
  EXPECT_TRUE(words_of("return time()")[1].is_called);
  EXPECT_TRUE(word("e").is_called && !word("e").is_scoped && !word("e").is_std);
}

size_t longest_function(std::string_view code) {
  size_t longest = 0;
  for (const Function& function : functions_of(code)) {
    longest = std::max(longest, function.line_count);
  }
  return longest;
}

TEST(Functions, are_told_from_namespaces_types_and_tables) {
  EXPECT_EQ(longest_function("namespace a {\nstruct B {\n  int c;\n};\n}\n"), 0u);
  EXPECT_EQ(longest_function("const int table[] = {\n1,\n2,\n};\n"), 0u);
  EXPECT_EQ(longest_function("struct B {\n  int c() {\n    return 1;\n  }\n};\n"), 3u);
  EXPECT_EQ(longest_function("B& B::operator=(B b) {\n  return b;\n}\n"), 3u);
  EXPECT_EQ(longest_function("B::B() : a_{1}, b_(2) {\n\n\n}\n"), 4u);
  EXPECT_EQ(longest_function("#define X(a) {\nint f() {\n}\n"), 2u);
  EXPECT_EQ(longest_function("extern  {\nint f() {\n if (1) {\n }\n}\n}\n"), 4u);
}

}  // namespace
}  // namespace cw::tidy
