// What two texts of a gateway's file say differently.
#include <gtest/gtest.h>

#include "control/gateway/changes.h"

namespace cw::site {
namespace {

using Changes = std::vector<Change>;

constexpr auto swap = KeyKind::Swap, restart = KeyKind::Restart;

TEST(Changes, are_none_where_only_its_looks_differ) {
  EXPECT_EQ(changes_between("[wan]\nrate = '1 Gbit/s'\nmtu = 1500\n",
                            "# wider\n[wan]\nmtu   = 1500\nrate = \"1 Gbit/s\"\n"),
            Changes());
}

TEST(Changes, name_keys_that_are_other_that_are_new_and_that_are_gone) {
  EXPECT_EQ(changes_between("[wan]\nrate = 1\nold = 2\n[pair]\nrtt = 3\n",
                            "[wan]\nrate = 2\n[pair]\nrtt = 3\nlinks = 4\n"),
            (Changes{{"pair.links", restart}, {"wan.old", restart}, {"wan.rate", restart}}));
}

TEST(Changes, call_entries_by_their_names_wherever_they_stand) {
  const std::string a = "[[class]]\nname = 'a'\npolicy = 'x'\n", b = "[[class]]\nname = 'b.c'\n";
  EXPECT_EQ(changes_between(a + b, b + a), Changes());
  EXPECT_EQ(changes_between(a + b, a + b + "policy = 'y'\n[class.params]\nk = 3\n"),
            (Changes{{"class.b.c.params.k", swap}, {"class.b.c.policy", swap}}));
  EXPECT_EQ(changes_between(a + b, a + b + "weight = 3\n"),
            (Changes{{"class.b.c.weight", restart}}));
  EXPECT_EQ(changes_between(a, a + b), (Changes{{"class.b.c.name", restart}}));
}

TEST(Changes, tell_rows_by_their_numbers) {
  EXPECT_EQ(changes_between("[site]\ncores = [1, 2]\nplugins = ['a']\n",
                            "[site]\ncores = [1, 3]\nplugins = ['a', 'b']\n"),
            (Changes{{"site.cores.1", restart}, {"site.plugins.1", swap}}));
}

TEST(Changes, of_a_text_that_is_no_toml_are_all_of_the_other) {
  EXPECT_EQ(changes_between("=", "a = 1\n"), (Changes{{"a", restart}}));
}

}  // namespace
}  // namespace cw::site
