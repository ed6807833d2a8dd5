#include "control/ctl/show/rows.h"

namespace cw::ctl {

static std::string link_text(const Json& peer) {
  return peer["link"].get<std::string>() + (peer.value("drains", false) ? ", drains" : "");
}

std::vector<Column> link_columns() {
  return {text_column("peer", "name"),
          text_column("address", "address"),
          {"link", link_text},
          number_column("rtt ms", "rtt_ms", 2),
          number_column("Mbit/s", "rate_mbps", 1),
          number_column("waits ms", "backlog_ms", 2),
          text_column("why", "why")};
}

std::vector<Column> class_columns() {
  return {text_column("peer", "peer"),
          text_column("class", "class"),
          text_column("sends by", "policy.out"),
          text_column("receives by", "policy.in"),
          number_column("sent", "sent"),
          number_column("waiting", "waiting"),
          number_column("not sent", "lost"),
          number_column("received", "received.out"),
          number_column("given up", "received.given_up"),
          number_column("dropped", "received.dropped"),
          number_column("wait p99 ms", "waits.sending.p99_ms", 3),
          number_column("hold p99.9 ms", "waits.receiving.p999_ms", 1)};
}

std::vector<Column> swap_columns() {
  return {text_column("peer", "peer"),     text_column("class", "class"),
          text_column("way", "direction"), text_column("policy", "policy"),
          text_column("params", "params"), text_column("fate", "fate"),
          number_column("ms", "ms", 1),    text_column("guard", "guard"),
          text_column("why", "why")};
}

}  // namespace cw::ctl
