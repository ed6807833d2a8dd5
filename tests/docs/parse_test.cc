// What the tests of documents see in them: fences, what was printed, who runs what.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/docs/document.h"
#include "tests/docs/printed.h"
#include "tests/docs/runners.h"

namespace cw::docs {
namespace {

Document parse(const std::string& text) { return parse_document("x.md", text); }
std::string mistake(const std::string& text) {
  const Document document = parse(text);
  return document.mistakes.empty() ? "" : document.mistakes.front();
}

TEST(Document, has_commands_what_they_print_and_files) {
  const Document it = parse(
      "# A\n\nSome `words`.\n\n```sh at=a background\nls  # all\n```\n```text exact\nx\n```\n"
      "* a list\n\n  ```sh status=2 until\n  false\n  ```\n  ```text\n  y\n  ```\n"
      "```toml file=/etc/a.toml at=b\n[a]\n  b = 1\n```\n```c from=a.h\nint a;\n```\n"
      "```sh by=demo_test\n./demo\n```\n<!-- run after=b.md -->\n```text picture\n+--+\n```\n"
      "```text at=a\nup\n```\n```sh in=tree long\nls\n```\n");
  EXPECT_EQ(it.mistakes, std::vector<std::string>{});
  ASSERT_EQ(it.blocks.size(), 10u);
  EXPECT_TRUE(it.blocks[0].kind == Kind::Commands && it.blocks[0].is_background);
  EXPECT_EQ(it.blocks[0].place, "a");
  EXPECT_EQ(it.blocks[0].text, "ls  # all\n");
  EXPECT_EQ(it.blocks[0].line, 5u);
  EXPECT_TRUE(it.blocks[1].kind == Kind::Printed && it.blocks[1].is_exact);
  EXPECT_TRUE(it.blocks[2].status == 2 && it.blocks[2].is_repeated);
  EXPECT_EQ(it.blocks[2].text, "false\n");
  EXPECT_TRUE(it.blocks[4].kind == Kind::File && it.blocks[4].file == "/etc/a.toml");
  EXPECT_EQ(it.blocks[4].text, "[a]\n  b = 1\n");
  EXPECT_EQ(it.blocks[5].kind, Kind::Excerpt);
  EXPECT_EQ(it.blocks[6].by, "demo_test");
  EXPECT_EQ(it.blocks[7].kind, Kind::Picture);
  EXPECT_TRUE(it.blocks[8].is_log && it.blocks[8].place == "a");
  EXPECT_TRUE(it.blocks[9].is_in_tree && it.blocks[9].is_for_night);
  EXPECT_EQ(it.after, std::vector<std::string>{"b.md"});
}

TEST(Document, hides_no_command) {
  EXPECT_NE(mistake("```\nls\n```\n"), "");
  EXPECT_NE(mistake("```sh\nls\n"), "");
  EXPECT_NE(mistake("```sh at=c\nls\n```\n"), "");
  EXPECT_NE(mistake("```sh status=many\nls\n```\n"), "");
  EXPECT_NE(mistake("```sh sometimes\nls\n```\n"), "");
  EXPECT_NE(mistake("```bash\nls\n```\n"), "");
  EXPECT_NE(mistake("```toml\na = 1\n```\n"), "");
  EXPECT_NE(mistake("```text\nx\n```\n"), "");
  EXPECT_NE(mistake("```sh\nls\n```\nIt says\n```text\nx\n```\n"), "");
  EXPECT_NE(mistake("```sh by=demo_test\nls\n```\n```text\nx\n```\n"), "");
  EXPECT_NE(mistake("```sh until\nls\n```\n"), "");
  EXPECT_NE(mistake("Type\n\n    ls\n"), "");
  EXPECT_EQ(mistake("* one\n\n    and more of it\n"), "");
  EXPECT_NE(mistake("```sh not-run-here\nshow_gids\n```\n"), "");
  EXPECT_EQ(mistake("On mlx5, *not run here*:\n\n```sh not-run-here\nshow_gids\n```\n"), "");
  EXPECT_NE(mistake("<!-- run before=x -->\n"), "");
  EXPECT_EQ(mistake("<!-- trace -->\n"), "");
}

TEST(Printed, has_other_figures_and_the_same_words) {
  const auto has = [](const std::string& expected, const std::string& printed) {
    return missing_line(expected, printed, /*is_exact=*/false).empty();
  };
  EXPECT_TRUE(has("rtt 25.1 ms", "x\n  rtt   980 us, and more\n"));
  EXPECT_TRUE(has("loss 1.5e-05", "loss 0.3\n"));
  EXPECT_TRUE(has("k=32 m=4", "params k=8 m=2\n"));
  EXPECT_TRUE(has("10.1.0.2 is up\n...\n", "10.2.0.22 is up\n"));
  EXPECT_TRUE(has("key ... of a", "key 8fA= of a\n"));
  EXPECT_TRUE(has("", ""));
  EXPECT_FALSE(has("12 of them", "x\n"));
  EXPECT_FALSE(has("rtt 25 ms", "rtt none\n"));
  EXPECT_FALSE(has("rtt 25 ms", "rtt 25\n"));
  EXPECT_FALSE(has("is up\nis down\n", "is up\n"));
  EXPECT_NE(missing_line("0 lost", "10 lost\n", true), "");
  EXPECT_NE(missing_line("0 lost", "3 lost\n", true), "");
  EXPECT_EQ(missing_line("0 lost", "10 sent, 0 lost\n", true), "");
}

TEST(Runners, are_tests_that_have_the_lines) {
  const auto wrong = [](const std::string& text) {
    return wrong_runners(CW_SOURCE_DIR, parse(text)).size();
  };
  const std::string line =
      "causeway-wan ma mb --rtt 20ms --rate 500Mbit/s --control /run/line  # at the line\n";
  EXPECT_EQ(wrong("```sh by=docs_test\n" + line + "```\n"), 0u);
  EXPECT_EQ(wrong("```sh by=docs_test\ncauseway-wan ma mb --rtt 21ms\n```\n"), 1u);
  EXPECT_EQ(wrong("```sh by=no_test\nls\n```\n"), 1u);
}

TEST(Documents, can_be_run) {
  const std::vector<std::string> paths = documents_of(CW_SOURCE_DIR);
  for (const std::string& path : paths) {
    const Document document = read_document(CW_SOURCE_DIR, path);
    EXPECT_EQ(document.mistakes, std::vector<std::string>{});
    EXPECT_EQ(wrong_runners(CW_SOURCE_DIR, document), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace cw::docs
