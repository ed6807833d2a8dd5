// What is wrong with a deployment: all of it at once, a sentence and a place each.
#include <gtest/gtest.h>

#include <string>

#include <fstream>
#include <random>
#include <sstream>

#include "tests/property/property.h"
#include "tests/unit/deploy/sites.h"

namespace cw::deploy {
namespace {

bool has(const std::string& text, const std::string& part) { return text.contains(part); }

TEST(Check, finds_nothing_wrong_with_two_to_sixteen_sites_alike) {
  for (int count = 2; count <= 16; ++count) {
    EXPECT_EQ(mistakes_of(deployment_text(count)), "") << count;
    EXPECT_EQ(files_of(deployment_text(count)).size(), static_cast<size_t>(count));
  }
}

struct Row {
  const char* about;
  std::string text;
  std::vector<std::string> parts;
};

class Mistaken : public testing::TestWithParam<Row> {};

TEST_P(Mistaken, is_told) {
  const std::string told = mistakes_of(GetParam().text);
  for (const std::string& each : GetParam().parts) {
    EXPECT_TRUE(has(told, each)) << each << "\nis not in\n" << told;
  }
}

const std::string link = "[[link]]\nbetween = ";

INSTANTIATE_TEST_SUITE_P(
    OfAll, Mistaken,
    testing::Values(
        Row{"syntax", "[pair\n", {"file:1:"}},
        Row{"nobody", "[pair]\nkey_file = \"k\"\nrtt = \"1 ms\"\n", {"there is no [[site]]"}},
        Row{"alone", deployment_text(1), {"there is one [[site]]; a deployment has two at least"}},
        Row{"names", deployment_text(1) + site_text(1), {"site \"s1\" is there twice"}},
        Row{"addresses",
            deployment_text(2) +
                "[[site]]\nname = \"c\"\naddress = \"192.0.2.1\"\nroutes = [\"10.9.0.0/16\"]\n",
            {"file:16:11: site \"c\" and site \"s1\" both have the address 192.0.2.1"}},
        Row{"prefixes",
            deployment_text(2) +
                "[[site]]\nname = \"c\"\naddress = \"192.0.2.9\"\nroutes = [\"10.1.7.0/24\"]\n",
            {"file:17:10: site \"c\": route 10.1.7.0/24 overlaps 10.1.0.0/16 of site \"s1\""}},
        Row{"twins preferred alike",
            deployment_text(3) + twin_text(""),
            {"file:21:10: site \"twin\": route 10.1.0.0/16 is that of site \"s1\", which is "
             "preferred alike; where two lead to the same hosts, prefer must differ"}},
        Row{"twins preferred alike by one",
            deployment_text(1) + twin_text() +
                site_text(2, "[[site.peer]]\nname = \"twin\"\nprefer = 100\n"),
            {"site \"s2\": peer \"twin\": route 10.1.0.0/16 is that of peer \"s1\", which is"}},
        Row{"link between twins",
            deployment_text(2) + twin_text() + link + "[\"twin\", \"s1\"]\n",
            {"link twin - s1: both lead to the same hosts, and send nothing to each other"}},
        Row{"twins alone",
            deployment_text(1) + twin_text(),
            {"site \"s1\" has nobody to send to: all lead to the same hosts"}},
        Row{"link to nobody",
            deployment_text(2, link + "[\"s1\", \"s22\"]\n"),
            {"link.between: there is no site \"s22\"; did you mean \"s2\"?"}},
        Row{"link of one", deployment_text(2, link + "[\"s1\"]\n"), {"has 1 names"}},
        Row{"link to itself",
            deployment_text(2, link + "[\"s1\", \"s1\"]\n"),
            {"names \"s1\" twice"}},
        Row{"link twice",
            deployment_text(2, link + "[\"s1\", \"s2\"]\n" + link + "[\"s2\", \"s1\"]\n"),
            {"link s2 - s1 is there twice"}},
        Row{"no rtt",
            deployment_text(2, "", ""),
            {"pair.rtt is missing, and no [[link]] says the rtt between s1 and s2"}},
        Row{"no link",
            "mesh = \"listed\"\n" + deployment_text(3, link + "[\"s1\", \"s2\"]\n"),
            {"site \"s3\" has no [[link]], and mesh is \"listed\""}},
        Row{"slip of a key of ours",
            deployment_text(2) + site_text(3, "adress = \"x\"\n"),
            {"site.adress", "address"}},
        Row{"slip of a gateway's key",
            deployment_text(2) + site_text(3, "lan.mtuu = 9000\n"),
            {"site.lan.mtuu", "mtu"}},
        Row{"value out of range",
            deployment_text(2) + site_text(3, "wan.paths = 99\n"),
            {"site.wan.paths is 99; 1 to 16 is accepted"}},
        Row{"policy",
            deployment_text(2, "[[class]]\nname = \"all\"\npolicy = \"hybridd\"\n"),
            {"file:16:10: class.policy is \"hybridd\"", "hybrid"}},
        Row{"policy at one",
            deployment_text(2,
                            "[[site.class]]\nname = \"all\"\npolicy = \"nome\"\n"
                            "[[class]]\nname = \"all\"\n"),
            {"file:16:10: site \"s2\": class.policy is \"nome\""}},
        Row{"parameter",
            deployment_text(2,
                            "[[class]]\nname = \"all\"\npolicy = \"hybrid\"\n"
                            "params = { kk = 3 }\n"),
            {"file:17:12: class.params.kk"}},
        Row{"class of no name",
            deployment_text(2,
                            "[[site.class]]\nname = \"al\"\n"
                            "[[class]]\nname = \"all\"\n"),
            {"there is no class \"al\"; did you mean \"all\"?"}},
        Row{"peer of no name",
            deployment_text(2, "[[site.peer]]\nname = \"s3\"\n"),
            {"site \"s2\": there is no peer \"s3\""}},
        Row{"no rate",
            "[pair]\nkey_file = \"k\"\nrtt = \"1 ms\"\n" + site_text(1) + site_text(2),
            {"wan.rate is missing"}},
        Row{"rates",
            deployment_text(3, link + "[\"s1\", \"s2\"]\nrate = \"80 Mbit/s\"\n" + link +
                                   "[\"s1\", \"s3\"]\nrate = \"80 Mbit/s\"\n"),
            {"site \"s1\": the rates of all peers make 160 Mbit/s"}},
        Row{"memory",
            deployment_text(2) + site_text(3, "memory = \"16 MiB\"\n"),
            {"site \"s3\": site.memory is 16 MiB and"}},
        Row{"rtt against hosts' timeout",
            deployment_text(3, link + "[\"s1\", \"s3\"]\nrtt = \"60 ms\"\n"
                                      "[[class]]\nname = \"rdma\"\nmatch = [{ kind = \"roce\" }]\n"
                                      "[[class]]\nname = \"all\"\n"),
            {"class \"rdma\": pair.rtt 60 ms", "but the hosts give up"}},
        Row{"hold of one policy",
            deployment_text(2, "[[class]]\nname = \"all\"\nhold = \"10 ms\"\n"),
            {"hold is 10 ms, but selective_repeat needs"}},
        Row{"narrow LAN",
            deployment_text(2) + "[[site]]\nname = \"v6\"\naddress = \"192.0.2.9\"\n"
                                 "routes = [\"fd00:9::/32\"]\nlan.mtu = 1000\n",
            {"IPv6 needs an MTU of 1280"}},
        Row{"own prefix at home",
            deployment_text(2) + site_text(3, "lan.addresses = [\"10.1.0.1/24\"]\n"),
            {"overlaps 10.1.0.1/24 of lan.addresses"}},
        Row{"cores",
            deployment_text(2, "", "rtt = \"20 ms\"\nlinks = 1\n") +
                site_text(3, "cores = [2, 3]\n"),
            {"site.cores has 2 cores and pair.links is 1"}},
        Row{"name of no file",
            deployment_text(2) + "[[site]]\nname = \"a/b\"\naddress = "
                                 "\"192.0.2.9\"\nroutes = [\"10.9.0.0/16\"]\n",
            {"its file is called so"}}),
    [](const auto& row) {
      std::string name = row.param.about;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(Check, tells_all_mistakes_at_once_each_once_and_in_order) {
  const std::string told =
      mistakes_of(deployment_text(3, link + "[\"s1\", \"x\"]\n" +
                                         "[[class]]\nname = \"all\"\npolicy = \"none\"\n") +
                  site_text(2, "lan.mtu = \"wide\"\n"));
  for (const char* const part : {"there is no site \"x\"", "class.policy is \"none\"",
                                 "site \"s2\" is there twice", "lan.mtu is \"wide\""}) {
    const size_t at = told.find(part);
    EXPECT_NE(at, told.npos) << part << "\n" << told;
    EXPECT_EQ(told.find(part, at + 1), told.npos) << part << "\n" << told;
  }
}

TEST(Check, does_not_look_for_users_and_cores_of_other_machines) {
  EXPECT_EQ(mistakes_of(deployment_text(2, "", "rtt = \"20 ms\"\n") +
                        site_text(3, "cores = [900, 901]\nuser = \"nobody of this name\"\n") +
                        site_text(4, "core = 4000\n")),
            "");
}

TEST(Check, warns_of_what_works_and_may_not_be_meant) {
  const Checked checked =
      check(deployment_text(3, link + "[\"s1\", \"s2\"]\nmtu = 9000\n") +
                site_text(4, "lan.mtu = 9000\n") + link +
                "[\"s1\", \"s4\"]\nrate = \"99 Mbit/s\"\n" + link + "[\"s3\", \"s4\"]\n",
            "");
  std::string all;
  for (const std::string& each : checked.warnings) all += each + "\n";
  EXPECT_TRUE(has(all, "link s1 - s2 carries 9000 bytes and is used with 1500")) << all;
  EXPECT_TRUE(has(all, "lan.mtu is 9000 at s4 and 1500 at s1")) << all;
}

// ---- whatever is in it

std::string example() {
  std::ifstream stream(std::string(CW_SOURCE_DIR) + "/configs/deployment.toml");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The example with some of its lines gone, twice, in other places, or with another value.
std::string shuffled(uint64_t seed) {
  static const std::string text = example();
  std::mt19937_64 random(seed);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  const char* const values[] = {"1",    "-1",         "\"\"",      "[]",
                                "[[]]", "{}",         "{ a = 1 }", "true",
                                "1e9",  "[1, \"x\"]", "\"none\"",  "1979-05-27"};
  for (size_t i = 0; i < 1 + random() % 4; ++i) {
    const size_t at = random() % lines.size(), other = random() % lines.size();
    const size_t equals = lines[at].find(" = ");
    switch (random() % 4) {
      case 0:
        lines[at].clear();
        break;
      case 1:
        std::swap(lines[at], lines[other]);
        break;
      case 2:
        lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), lines[other]);
        break;
      default:
        if (equals != std::string::npos) {
          lines[at] = lines[at].substr(0, equals + 3) + values[random() % std::size(values)];
        }
    }
  }
  std::string made;
  for (const std::string& line : lines) made += line + "\n";
  return made;
}

RC_GTEST_PROP(Check, of_any_file_makes_mistakes_with_places_or_files_that_are_right,
              (uint64_t seed)) {
  const Checked checked = check(shuffled(seed), "");
  RC_ASSERT(checked.mistakes.empty() != checked.files.empty());
  for (const config::Mistake& each : checked.mistakes) {
    RC_ASSERT(each.place.line > 0u);
    RC_ASSERT(!each.sentence.empty());
  }
  for (const SiteFile& each : checked.files) RC_ASSERT(plan_of(each.name, each.text).has_value());
}

}  // namespace
}  // namespace cw::deploy
