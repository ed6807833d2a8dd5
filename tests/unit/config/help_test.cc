#include <gtest/gtest.h>

#include "tests/unit/config/schema_for_test.h"

namespace cw::config {
namespace {

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

}  // namespace
}  // namespace cw::config
