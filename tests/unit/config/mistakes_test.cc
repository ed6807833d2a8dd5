// Every way to get a file wrong, and the exact sentence that says so.
#include <gtest/gtest.h>

#include "tests/unit/config/schema_for_test.h"

namespace cw::config {
namespace {

std::string verdict(const std::string& text) {
  Everything values;
  Section file;
  declare(file, values);
  return to_text(read(file, text), "f");
}

TEST(Mistakes, each_is_one_sentence_with_its_place) {
  const struct {
    const char* text;  // after a first line with the one required key
    const char* sentence;
  } rows[] = {
      {"sitte = 1", "f:2:1: sitte is not known; did you mean site?"},
      {"colour = 1", "f:2:1: colour is not known; known here: site, link, work, peer"},
      {"[lnik]", "f:2:2: lnik is not known; did you mean link?"},
      {"link = 3", "f:2:1: link is 3; it must be a table: [link]"},
      {"[[link]]", "f:2:3: link is a list; it must be a table: [link]"},
      {"peer = 3", "f:2:1: peer must be a row of tables: [[peer]]"},
      {"peer = [1]", "f:2:1: peer must be a row of tables: [[peer]]"},
      {"[link]\nholds = '1 ms'", "f:3:1: link.holds is not known; did you mean hold?"},
      {"[link]\nhold = 25", "f:3:8: link.hold is 25; it must be a duration such as \"25 ms\""},
      {"[link]\nhold = '25 m'",
       "f:3:8: link.hold is \"25 m\"; it must be a duration such as \"25 ms\""},
      {"[link]\nhold = '0 ms'", "f:3:8: link.hold is \"0 ms\"; 1 ms to 1 s is accepted"},
      {"[link]\nhold = 'none'",
       "f:3:8: link.hold is \"none\"; it must be a duration such as \"25 ms\""},
      {"[link]\nlimit = 'never'",
       "f:3:9: link.limit is \"never\"; it must be a duration such as \"25 ms\", or \"none\""},
      {"[link]\nrate = '10 Gbps'",
       "f:3:8: link.rate is \"10 Gbps\"; it must be a rate such as \"10 Gbit/s\", or \"none\""},
      {"[link]\nrate = '0 bit/s'",
       "f:3:8: link.rate is \"0 bit/s\"; 1 kbit/s to 9 Tbit/s is accepted"},
      {"[link]\npool = 1.5", "f:3:8: link.pool is 1.5; it must be a size such as \"64 KiB\""},
      {"[link]\npool = '-1 B'", "f:3:8: link.pool is \"-1 B\"; 0 B to 1000000 GiB is accepted"},
      {"[link]\nloss = 1.5", "f:3:8: link.loss is 1.5; 0 to 1 is accepted"},
      {"[link]\nloss = '150 %'", "f:3:8: link.loss is \"150 %\"; 0 to 1 is accepted"},
      {"[link]\nloss = 'much'",
       "f:3:8: link.loss is \"much\"; it must be a share such as \"0.1 %\" or 0.001"},
      {"[link]\nloss = nan",
       "f:3:8: link.loss is nan; it must be a share such as \"0.1 %\" or 0.001"},
      {"[work]\nalpha = 0.25", "f:3:9: work.alpha is 0.25; 0.5 to 32 is accepted"},
      {"[work]\nalpha = true", "f:3:9: work.alpha is true; it must be a number"},
      {"[work]\nseed = -1", "f:3:8: work.seed is -1; 0 to 9007199254740992 is accepted"},
      {"[work]\nseed = 1.0", "f:3:8: work.seed is 1; it must be a whole number"},
      {"[work]\nchannels = 300", "f:3:12: work.channels is 300; 1 to 16 is accepted"},
      {"[work]\nverify = 1", "f:3:10: work.verify is 1; it must be true or false"},
      {"[work]\nmode = 'spin'",
       "f:3:8: work.mode is \"spin\"; it must be \"poll\" or \"adaptive\""},
      {"[work]\nmode = 'adaptve'",
       "f:3:8: work.mode is \"adaptve\"; it must be \"poll\" or \"adaptive\": did you mean "
       "\"adaptive\"?"},
      {"[work]\nsizes = '1 B'",
       "f:3:9: work.sizes is \"1 B\"; it must be a list of a size such as \"64 KiB\""},
      {"[work]\nsizes = ['1 B', 7]",
       "f:3:17: work.sizes is 7; it must be a size such as \"64 KiB\""},
      {"[work]\nlow = 10", "f:3:7: work.low must not be above work.high"},
      {"[work]\nseed = 2024-01-01",
       "f:3:8: work.seed is a date or a time; it must be a whole number"},
      {"[[peer]]", "f:2:1: peer.name is missing; it is a text"},
      {"[[peer]]\nname = 'b'\nudp_prot = 1",
       "f:4:1: peer.udp_prot is not known; did you mean udp_port?"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(verdict(std::string("site = 'a'\n") + row.text), row.sentence) << row.text;
  }
  EXPECT_EQ(verdict(""), "f:1:1: site is missing; it is a text");
  EXPECT_EQ(verdict("site = 7"), "f:1:8: site is 7; it must be a text");
}

TEST(Mistakes, are_told_all_at_once_in_the_order_of_the_file) {
  EXPECT_EQ(verdict("[work]\nmode = 1\nchannels = 0\n[link]\nhold = '2 s'\nlos = 1\n"),
            "f:1:1: site is missing; it is a text\n"
            "f:2:8: work.mode is 1; it must be \"poll\" or \"adaptive\"\n"
            "f:3:12: work.channels is 0; 1 to 16 is accepted\n"
            "f:5:8: link.hold is \"2 s\"; 1 ms to 1 s is accepted\n"
            "f:6:1: link.los is not known; did you mean loss?");
}

TEST(Mistakes, a_syntax_error_is_told_alone) {
  const std::string said = verdict("colour = 1\n[link\nhold = 1\n");
  EXPECT_EQ(said.substr(0, 14), "f:2:6: syntax:");
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_NE(verdict("a = 1\na = 2\n"), "");
  EXPECT_NE(verdict(std::string("a = '\xff'\n")), "");
}

TEST(Mistakes, are_told_of_what_no_key_begins_with) {
  EXPECT_EQ(verdict("[~link]").substr(0, 14), "f:1:2: syntax:");
}

TEST(Mistakes, are_told_of_keys_of_more_parts_than_a_stack_holds) {
  std::string parts;
  for (int i = 0; i < 200'000; ++i) parts += "a.";
  EXPECT_EQ(verdict(parts + "b = 1"), "f:1:512: syntax: a key has 256 parts at most");
  EXPECT_EQ(verdict("x = 1\n[ " + parts + "b]"), "f:2:514: syntax: a key has 256 parts at most");
  // Neither addresses nor dots in a remark or in quotes.
  std::string many = "# " + std::string(300, '.') + "\nx = '" + std::string(300, '.') + "'\ny = [";
  for (int i = 0; i < 200; ++i) many += "\"10.1.2.3/32\", ";
  EXPECT_EQ(verdict(many + "]").find("parts"), std::string::npos);
}

TEST(Mistakes, are_told_of_letters_that_the_library_cannot_tell_from_spaces) {
  const std::string why = ": syntax: letters beyond ASCII must be in quotes, or behind #";
  EXPECT_EQ(verdict("x = 1\n  \u02daor = 2"), "f:2:3" + why);
  EXPECT_EQ(verdict("x = \"\u00e4\" \u00e4"), "f:1:9" + why);
  EXPECT_EQ(verdict("x = '''\n'\u00e4'\n''' # \u00e4\n\u00e4"), "f:4:1" + why);
  EXPECT_EQ(verdict("x = \"\"\"\\\u00e4\"\"\""),
            "f:1:8: syntax: a letter beyond ASCII needs no \\ before it");
  EXPECT_EQ(verdict("x = \"\"\"a\\  \n\n \ufede\"\"\""),
            "f:3:2: syntax: a line that \\ joins to the one before must begin with ASCII");
  for (const char* fine : {"\ufeffx = 1", "x = \"\"\"\\\n a\u00e4\n\u00e4\"\"\"",
                           "x = \"\\\"\u00e4\"", "x = 1 # \u00e4", "'\u00e4' = 1"}) {
    EXPECT_EQ(verdict(fine).find("ASCII"), std::string::npos) << fine;
  }
}

// Quotes where none may be: the library takes what follows for a part of the number.
TEST(Mistakes, are_told_of_numbers_with_such_letters_before_the_library_asks_what_they_are) {
  for (const char* text : {"k = 6666';\ufedf_", "k = 6666';\ufede", "k = +1_'\u00e4'",
                           "k = +='\u00e4'", "k = [1,\n+['\u00e4']", "k = .\"\u00e4\""}) {
    EXPECT_EQ(verdict(text).substr(0, 2), "f:") << text;
    EXPECT_NE(verdict(text).find("syntax:"), std::string::npos) << verdict(text);
  }
}

TEST(Mistakes, what_is_wrong_is_not_stored) {
  Everything values;
  Section file;
  declare(file, values);
  EXPECT_EQ(read(file, "site = 'a'\n[link]\nhold = '2 s'\n[work]\nseed = 9\n").size(), 1u);
  EXPECT_EQ(values.hold, Duration::from_ms(40));
  EXPECT_EQ(values.seed, 9u);
}

}  // namespace
}  // namespace cw::config
