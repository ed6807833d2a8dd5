// What the tests of documents see in them: fences, what was printed, who runs what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/docs/document.h"
#include "tests/docs/printed.h"
#include "tests/docs/runners.h"

namespace cw::docs {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_NE(std::ranges::find(paths, "README.md"), paths.end());
  for (const std::string& path : paths) {
    const Document document = read_document(CW_SOURCE_DIR, path);
    EXPECT_EQ(document.mistakes, std::vector<std::string>{});
    EXPECT_EQ(wrong_runners(CW_SOURCE_DIR, document), std::vector<std::string>{});
  }
}

/// Words behind `before`, up to what is not of a name.
std::set<std::string> names_behind(const std::string& text, const std::string& before) {
  std::set<std::string> names;
  for (size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    size_t end = at;
    while (end < text.size() && (std::isalpha(text[end]) != 0 || text[end] == '_')) ++end;
    if (end > at) names.insert(text.substr(at, end - at));
  }
  return names;
}

std::string text_here(const std::string& path) {
  return text_of(std::string(CW_SOURCE_DIR "/") + path);
}

TEST(Guide, knows_every_reason_and_every_line_that_warns) {
  std::set<std::string> names =
      names_behind(text_here("dataplane/core/drop_reasons.def"), "\nCW_DROP(");
  names.merge(names_behind(text_here("dataplane/wire/control_errors.def"), "\nCW_CONTROL_ERROR("));
  for (const std::string& each :
       names_behind(text_here("dataplane/wire/errors.def"), "\nCW_WIRE_ERROR(")) {
    const std::string text = text_here("dataplane/wire/errors.def");
    const std::string row = "\nCW_WIRE_ERROR(" + each + ", ";
    names.merge(names_behind(text, row));
  }
  EXPECT_GT(names.size(), 70u);
  for (const auto& entry : fs::recursive_directory_iterator(CW_SOURCE_DIR "/control")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = text_of(entry.path());
    names.merge(names_behind(text, "log_.warning(\""));
    names.merge(names_behind(text, "log_.error(\""));
    names.merge(names_behind(text, "log.warning(\""));
    names.merge(names_behind(text, "log.error(\""));
  }
  EXPECT_TRUE(names.contains("worker_stuck"));
  const std::string guide = text_here("control/guide/what-it-says.md");
  for (const std::string& name : names) {
    EXPECT_NE(guide.find("`" + name + "`"), std::string::npos) << name;
  }
}

/// The anchors that a forge makes of headings.
std::set<std::string> anchors_of(const std::string& file) {
  std::set<std::string> anchors;
  for (const std::string& line : lines_in(text_of(file))) {
    if (!line.starts_with('#')) continue;
    std::string anchor;
    for (const char c : line.substr(line.find_first_not_of('#') + 1)) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      if (c == ' ') anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Documents, have_links_that_lead_somewhere) {
  for (const std::string& path : documents_of(CW_SOURCE_DIR)) {
    const std::string text = text_here(path);
    for (size_t at = 0; (at = text.find("](", at)) != std::string::npos;) {
      at += 2;
      const std::string link = text.substr(at, text.find(')', at) - at);
      if (link.starts_with("http")) continue;
      const size_t hash = std::min(link.find('#'), link.size());
      const fs::path folder = (fs::path(CW_SOURCE_DIR) / path).parent_path();
      const fs::path target = hash == 0 ? fs::path(CW_SOURCE_DIR) / path
                                        : (folder / link.substr(0, hash)).lexically_normal();
      EXPECT_TRUE(fs::exists(target)) << path << ": " << link;
      if (hash == link.size() || !fs::exists(target)) continue;
      EXPECT_TRUE(anchors_of(target).contains(link.substr(hash + 1))) << path << ": " << link;
    }
  }
}

}  // namespace
}  // namespace cw::docs
