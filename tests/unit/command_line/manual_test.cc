// What a command line says of itself becomes a manual page and what shells complete.
#include "control/command_line/manual.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/command_line/completion.h"
#include "control/command_line/mdoc_text.h"
#include "tests/command.h"

namespace cw {
namespace {

/// A program with a command, options of all kinds, and a lesson.
struct Sampler {
  std::string file, side = "both", wait;
  uint32_t rounds = 3;
  bool is_json = false;
  CommandLine line{"Samples things. They stay.", "sampler"};

  Sampler() {
    line.footer("It looks. Then it says so:\n  sampler look .x\n\nExamples:\n  sampler look a\n");
    line.ends_with({{0, "Done."}, {3, "Nothing was there."}});
    line.add_flag("--json", is_json, "for programs");
    CommandLine look = line.add_subcommand("look", "Looks.");
    look.footer("Twice, if need be.");
    look.add_option("FILE", file, "what to look at").type_name("FILE").required();
    look.add_option("--side", side, "of it").one_of({"left", "both"}).shows_default();
    look.add_option("--rounds", rounds, "how often").between(1, 9).group("At length");
    look.add_option("--wait", wait, "secretly").group("");
  }
};

const std::string head = ".Dd November 29, 2026\n.Dt SAMPLER 1\n.Os\n";

TEST(Manual, has_the_programs_words_in_the_order_of_manuals) {
  const auto page = manual_of(Sampler().line.told(), head + ".Sh SEE ALSO\n.Xr look 1\n");
  ASSERT_TRUE(page) << page.error().sentence;
  size_t at = 0;
  for (const char* each :
       {".Dt SAMPLER 1", ".Sh NAME\n.Nm sampler\n.Nd samples things\n", ".Sh SYNOPSIS",
        ".Cm look\n.Ar FILE\n", ".Sh DESCRIPTION\nThey stay.\n.Pp\nIt looks.\nThen it says so:\n",
        "\nsampler look .x\n.Ed\n", ".Sh OPTIONS", ".It Fl \\-json\nFor programs.\n",
        ".Sh COMMANDS\n.Ss look\nLooks.\n.Pp\nTwice, if need be.\n", ".It Ar FILE\n",
        ".It Fl \\-side Ar WORD\nOf it.\nOne of left, both.\nLeft out: both.\n", "At length\n",
        ".It Fl \\-rounds Ar NUMBER\nHow often.\n1 to 9.\n", ".Sh EXIT STATUS",
        ".It 3\nNothing was there.\n",
        ".Sh EXAMPLES\n.Bd -literal -offset 2n\nsampler look a\n.Ed\n",
        ".Sh SEE ALSO\n.Xr look 1\n"}) {
    const size_t found = page->find(each, at);
    ASSERT_NE(found, std::string::npos) << each << "in\n" << *page;
    at = found;
  }
  EXPECT_EQ(page->find("secretly"), std::string::npos);
}

TEST(Manual, puts_what_people_write_behind_what_the_program_says) {
  const auto page = manual_of(Sampler().line.told(), head + ".Sh DESCRIPTION\nAnd more.\n");
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(".Ed\n.Pp\nAnd more.\n.Sh OPTIONS"), std::string::npos) << *page;
}

TEST(Manual, refuses_sections_that_the_program_tells_or_nobody_knows) {
  for (const char* each : {"OPTIONS", "EXIT STATUS", "OPTOINS"}) {
    const auto page =
        manual_of(Sampler().line.told(), head + ".Sh " + each + "\nSomething else.\n");
    ASSERT_FALSE(page) << each;
    EXPECT_EQ(page.error().sentence, std::string("section ") + each + " is none that people write");
  }
}

TEST(Manual, is_printed_when_asked_for_and_needs_no_command) {
  const auto file = std::filesystem::temp_directory_path() / "cw_sampler.1";
  std::ofstream(file) << head;
  const std::string path = file.string();
  const std::array<const char*, 3> words = {"sampler", "--man", path.c_str()};
  const auto page = Sampler().line.parse(words);
  std::filesystem::remove(file);
  ASSERT_TRUE(page) << page.error().sentence;
  EXPECT_TRUE(page->starts_with(head + ".Sh NAME\n")) << *page;
  const auto none = Sampler().line.parse(words);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sentence, "--man: " + path + " cannot be read");
}

TEST(MdocText, means_nothing_to_mdoc) {
  EXPECT_EQ(mdoc_escaped(".Sh \\fB --x"), "\\&.Sh \\efB \\-\\-x");
  EXPECT_EQ(mdoc_escaped("'quoted"), "\\&'quoted");
  EXPECT_EQ(mdoc_sentences("One (or\n two). 0.1 % of\tit? Yes"),
            "One (or two).\n0.1 % of it?\nYes\n");
}

TEST(CommandLine, knows_a_command_that_others_parse_and_does_not_parse_it) {
  Sampler it;
  std::string what;
  {
    CommandLine other("Draws.", "sampler draw");
    other.add_option("--what", what, "to draw");
    it.line.add_foreign("draw", other);
  }
  const std::array<const char*, 2> help = {"sampler", "--help"};
  EXPECT_NE(it.line.parse(help)->find("draw"), std::string::npos);
  EXPECT_NE(manual_of(it.line.told(), head)->find(".Ss draw\nDraws.\n"), std::string::npos);
  const std::array<const char*, 4> words = {"sampler", "draw", "--what", "x"};
  const auto parsed = it.line.parse(words);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().sentence, "draw: must stand first; --help shows every option");
  EXPECT_EQ(what, "");
}

// ---- what shells complete ----

/// What bash offers for the last of these words.
std::string offered(const std::vector<std::string>& words) {
  const auto file = std::filesystem::temp_directory_path() / "cw_sampler.bash";
  std::ofstream(file) << completion_of(Sampler().line.told(), "bash");
  std::string command = "cd / && bash -c '. " + file.string() + "; COMP_WORDS=(sampler";
  for (const std::string& each : words) command += " \"" + each + "\"";
  command += "); COMP_CWORD=" + std::to_string(words.size()) +
             "; _sampler; echo \"${COMPREPLY[*]}\"' 2>&1";
  const std::string said = test::output_of(command).out;
  std::filesystem::remove(file);
  return said;
}

TEST(Completion, offers_commands_options_and_their_values_in_bash) {
  EXPECT_EQ(offered({""}), "--help --json look\n");
  EXPECT_EQ(offered({"lo"}), "look\n");
  EXPECT_EQ(offered({"look", "--"}), "--help --json --rounds --side\n");
  EXPECT_EQ(offered({"look", "--side", ""}), "both left\n");
  EXPECT_EQ(offered({"look", "--rounds", ""}), "\n");
  EXPECT_EQ(offered({"look", "/et"}), "/etc\n");
}

TEST(Completion, gives_zsh_each_word_with_its_sentence) {
  const std::string script = completion_of(Sampler().line.told(), "zsh");
  EXPECT_TRUE(script.starts_with("#compdef sampler\n")) << script;
  for (const char* each : {"'look:Looks.'", "'--side:of it'", "(--side) compadd -- both left;"}) {
    EXPECT_NE(script.find(each), std::string::npos) << script;
  }
}

}  // namespace
}  // namespace cw
