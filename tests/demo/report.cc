#include "tests/demo/report.h"

#include <cstdio>

#include "control/config/quantity.h"
#include "control/json/json.h"
#include "control/units/text.h"

namespace cw::demo {
namespace {

using Count = unsigned long long;

std::string row(const char* what, const std::string& without, const std::string& with) {
  return text_of("  %-20s %28s %28s\n", what, without.c_str(), with.c_str());
}

std::string loss_text(const UdpResult& udp) {
  return text_of("%llu of %llu (%.4g %%)", Count(udp.lost), Count(udp.sent), udp.loss() * 100);
}

std::string file_text(const FileResult& file) {
  const double mib = static_cast<double>(file.bytes) / (1 << 20);
  if (!file.is_whole) return text_of("only %.1f MiB in %.0f s", mib, file.seconds);
  return text_of("%.2f s, %s", file.seconds, file.bytes_wrong == 0 ? "checksum equal" : "WRONG");
}

std::string messages_text(const MessageResult& messages) {
  return text_of("%llu of %llu whole", Count(messages.whole), Count(messages.posted));
}

Json link_json(const Report& report) {
  const Options& options = report.options;
  Json link;
  link["rtt_ms"] = options.rtt.ms();
  link["loss"] = options.loss;
  link["burst"] = options.burst;
  link["rate_mbps"] = static_cast<double>(options.rate.bps()) * 1e-6;
  link["mtu"] = options.mtu;
  link["seed"] = options.seed;
  link["void"] = report.is_void;
  link["void_because"] = report.void_because;
  link["emulator_late_us_p99"] = report.emulator_late_us;
  return link;
}

Json half_json(const Half& half) {
  Json json;
  json["tcp_mbps"] = half.tcp.mbps;
  json["udp_loss"] = half.udp.loss();
  json["udp_mbps"] = half.udp.mbps;
  json["udp_sent"] = half.udp.sent;
  json["udp_lost"] = half.udp.lost;
  json["udp_lost_at_socket"] = half.udp.lost_at_socket;
  json["udp_lost_at_interface"] = half.udp.lost_at_interface;
  json["udp_too_late"] = half.udp.too_late;
  json["file_seconds"] = half.file.seconds;
  json["file_bytes"] = half.file.bytes;
  json["file_whole"] = half.file.is_whole;
  json["messages_posted"] = half.messages.posted;
  json["messages_whole"] = half.messages.whole;
  return json;
}

std::string drops_text(const GatewayCounts& counts) {
  std::string text;
  for (const auto& [name, count] : counts.drops) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  }
  return text.empty() ? "none" : text;
}

std::string swap_text(const SwapResult& it) {
  return text_of("  %-36s %4.0f ms, lost %llu of %llu; on their way %.1f ms, %.1f at most\n",
                 (it.from + " to " + it.to).c_str(), it.took_ms, Count(it.lost), Count(it.sent),
                 it.typical_us / 1000, it.longest_us / 1000);
}

Json swap_json(const SwapResult& it) {
  return {{"from", it.from},
          {"to", it.to},
          {"took_ms", it.took_ms},
          {"sent", it.sent},
          {"lost", it.lost},
          {"typical_us", it.typical_us},
          {"longest_us", it.longest_us}};
}

std::string gateways_text(const GatewayFigures& it, const UdpResult& udp) {
  std::string text;
  text += text_of("  repaired %llu packets, gave up %llu frames\n", Count(it.all.repaired),
                  Count(it.all.given_up));
  text += text_of("  added latency           p50 %.0f us, p99 %.0f us (%zu packets)\n",
                  it.probes.added_us(0.5), it.probes.added_us(0.99), it.probes.through.us.size());
  text += text_of("  processors kept busy    %.2f under TCP, %.2f under UDP, both together\n",
                  it.cores_tcp, it.cores_udp);
  text += text_of(
      "  UDP with                lost %llu at sockets, %llu at interfaces; %llu came after "
      "iperf3's end\n",
      Count(udp.lost_at_socket), Count(udp.lost_at_interface), Count(udp.too_late));
  text += "  dropped by gateways     under UDP: " + drops_text(it.during_udp) + "\n";
  text += "\n  The policy replaced while hosts send 2,000 datagrams a second:\n";
  for (const SwapResult& each : it.swaps) text += swap_text(each);
  return text;
}

}  // namespace

void read_emulator(Report& report) {
  const Json it = Json::parse(report.emulator);
  report.is_void = it.value("void", false);
  report.void_because = it.value("void_because", "");
  report.emulator_late_us = it.at("lateness_us").value("p99", 0.0);
}

std::string link_text(const Options& options) {
  return "A link of " +
         config::quantity_text(config::Quantity::Rate, static_cast<double>(options.rate.bps())) +
         " and " +
         config::quantity_text(config::Quantity::Duration, static_cast<double>(options.rtt.ns())) +
         text_of(" round trip that loses %g %% of all packets", options.loss * 100) +
         (options.burst > 1 ? text_of(" in bursts of %g", options.burst) : "");
}

std::string to_json(const Report& report) {
  Json json;
  json["link"] = link_json(report);
  json["without"] = half_json(report.without);
  Json with;
  with["policy"] = report.options.policy;
  with["wan"] = name_of(report.options.wan);
  with["lan"] = name_of(report.options.lan);
  with.update(half_json(report.with));
  with["added_us_p50"] = report.gateways.probes.added_us(0.5);
  with["added_us_p99"] = report.gateways.probes.added_us(0.99);
  with["repaired"] = report.gateways.all.repaired;
  with["given_up"] = report.gateways.all.given_up;
  with["drops"] = report.gateways.all.drops;
  with["udp_drops_at_gateways"] = report.gateways.during_udp.drops;
  with["cores_tcp"] = report.gateways.cores_tcp;
  with["cores_udp"] = report.gateways.cores_udp;
  with["swaps"] = Json::array();
  for (const SwapResult& each : report.gateways.swaps) with["swaps"].push_back(swap_json(each));
  json["with"] = with;
  json["bytes_wrong"] = report.bytes_wrong();
  json["udp_offered_mbps"] = static_cast<double>(report.options.offered_udp().bps()) * 1e-6;
  json["seconds"] = report.seconds;
  return json.dump();
}

std::string to_table(const Report& report) {
  const Options& options = report.options;
  const auto rate = [](double mbps) { return text_of("%.1f Mbit/s", mbps); };
  std::string text = "\n" + link_text(options) + "\n\n";
  const Half &without = report.without, &with = report.with;
  text += row("", "without gateways", ("with, " + options.policy).c_str());
  text += row("TCP (CUBIC) goodput", rate(without.tcp.mbps), rate(with.tcp.mbps));
  const double offered = static_cast<double>(options.offered_udp().bps()) * 1e-6;
  text += row("UDP offered", rate(offered), rate(offered));
  text += row("UDP goodput", rate(without.udp.mbps), rate(with.udp.mbps));
  text += row("UDP lost", loss_text(without.udp), loss_text(with.udp));
  text +=
      row(text_of("file of %g MiB", static_cast<double>(options.file.count()) / (1 << 20)).c_str(),
          file_text(without.file), file_text(with.file));
  text += row("messages of 64 KiB", messages_text(without.messages), messages_text(with.messages));
  text += "\n" + gateways_text(report.gateways, with.udp);
  if (report.is_void) {
    text += "\n  VOID: " + report.void_because + "\n";
  }
  text += text_of("  emulator late           p99 %.0f us\n", report.emulator_late_us);
  text += text_of("\n%s, %.0f s in all\n",
                  report.bytes_wrong() == 0
                      ? "Every byte that arrived was right"
                      : (std::to_string(report.bytes_wrong()) + " BYTES WERE WRONG").c_str(),
                  report.seconds);
  return text;
}

}  // namespace cw::demo
