// abi_golden [FOLDER]: writes the golden layouts of the C doors into the repository at FOLDER, by
// default the one that this program was built from. Refuses what the version does not allow.
#include <cstdio>

#include "tests/unit/plugins/layout.h"

int main(int argc, char** argv) {
  using namespace cw::plugins_test;
  const std::string root = argc > 1 ? argv[1] : CW_SOURCE_DIR;
  int failures = 0;
  for (const Door& door : {policy_door(), codec_door()}) {
    const auto written = write_golden(root + "/" + door.golden, door.layout);
    if (!written) std::fprintf(stderr, "%s\n", written.error().sentence.c_str());
    failures += !written;
  }
  return failures == 0 ? 0 : 1;
}
