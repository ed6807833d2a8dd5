// A small file format with one key of each type, for the tests of the schema layer.
#pragma once

#include <string>
#include <vector>

#include "control/config/text/read.h"

namespace cw::config {

struct Everything {
  enum class Mode { Poll, Adaptive };
  struct Row {
    std::string name;
    uint16_t udp_port = 4791;
  };

  Duration hold = Duration::from_ms(40);
  Duration limit = Duration::max();
  Instant start = Instant::never();
  Rate rate;
  Bytes pool = Bytes(1 << 20);
  double loss = 0, alpha = 2;
  uint64_t seed = 1;
  uint8_t channels = 1;
  bool verify = true;
  Mode mode = Mode::Adaptive;
  std::string site;
  std::vector<Bytes> sizes = {Bytes(5)};
  uint32_t low = 1, high = 9;
  std::vector<Row> rows;
};

inline void declare(Section& file, Everything& it) {
  file.key("site", it.site, "Who this is.").required();
  Section& link = file.table("link", "The link.");
  link.key("hold", it.hold, "How long.").range("1 ms", "1 s");
  link.key("limit", it.limit, "At most.").or_none();
  link.key("start", it.start, "When.").or_none();
  link.key("rate", it.rate, "How fast.").or_none();
  link.key("pool", it.pool, "Memory.");
  link.ratio("loss", it.loss, "How much is lost.");
  Section& work = file.table("work", "The work.");
  work.key("alpha", it.alpha, "A factor.").range("0.5", "32");
  work.key("seed", it.seed, "A seed.");
  work.key("channels", it.channels, "Channels.").range("1", "16");
  work.key("verify", it.verify, "Whether.");
  work.choice("mode", it.mode, {"poll", "adaptive"}, "How to wait.");
  work.key("sizes", it.sizes, "Sizes.");
  work.key("low", it.low, "From.");
  work.key("high", it.high, "To.");
  work.then([&it](Section& here) {
    if (it.low > it.high) here.complain("low", "work.low must not be above work.high");
  });
  file.rows("peer", "A peer.", [&it](Section& row, size_t) {
    Everything::Row& peer = it.rows.emplace_back();
    row.key("name", peer.name, "Its name.").required();
    row.key("udp_port", peer.udp_port, "Its UDP port.").range("1", "65535");
  });
}

}  // namespace cw::config
