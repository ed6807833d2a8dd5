
#include "control/config/quantity.h"
#include "control/json/json.h"
#include "control/units/text.h"
#include "tests/demo/rdma.h"
#include "tests/demo/report.h"

namespace cw::demo {
namespace {

struct Named {
  const char *key, *title;
  const RdmaWay& way;
};

std::vector<Named> ways_of(const RdmaReport& it) {
  return {{"plain", "without gateways", it.plain},
          {"plain_timeout_14", "the same, host timeout 14", it.plain_quick},
          {"plain_lossless", "without gateways, no loss", it.plain_lossless},
          {"gateway", "with gateways", it.gateway},
          {"gateway_lossless", "with gateways, no loss", it.gateway_lossless}};
}

std::string share_text(const RdmaWay& way, const RdmaWay& of) {
  const double whole = of.median_mbps();
  return whole > 0 ? text_of("%.0f %%", way.median_mbps() / whole * 100) : "-";
}

}  // namespace

std::string to_json(const RdmaReport& report) {
  const Options& options = report.options;
  Json json;
  json["link"] = {{"rtt_ms", options.rtt.ms()},
                  {"loss", options.loss},
                  {"burst", options.burst},
                  {"rate_mbps", static_cast<double>(options.rate.bps()) * 1e-6},
                  {"mtu", options.mtu}};
  json["policy"] = options.policy;
  json["wan"] = name_of(options.wan);
  json["rounds"] = options.rounds;
  Json medians, runs, retransmits;
  for (const Named& each : ways_of(report)) {
    medians[each.key] = each.way.median_mbps();
    runs[each.key] = each.way.mbps;
    retransmits[each.key] = each.way.retransmits;
  }
  json["rc_mbps"] = medians;
  json["rc_mbps_runs"] = runs;
  // Of all runs through gateways over the link that loses.
  json["host_retransmits"] = report.gateway.retransmits;
  json["host_retransmits_by_way"] = retransmits;
  json["seconds"] = report.seconds;
  return json.dump();
}

std::string to_table(const RdmaReport& report) {
  const Options& options = report.options;
  std::string text = "\n" + link_text(options) + "\n\n";
  text += text_of("  %-28s %14s %18s %20s\n", "RC writes of 64 KiB", "bandwidth",
                  "of that, no loss", "hosts sent again");
  for (const Named& each : ways_of(report)) {
    const bool is_plain = std::string_view(each.key).starts_with("plain");
    const RdmaWay& lossless = is_plain ? report.plain_lossless : report.gateway_lossless;
    text += text_of("  %-28s %7.1f Mbit/s %18s %14llu times\n", each.title, each.way.median_mbps(),
                    share_text(each.way, lossless).c_str(),
                    static_cast<unsigned long long>(each.way.retransmits));
  }
  text += text_of("\n  with gateways: %s over %s; medians of %u runs, interleaved, of %u s each\n",
                  options.policy.c_str(), name_of(options.wan), options.rounds, options.seconds);
  text +=
      "  processors of the hosts are emulated: compare bandwidths with each other, and only when\n"
      "  nothing else kept this machine busy\n";
  text += text_of("\n%.0f s in all\n", report.seconds);
  return text;
}

}  // namespace cw::demo
