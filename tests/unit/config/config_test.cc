// Configuration texts: keys and their values, and what is said of mistakes.
#include <gtest/gtest.h>

#include <vector>

#include "control/config/impairment_keys.h"
#include "control/config/nearest.h"
#include "control/config/policy_keys.h"
#include "control/config/quantity.h"
#include "control/config/text/write.h"
#include "policies/policies.h"
#include "tests/property/property.h"
#include "tests/unit/config/schema_for_test.h"

namespace cw::config {
namespace {

// ---- quantity ----

TEST(Quantity, texts_with_units_are_read_in_base_units) {
  const struct {
    Quantity quantity;
    const char* text;
    double value;
  } rows[] = {
      {Quantity::Duration, "25 ms", 25e6},   {Quantity::Duration, "12.5ms", 12.5e6},
      {Quantity::Duration, "1.5 min", 90e9}, {Quantity::Duration, "2 h", 7200e9},
      {Quantity::Duration, "0 ns", 0},       {Quantity::Duration, "-1 ns", -1},
      {Quantity::Duration, "0.1 us", 100},   {Quantity::Rate, "25 Gbit/s", 25e9},
      {Quantity::Rate, "2.5 Mbit/s", 2.5e6}, {Quantity::Bytes, "64 KiB", 65536},
      {Quantity::Bytes, "1.5 MiB", 1572864}, {Quantity::Bytes, "1 kB", 1000},
      {Quantity::Bytes, "7 B", 7},           {Quantity::Ratio, "0.1 %", 0.001},
      {Quantity::Ratio, "100%", 1},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_quantity(row.quantity, row.text), row.value);
}

TEST(Quantity, texts_without_a_known_unit_are_refused) {
  for (const char* text : {"", "25", "ms", "25 m", "25 ms ms", "25 MS", " 25 ms", "x ms", "inf s",
                           "nan s", "25 ms ", "1e400 s", "0x10 ns"}) {
    EXPECT_EQ(parse_quantity(Quantity::Duration, text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_quantity(Quantity::Rate, "10 Gbps"), std::nullopt);
  EXPECT_EQ(parse_quantity(Quantity::Bytes, "64 KB"), std::nullopt);
}

TEST(Quantity, is_written_in_the_largest_unit_that_is_exact) {
  EXPECT_EQ(quantity_text(Quantity::Duration, 25e6), "25 ms");
  EXPECT_EQ(quantity_text(Quantity::Duration, 12.5e6), "12500 us");
  EXPECT_EQ(quantity_text(Quantity::Duration, 0), "0 ns");
  EXPECT_EQ(quantity_text(Quantity::Duration, 3600e9), "1 h");
  EXPECT_EQ(quantity_text(Quantity::Bytes, 9216), "9 KiB");
  EXPECT_EQ(quantity_text(Quantity::Bytes, 1000), "1000 B");
  EXPECT_EQ(quantity_text(Quantity::Rate, 25e9), "25 Gbit/s");
  EXPECT_EQ(quantity_text(Quantity::Ratio, 0.001), "0.001");
}

RC_GTEST_PROP(Quantity, what_is_written_reads_back, (uint32_t count)) {
  for (const Quantity quantity : {Quantity::Duration, Quantity::Rate, Quantity::Bytes}) {
    RC_ASSERT(parse_quantity(quantity, quantity_text(quantity, count)) == double{1} * count);
  }
}

// ---- nearest ----

const std::vector<std::string> keys = {"delay", "loss", "rate", "reorder_delay", "jitter_max"};

TEST(Nearest, a_slip_finds_the_name_that_was_meant) {
  EXPECT_EQ(nearest("dealy", keys), "delay");  // neighbours swapped: one slip
  EXPECT_EQ(nearest("los", keys), "loss");
  EXPECT_EQ(nearest("rates", keys), "rate");
  EXPECT_EQ(nearest("jiter_max", keys), "jitter_max");
  EXPECT_EQ(nearest("dely", keys), "delay");
  EXPECT_EQ(nearest("reorder_dly", keys), "reorder_delay");
}

TEST(Nearest, what_is_far_from_every_name_finds_none) {
  EXPECT_EQ(nearest("bandwidth", keys), "");
  EXPECT_EQ(nearest("xyz", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("delay", {}), "");
}
using namespace literals;

// ---- Values that are right, and the keys that several programs share ----

TEST(Read, stores_every_type_of_value) {
  Everything it;
  Section file;
  declare(file, it);
  const Mistakes mistakes = read(file, R"(
site = "north"
[link]
hold = "12.5 ms"
limit = "1 h"
start = "3 s"
rate = "2.5 Gbit/s"
pool = "64 KiB"
loss = "0.1 %"
[work]
alpha = 3
seed = 7
channels = 16
verify = false
mode = "poll"
sizes = ["1 KiB", "2 B"]
[[peer]]
name = "b"
[[peer]]
name = "c"
udp_port = 5000
)");
  EXPECT_EQ(to_text(mistakes, "f"), "");
  EXPECT_EQ(it.site, "north");
  EXPECT_EQ(it.hold, 12500_us);
  EXPECT_EQ(it.limit, 3600_s);
  EXPECT_EQ(it.start, Instant() + 3_s);
  EXPECT_EQ(it.rate, 2500_Mbps);
  EXPECT_EQ(it.pool, 64_KiB);
  EXPECT_EQ(it.loss, 0.001);
  EXPECT_EQ(it.alpha, 3);
  EXPECT_EQ(it.seed, 7u);
  EXPECT_EQ(it.channels, 16);
  EXPECT_FALSE(it.verify);
  EXPECT_EQ(it.mode, Everything::Mode::Poll);
  EXPECT_EQ(it.sizes, (std::vector<Bytes>{1_KiB, 2_B}));
  ASSERT_EQ(it.rows.size(), 2u);
  EXPECT_EQ(it.rows[0].udp_port, 4791);
  EXPECT_EQ(it.rows[1].udp_port, 5000);
}

TEST(Read, none_is_the_value_without_a_limit) {
  Everything it;
  it.limit = 1_s;
  it.start = Instant();
  it.rate = 1_Gbps;
  Section file;
  declare(file, it);
  EXPECT_TRUE(read(file, "site='a'\n[link]\nlimit='none'\nstart='none'\nrate='none'\n").empty());
  EXPECT_EQ(it.limit, Duration::max());
  EXPECT_EQ(it.start, Instant::never());
  EXPECT_EQ(it.rate, Rate());
}

struct PolicyFile {
  const cw_policy_ops* policy = cw_policy_selective_repeat();
  std::vector<double> params;

  std::string read_text(const std::string& text) {
    static const auto known = policy::for_streams();
    Section file;
    declare_policy(file, known, policy, params);
    return to_text(read(file, text), "f");
  }
};

TEST(PolicyKeys, parameters_are_those_of_the_policy_that_is_named) {
  PolicyFile file;
  EXPECT_EQ(file.read_text("name = 'go_back_n'\nalpha = 3\n"), "");
  EXPECT_EQ(file.policy, cw_policy_go_back_n());
  EXPECT_EQ(file.params, (std::vector<double>{3, 1}));
  EXPECT_EQ(file.read_text("name = 'selective_repeat'\nreorder_budget = '2 ms'\n"), "");
  ASSERT_EQ(file.params.size(), 5u);
  EXPECT_EQ(file.params[1], 2);    // alpha, its default
  EXPECT_EQ(file.params[3], 2e6);  // in nanoseconds
}

TEST(PolicyKeys, a_wrong_parameter_is_told_like_a_wrong_key) {
  EXPECT_EQ(PolicyFile().read_text("detekt = 'nack'\n"),
            "f:1:1: detekt is not known; did you mean detect?");
  EXPECT_EQ(PolicyFile().read_text("name = 'go_back_n'\ndetect = 'nack'\n"),
            "f:2:1: detect is not known; known here: name, alpha, repeat");
  EXPECT_EQ(PolicyFile().read_text("alpha = 99\n"), "f:1:9: alpha is 99; 0.5 to 32 is accepted");
  EXPECT_EQ(PolicyFile().read_text("name = 'tcp'\n"),
            "f:1:8: name is \"tcp\"; it must be \"passthrough\", \"go_back_n\", "
            "\"selective_repeat\", \"erasure\", \"hybrid\" or \"layered_interleave\"");
}

TEST(PolicyKeys, nothing_is_said_about_parameters_of_a_policy_that_is_not_known) {
  PolicyFile file;
  EXPECT_EQ(file.read_text("name = 'mine'\ngap = 4\nalpha = 99\n"),
            "f:1:8: name is \"mine\"; it must be \"passthrough\", \"go_back_n\", "
            "\"selective_repeat\", \"erasure\", \"hybrid\" or \"layered_interleave\"");
  EXPECT_EQ(file.params.size(), file.policy->param_count);
}

TEST(PolicyKeys, the_list_for_a_person_has_defaults_and_ranges) {
  const std::string text = policies_text(policy::for_streams());
  EXPECT_NE(text.find("(nack; rto or nack)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(0 ns; 0 ns to 1 s)\n"), std::string::npos) << text;
}

std::string impairment(const std::string& text, Impairment& it) {
  Section file("wire", "wire", "A wire.");
  declare_impairment(file, it);
  return to_text(read(file, text), "f");
}

TEST(ImpairmentKeys, every_cause_can_be_written) {
  Impairment it;
  EXPECT_EQ(impairment(R"(
rate = "1 Gbit/s"
queue_time = "5 ms"
delay = "10 ms"
jitter_max = "1 ms"
jitter_mean = "100 us"
jitter_shape = "exponential"
loss = "1 %"
[blackout]
start = "1 s"
length = "100 ms"
[gilbert_elliott]
mean_burst = 4
mean_loss = "2 %"
[bursts]
profile = "google"
loss = 0.001
[targeted]
first = 3
)",
                       it),
            "");
  EXPECT_EQ(it.rate, 1_Gbps);
  EXPECT_EQ(it.jitter_shape, JitterShape::Exponential);
  EXPECT_EQ(it.blackout.length, 100_ms);
  EXPECT_EQ(it.gilbert_elliott.to_good, 0.25);
  EXPECT_NEAR(it.gilbert_elliott.mean_loss(), 0.02, 1e-12);
  EXPECT_EQ(it.bursts.profile.name, "google");
  EXPECT_EQ(it.targeted.first, 3u);
}

TEST(ImpairmentKeys, contradictions_between_keys_are_told_once) {
  Impairment it;
  EXPECT_EQ(impairment("queue_time = '5 ms'\n", it),
            "f:1:1: wire: queue_bytes, queue_time and mark_above need a rate; rate is 0 "
            "(unlimited)");
  EXPECT_EQ(impairment("loss = 0.5\n", it), "") << "inherited, and told where it was written";
}

// ---- Every way to get a file wrong, and the exact sentence that says so ----

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
      {"[link]\nhold = 'EDIT: as long as you wait'",
       "f:3:8: link.hold is yours to say: as long as you wait"},
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

// ---- help ----

TEST(Help, says_of_every_key_what_it_is_does_and_takes) {
  Everything values;
  Section file;
  declare(file, values);
  EXPECT_EQ(help(file),
            "site = \"\"  # Who this is. (a text; required)\n"
            "\n# The link.\n[link]\n"
            "hold = \"40 ms\"  # How long. (a duration, 1 ms to 1 s)\n"
            "limit = \"none\"  # At most. (a duration, 0 ns to 2400 h, or \"none\")\n"
            "start = \"none\"  # When. (a duration, 0 ns to 2400 h, or \"none\")\n"
            "rate = \"none\"  # How fast. (a rate, 1 kbit/s to 9 Tbit/s, or \"none\")\n"
            "pool = \"1 MiB\"  # Memory. (a size, 0 B to 1000000 GiB)\n"
            "loss = 0  # How much is lost. (a share, 0 to 1)\n"
            "\n# The work.\n[work]\n"
            "alpha = 2  # A factor. (a number, 0.5 to 32)\n"
            "seed = 1  # A seed. (a whole number, 0 to 9007199254740992)\n"
            "channels = 1  # Channels. (a whole number, 1 to 16)\n"
            "verify = true  # Whether. (true or false)\n"
            "mode = \"adaptive\"  # How to wait. (one of \"poll\" \"adaptive\")\n"
            "sizes = []  # Sizes. (a list of sizes, 0 B to 1000000 GiB)\n"
            "low = 1  # From. (a whole number, 0 to 4294967295)\n"
            "high = 9  # To. (a whole number, 0 to 4294967295)\n"
            "\n# A peer.\n[[peer]]\n"
            "name = \"\"  # Its name. (a text; required)\n"
            "udp_port = 4791  # Its UDP port. (a whole number, 1 to 65535)\n");
}

TEST(Help, is_itself_a_file_that_can_be_read) {
  Everything first, second;
  Section shown, file;
  declare(shown, first);
  declare(file, second);
  EXPECT_EQ(to_text(read(file, help(shown)), "f"), "");
  EXPECT_EQ(second.hold, Everything().hold);
  EXPECT_EQ(second.rows.size(), 1u);
}

// ---- a tree as text ----

TEST(Written, is_read_back_as_it_was) {
  const std::string text =
      "top = 1\nnames = [\"a\", \"b\\\"\\u0007\"]\n"
      "\n[wan]\nrate = \"1 Gbit/s\"\nshare = 0.25\nwhole = 2.0\n"
      "\n[wan.impair]\nis_on = true\n"
      "\n[[peer]]\nname = \"n\u00f6rd\"\nmatch = [{ kind = \"roce\", \"odd key\" = -26 }, {}]\n"
      "\n[[peer]]\nname = \"south\"\nroutes = []\n";
  EXPECT_EQ(toml_of(parse_toml(text).value()), text);
  EXPECT_EQ(toml_of(parse_toml("b.a = 1e20\n").value(), {{"b.a", "much"}}),
            "[b]\na = 1e+20  # much\n");
  EXPECT_EQ(toml_of(Node()), "");
}

}  // namespace

}  // namespace cw::config
