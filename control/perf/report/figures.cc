#include "control/perf/report/figures.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "control/json/json.h"
#include "control/perf/report/words.h"
#include "control/sim/report.h"
#include "control/units/text.h"

namespace cw::perf {
namespace {

constexpr Duration progress_every = Duration::from_s(1);

/// Those that happened.
Json drops_of(End& end, const NamedCounts& lost) {
  Json json = Json::object();
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    const uint64_t count = end.drops().read_any_thread(reason);
    if (count > 0) json[std::string(name_of(reason))] = count;
  }
  const PortCounters port = end.port().counters();
  const auto add = [&](const char* name, uint64_t count) {
    if (count > 0) json[name] = count;
  };
  add("port.rx_dropped", port.rx_dropped);
  add("port.rx_malformed", port.rx_malformed);
  add("port.tx_refused", port.tx_refused);
  for (const auto& [name, count] : lost) add(name, count);
  return json;
}

Json port_of(End& end, const NamedCounts& work) {
  Json json = {{"system_calls", end.port().counters().system_calls}};
  for (const auto& [name, count] : work) json[name] = count;
  return json;
}

Json completion_of(std::vector<Duration> times) {
  const double max = times.empty() ? 0 : std::ranges::max(times).us();
  const CompletionTimes of = CompletionTimes::of(std::move(times));
  return {{"mean", of.mean * 1e3},
          {"p50", of.p50 * 1e3},
          {"p99", of.p99 * 1e3},
          {"p999", of.p999 * 1e3},
          {"max", max}};
}

/// Of each setting its figures, and how they compare with those of the first.
Json phases_of(const Sender& sender) {
  Json phases = Json::array();
  const auto& settings = sender.phases().options().settings;
  for (size_t i = 0; i < settings.size(); ++i) {
    std::vector<Duration> times = sender.times_of_phase(i);
    Json phase{{"link", settings[i]}, {"done", times.size()}};
    phase["completion_us"] = completion_of(std::move(times));
    const Json& first = i == 0 ? phase : phases[0];
    Json over;
    for (const char* name : {"p50", "p99", "p999"}) {
      const double least = first["completion_us"][name].get<double>();
      over[name] = least > 0 ? phase["completion_us"][name].get<double>() / least : 0;
    }
    phase["over_first"] = over;
    phases.push_back(std::move(phase));
  }
  return phases;
}

std::string phases_text(const Json& phases) {
  std::string text;
  for (const Json& phase : phases) {
    const Json &times = phase.at("completion_us"), &over = phase.at("over_first");
    text += text_of("  %-16s p50 %.0f us (x%.3f), p99 %.0f (x%.3f), p99.9 %.0f (x%.3f), %d done\n",
                    phase.at("link").get<std::string>().c_str(), times.at("p50").get<double>(),
                    over.at("p50").get<double>(), times.at("p99").get<double>(),
                    over.at("p99").get<double>(), times.at("p999").get<double>(),
                    over.at("p999").get<double>(), phase.at("done").get<int>());
  }
  return text;
}

std::string drops_text(const Json& drops) {
  std::string text;
  for (const auto& [name, count] : drops.items()) {
    text += (text.empty() ? "" : ", ") + std::to_string(count.get<uint64_t>()) + " " + name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Json figures_of(End& end, const WireCounts& wire) {
  Json json;
  json["packets_sent"] = end.worker_count_of(Counter::tx_packets);
  json["packets_received"] = end.worker_count_of(Counter::rx_packets);
  json["resends"] = end.count_of(Counter::resends_sent);
  json["repairs"] = end.count_of(Counter::repairs_sent);
  json["quarantined"] = end.count_of(Counter::policies_quarantined);
  json["drops"] = drops_of(end, wire.lost);
  json["port"] = port_of(end, wire.work);
  return json;
}

Json figures_of(const Receiver& receiver, End& end, const WireCounts& wire) {
  Json json = figures_of(end, wire);
  json["whole"] = receiver.whole();
  json["incomplete"] = receiver.incomplete();
  json["bytes_wrong"] = receiver.bytes_wrong();
  return json;
}

Json report_of(const Parameters& parameters, const Sender& sender, const Json& client,
               const Json& server, const char* ended) {
  const double seconds = sender.elapsed().seconds();
  const auto of_server = [&](const char* name) {
    return server.is_object() ? count_in(server, name).value_or(0) : 0;
  };
  const uint64_t whole = of_server("whole");
  const auto bytes = static_cast<double>(whole) * static_cast<double>(parameters.size.count());
  Json json;
  json["op"] = parameters.op;
  json["policy"] = parameters.policy;
  json["size"] = parameters.size.count();
  json["inflight"] = parameters.in_flight;
  json["payload"] = parameters.payload_bytes;
  json["seed"] = parameters.seed;
  json["posted"] = sender.posted();
  json["done"] = sender.done();
  json["given_up"] = sender.given_up();
  json["arrived_whole"] = whole;
  json["arrived_with_holes"] = of_server("incomplete");
  json["seconds"] = seconds;
  json["bandwidth_mbps"] = seconds > 0 ? bytes * 8e-6 / seconds : 0;
  json["messages_per_second"] = seconds > 0 ? static_cast<double>(whole) / seconds : 0;
  json["completion_us"] = completion_of({sender.times().begin(), sender.times().end()});
  if (sender.phases().options().has_any()) json["phases"] = phases_of(sender);
  json["resends"] = client.at("resends");
  json["repairs"] = client.at("repairs");
  json["verified"] = parameters.verify && server.is_object();
  json["bytes_wrong"] = of_server("bytes_wrong");
  json["client"] = client;
  json["server"] = server;
  json["ended"] = ended;
  return json;
}

std::string table_of(const Json& it) {
  const auto count = [&](const char* name) {
    return static_cast<unsigned long long>(it.at(name).get<uint64_t>());
  };
  const auto real = [&](const char* name) { return it.at(name).get<double>(); };
  const Json& times = it.at("completion_us");
  const auto us = [&](const char* name) { return times.at(name).get<double>(); };
  std::string text;
  text += text_of("%s of %llu bytes, %llu in flight, policy %s, packets of %llu\n",
                  it.at("op").get<std::string>().c_str(), count("size"), count("inflight"),
                  it.at("policy").get<std::string>().c_str(), count("payload"));
  text += text_of("messages    %llu posted, %llu done, %llu given up; %llu arrived whole\n",
                  count("posted"), count("done"), count("given_up"), count("arrived_whole"));
  text += text_of("bandwidth   %.1f Mbit/s, %.0f messages/s, in %.3f s\n", real("bandwidth_mbps"),
                  real("messages_per_second"), real("seconds"));
  text += text_of("completion  p50 %.0f us, p99 %.0f, p99.9 %.0f, max %.0f, mean %.0f\n", us("p50"),
                  us("p99"), us("p999"), us("max"), us("mean"));
  if (it.contains("phases")) text += phases_text(it.at("phases"));
  text += text_of("repaired    %llu resends, %llu repair packets\n", count("resends"),
                  count("repairs"));
  text += "drops       client: " + drops_text(it.at("client").at("drops")) + "\n";
  const Json& server = it.at("server");
  text += "            server: " +
          (server.is_object() ? drops_text(server.at("drops")) : "it did not report") + "\n";
  if (it.at("verified").get<bool>()) text += text_of("wrong bytes %llu\n", count("bytes_wrong"));
  if (it.at("ended") != ended_done)
    text += "ended       " + it.at("ended").get<std::string>() + "\n";
  return text;
}

std::string receiver_table_of(const Json& it) {
  const auto count = [&](const char* name) {
    return static_cast<unsigned long long>(it.at(name).get<uint64_t>());
  };
  return text_of("messages    %llu arrived whole, %llu with holes, %llu bytes wrong\ndrops       ",
                 count("whole"), count("incomplete"), count("bytes_wrong")) +
         drops_text(it.at("drops")) + "\n";
}

bool Progress::is_due(Instant now) {
  if (isatty(STDERR_FILENO) != 1 || now < next_) return false;
  const bool is_first = next_ == Instant();
  next_ = now + progress_every;
  return !is_first;
}

void Progress::say(const std::string& text) {
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  is_shown_ = true;
}

void Progress::show(const Sender& sender, const Parameters& parameters, const End& end,
                    Instant now) {
  if (!is_due(now)) return;
  if (sender.posted() == 0) return say("waiting: " + end.link().why());
  const double seconds = sender.running(now).seconds();
  const auto bytes = static_cast<double>(sender.done() * parameters.size.count());
  say(text_of("%.0f s: %llu%s messages, %.1f Mbit/s, %llu resent", seconds,
              static_cast<unsigned long long>(sender.done()),
              parameters.is_timed() ? "" : (" of " + std::to_string(parameters.count)).c_str(),
              bytes * 8e-6 / seconds,
              static_cast<unsigned long long>(end.count_of(Counter::resends_sent))));
}

void Progress::clear() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
  is_shown_ = false;
}

}  // namespace cw::perf
