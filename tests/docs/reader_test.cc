// A reader who is told something wrong says so, and where.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/docs/reader.h"
#include "tests/lab/space.h"

namespace cw::docs {
namespace {

class Reading : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = lab::obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(tree_.path(name)) << text;
  }
  /// What is wrong with a document of this text.
  std::string wrong_in(const std::string& text, bool is_night = false) {
    write("x.md", text);
    return Reader(std::filesystem::path(tree_.path("x.md")).parent_path(), CW_PROGRAMS, is_night)
        .follow("x.md");
  }

  lab::Folder tree_;
};

TEST_F(Reading, believes_what_is_so) {
  write("before.md", "```sh\necho made > it\n```\n```sh once\nfalse\n```\n");
  EXPECT_EQ(wrong_in("<!-- run after=before.md -->\n```sh\ncat it\n```\n```text\nmade\n```\n"
                     "```c file=sub/a.c\nint a;\n```\n```c add=sub/a.c\nint b;\n```\n"
                     "```sh\ncat sub/a.c\n```\n```text exact\nint a;\nint b;\n```\n"
                     "```sh status=3\nexit 3\n```\n```sh by=demo_test\nfalse\n```\n"
                     "```sh background\necho begun >&2; sleep 60\n```\n```text\nbegun\n```\n"
                     "```sh until\necho x >> times; wc -l < times\n```\n```text exact\n3\n```\n"
                     "```sh in=tree\nhead -n 2 before.md\n```\n```text\necho made > it\n```\n"
                     "```sh long\nfalse\n```\n"),
            "");
}

TEST_F(Reading, says_what_is_not) {
  EXPECT_TRUE(wrong_in("```sh\ntrue\nfalse | true\n```\n").starts_with("x.md:1: ends with 1"));
  EXPECT_TRUE(wrong_in("\n```sh\ntrue\n```\n```text\nx\n```\n").starts_with("x.md:2: this does"));
  EXPECT_NE(wrong_in("```sh long\nfalse\n```\n", /*is_night=*/true), "");
  EXPECT_NE(wrong_in("```sh in=tree\ntouch here\n```\n"), "") << "nobody writes in the tree";
  EXPECT_NE(wrong_in("```sometimes\nx\n```\n"), "");
}

}  // namespace
}  // namespace cw::docs
