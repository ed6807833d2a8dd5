// What two texts of a gateway's file say differently.
#include <gtest/gtest.h>

#include "control/config/text/read.h"
#include "control/gateway/changes.h"
#include "control/gateway/keys/config.h"

namespace cw::site {
namespace {

using Changes = std::vector<Change>;

constexpr auto live = KeyKind::Live, swap = KeyKind::Swap, relink = KeyKind::Relink,
               restart = KeyKind::Restart;

TEST(Changes, are_none_where_only_its_looks_differ) {
  EXPECT_EQ(changes_between("[wan]\nrate = '1 Gbit/s'\nmtu = 1500\n",
                            "# wider\n[wan]\nmtu   = 1500\nrate = \"1 Gbit/s\"\n"),
            Changes());
}

TEST(Changes, name_keys_that_are_other_that_are_new_and_that_are_gone) {
  EXPECT_EQ(changes_between("[wan]\nrate = 1\nold = 2\n[pair]\nrtt = 3\n",
                            "[wan]\nrate = 2\n[pair]\nrtt = 3\nlinks = 4\n"),
            (Changes{{"pair.links", relink, "", "4"},
                     {"wan.old", restart, "2", ""},
                     {"wan.rate", live, "1", "2"}}));
}

TEST(Changes, call_entries_by_their_names_wherever_they_stand) {
  const std::string a = "[[class]]\nname = 'a'\npolicy = 'x'\n", b = "[[class]]\nname = 'b.c'\n",
                    x = "[[peer]]\nname = 'x'\n", y = "[[peer]]\nname = 'y'\n";
  EXPECT_EQ(changes_between(x + y, y + x), Changes());
  EXPECT_EQ(
      changes_between(a + b, a + b + "policy = 'y'\n[class.params]\nk = 3\n"),
      (Changes{{"class.b.c.params.k", swap, "", "3"}, {"class.b.c.policy", swap, "", "\"y\""}}));
  EXPECT_EQ(changes_between(a + b, a + b + "weight = 3\n"),
            (Changes{{"class.b.c.weight", live, "", "3"}}));
  EXPECT_EQ(changes_between(a, a + b), (Changes{{"class.b.c", relink, "", "[[class]]"}}));
  EXPECT_EQ(changes_between(x + y, x), (Changes{{"peer.y", live, "[[peer]]", ""}}));
}

/// A packet is of the first that matches.
TEST(Changes, tell_another_order_of_classes) {
  const std::string a = "[[class]]\nname = 'a'\n", b = "[[class]]\nname = 'b'\n",
                    c = "[[class]]\nname = 'c'\n";
  EXPECT_EQ(changes_between(a + b, b + a + c),
            (Changes{{"class", relink, "a, b", "b, a"}, {"class.c", relink, "", "[[class]]"}}));
}

TEST(Changes, tell_a_list_as_one_value) {
  EXPECT_EQ(changes_between("[site]\ncores = [1, 2]\nplugins = ['a']\n",
                            "[site]\ncores = [1, 3]\nplugins = ['a', 'b']\n"),
            (Changes{{"site.cores", restart, "[1, 2]", "[1, 3]"},
                     {"site.plugins", swap, "[\"a\"]", "[\"a\", \"b\"]"}}));
  EXPECT_EQ(
      changes_between("[[class]]\nname = 'a'\n[[class.match]]\nkind = 'tcp'\n",
                      "[[class]]\nname = 'a'\n[[class.match]]\nkind = 'udp'\ndscp = 3\n"),
      (Changes{{"class.a.match", live, "[{kind = \"tcp\"}]", "[{kind = \"udp\", dscp = 3}]"}}));
}

TEST(Changes, of_a_text_that_is_no_toml_are_all_of_the_other) {
  EXPECT_EQ(changes_between("=", "a = 1\n"), (Changes{{"a", restart, "", "1"}}));
}

TEST(Changes, make_the_file_that_has_some_of_them) {
  const auto tree = [](const char* text) { return *config::parse_toml(text); };
  const config::Node before = tree(
      "[wan]\nrate = 1\npaths = 2\n[wan.impair]\nloss = 0.1\n"
      "[[peer]]\nname = 'x'\nrate = 1\n[[peer]]\nname = 'y'\n");
  const config::Node after = tree(
      "[wan]\nrate = 2\npaths = 3\n[[peer]]\nname = 'z'\n[[peer]]\nname = 'x'\nroutes = ['a']\n"
      "[site]\nname = 's'\n");
  const auto with = [&](const std::vector<std::string>& keys) {
    return merged(before, after,
                  [&](const Change& it) { return std::ranges::find(keys, it.key) != keys.end(); });
  };
  EXPECT_EQ(changes_between(before, with({})), Changes());
  EXPECT_EQ(changes_between(before, with({"wan.rate", "peer.x.rate", "peer.x.routes"})),
            (Changes{{"peer.x.rate", live, "1", ""},
                     {"peer.x.routes", live, "", "[\"a\"]"},
                     {"wan.rate", live, "1", "2"}}));
  EXPECT_EQ(changes_between(before, with({"peer.y", "peer.z"})),
            (Changes{{"peer.y", live, "[[peer]]", ""}, {"peer.z", live, "", "[[peer]]"}}));
  const config::Node without = with({"wan.impair.loss"});
  EXPECT_EQ(without.find("wan")->value.find("impair"), nullptr) << "a table is there, or not";
}

TEST(Kinds, every_key_has_one) {
  config::Section schema;
  declare(schema, std::make_shared<Config>());
  size_t keys = 0;
  for (const auto& [path, kind] : config::kinds_of(schema)) {
    const bool is_table = path.empty() || path.find('.') == path.npos || path == "wan.impair";
    EXPECT_TRUE(is_table || kind) << path;
    ++keys;
  }
  EXPECT_GT(keys, 100u);
}

TEST(Kinds, are_those_of_the_design) {
  for (const char* key :
       {"site.log", "wan.rate", "wan.impair.bursts.loss", "peer.routes", "peer.source_port",
        "class.match.kind", "class.weight", "class.hold", "lan.queue"}) {
    EXPECT_EQ(kind_of(key), live) << key;
  }
  for (const char* key : {"class.policy", "class.params.alpha", "site.plugins"}) {
    EXPECT_EQ(kind_of(key), swap) << key;
  }
  EXPECT_EQ(kind_of("pair.key_file"), KeyKind::Keys);
  for (const char* key : {"pair.rtt", "pair.mtu", "class.policies", "class.name", "wan.paths"}) {
    EXPECT_EQ(kind_of(key), relink) << key;
  }
  for (const char* key :
       {"site.memory", "wan.port", "wan.icrc", "lan.device", "site.user", "unheard.of"}) {
    EXPECT_EQ(kind_of(key), restart) << key;
  }
}

}  // namespace
}  // namespace cw::site
