#include "bench/e2e/forward_report.h"

#include <iomanip>
#include <sstream>

#include "control/json/json.h"

namespace cw::bench {
namespace {

std::string number(double value, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}
std::string number(const Json& value, int decimals) {
  return number(value.get<double>(), decimals);
}

std::string row(const std::string& name, double frames_per_second, double ratio) {
  return "| " + name + " | " + number(frames_per_second * 1e-6, 2) + " | " +
         number(1e9 / frames_per_second, 0) + " | " + number(ratio, 3) + " |\n";
}

std::string forwarding(const Json& wan) {
  std::string text = "## Frames of " + wan.at("frame_bytes").dump() + " bytes, WAN MTU " +
                     wan.at("wan_mtu").dump() +
                     "\n\n| | Mpps | ns a frame | of testpmd |\n|---|---|---|---|\n";
  text += row("testpmd", wan.at("testpmd_pps").get<double>(), 1);
  for (const Json& each : wan.at("gateways")) {
    text += row(each.at("policy").get<std::string>(), each.at("pps").get<double>(),
                each.at("ratio").get<double>());
  }
  return text + "\n";
}

std::string latency(const Json& report) {
  std::string text =
      "## One way, a thousand packets a second\n\n"
      "Microseconds, p50 / p99, of each round.\n\n"
      "| testpmd | gateways that poll | gateways that sleep |\n|---|---|---|\n";
  for (const Json& round : report.at("rounds")) {
    for (const char* who : {"testpmd", "polling", "sleeping"}) {
      const Json& of = round.at(who);
      text += "| " + number(of.at("p50_us"), 0) + " / " + number(of.at("p99_us"), 0) + " ";
    }
    text += "|\n";
  }
  return text + "\nAdded by gateways that poll, median: " + number(report.at("added_p50_us"), 0) +
         " / " + number(report.at("added_p99_us"), 0) + ".\n\n";
}

}  // namespace

std::string forward_report(const Json& report) {
  std::string text =
      "# What a pair of gateways costs over DPDK\n\n"
      "By `dpdk_forward`: two processes, a core each, a memif between them; testpmd with the same\n"
      "devices in the same rounds. Medians; a ratio is of one round.\n\n";
  if (report.contains("forward")) {
    for (const Json& wan : report.at("forward")) text += forwarding(wan);
  }
  if (report.contains("latency")) text += latency(report.at("latency"));
  if (report.contains("cost")) {
    const Json& cost = report.at("cost");
    text += "## Processor time\n\nBoth gateways at " + cost.at("rate_mbps").dump() +
            " Mbit/s, asleep when there is nothing to do: " +
            number(cost.at("processor_seconds_per_gb"), 1) + " s per gigabyte.\n\n";
  }
  if (report.contains("idle")) {
    const Json& idle = report.at("idle");
    text += "## Idle\n\n" + number(idle.at("cores_each"), 3) +
            " of a core each; the first packet after a pause takes " +
            number(idle.at("p50_us"), 0) + " us through both, " + number(idle.at("max_us"), 0) +
            " at most.\n";
  }
  return text;
}

}  // namespace cw::bench
