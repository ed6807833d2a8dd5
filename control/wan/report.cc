#include "control/wan/report.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "control/json/json.h"
#include "control/units/text.h"

namespace cw::wan {
namespace {

using Count = unsigned long long;

uint64_t failed_total(const Progress& progress) {
  uint64_t total = 0;
  for (const Direction* each : progress.directions) total += each->counters().failures.total();
  return total;
}

Json losses_of(const ImpairmentCounters& model) {
  Json lost;
  for (size_t i = 1; i < loss_cause_count; ++i) {
    lost[name_of(static_cast<LossCause>(i))] = model.lost[i];
  }
  lost["total"] = model.lost_total();
  return lost;
}

Json json_of(const Direction& direction) {
  const DirectionCounters& own = direction.counters();
  const ImpairmentCounters& model = direction.model_counters();
  Json json;
  json["received"] = own.received;
  json["forwarded"] = own.forwarded;
  json["bytes"] = own.forwarded_bytes;
  json["lost"] = losses_of(model);
  json["duplicated"] = model.extra_copies;
  json["corrupted"] = model.corrupted;
  json["marked"] = own.marked;
  json["reordered"] = model.held_back;
  json["unimpaired"] = own.unimpaired;
  json["held"] = direction.held_count();
  json["queue_max_us"] = model.queue_wait_max.us();
  json["checksums_finished"] = own.checksums_finished;
  json["failed"] = {{"missed", own.failures.missed},
                    {"too_long", own.failures.too_long},
                    {"no_memory", own.failures.no_memory},
                    {"refused", own.failures.refused}};
  return json;
}

std::string text_of_direction(const char* name, const Direction& direction, double seconds) {
  const DirectionCounters& own = direction.counters();
  const ImpairmentCounters& model = direction.model_counters();
  std::string text =
      text_of("%s: received %llu, forwarded %llu (%.1f Mbit/s), held %zu, longest queue %.1f ms\n",
              name, Count{own.received}, Count{own.forwarded},
              static_cast<double>(own.forwarded_bytes) * 8e-6 / seconds, direction.held_count(),
              model.queue_wait_max.ms());
  text += text_of("        duplicated %llu, corrupted %llu, marked %llu, reordered %llu, lost %llu",
                  Count{model.extra_copies}, Count{model.corrupted}, Count{own.marked},
                  Count{model.held_back}, Count{model.lost_total()});
  for (size_t i = 1; i < loss_cause_count; ++i) {
    if (model.lost[i] == 0) continue;
    text += text_of(", %s %llu", name_of(static_cast<LossCause>(i)), Count{model.lost[i]});
  }
  return text + "\n";
}

std::string text_of_failures(const Progress& progress) {
  Failures all;
  for (const Direction* each : progress.directions) {
    const Failures& failures = each->counters().failures;
    all.missed += failures.missed;
    all.too_long += failures.too_long;
    all.no_memory += failures.no_memory;
    all.refused += failures.refused;
  }
  return text_of(
      "%llu missed by the receive ring, %llu super-packets, %llu without memory, "
      "%llu refused by an interface",
      Count{all.missed}, Count{all.too_long}, Count{all.no_memory}, Count{all.refused});
}

}  // namespace

std::string void_because(const Progress& progress) {
  const Duration late = progress.lateness->at(0.99);
  if (late > lateness_max) {
    return text_of(
        "the emulator was %.0f us late at the 99th percentile, where %.0f us are the "
        "most: give it a quieter machine, CAP_SYS_NICE or --spin",
        late.us(), lateness_max.us());
  }
  if (failed_total(progress) > 0) {
    return "frames were lost that the link did not lose: " + text_of_failures(progress);
  }
  return {};
}

std::string json_report(const Options& options, const Progress& progress) {
  Json json;
  for (size_t i = 0; i < 2; ++i) json[direction_names[i]] = json_of(*progress.directions[i]);
  const Lateness& lateness = *progress.lateness;
  json["lateness_us"] = {{"p50", lateness.at(0.5).us()},
                         {"p99", lateness.at(0.99).us()},
                         {"max", lateness.max().us()}};
  const std::string because = void_because(progress);
  json["void"] = !because.empty();
  json["void_because"] = because;
  json["seconds"] = progress.elapsed.seconds();
  json["seed"] = options.seed;
  json["interfaces"] = options.interfaces;
  for (size_t i = 0; i < 2; ++i) {
    json["link"][direction_names[i]] = Json((*progress.link)[i].texts);
  }
  json["link"]["changes"] = progress.changes;
  json["link"]["impair_arp"] = options.impairs_arp;
  return json.dump() + "\n";
}

std::string text_report(const Progress& progress) {
  const double seconds = std::max(progress.elapsed.seconds(), 1e-9);
  std::string text = text_of_direction("A to B", *progress.directions[0], seconds) +
                     text_of_direction("B to A", *progress.directions[1], seconds);
  const Lateness& lateness = *progress.lateness;
  text += text_of("late: p50 %.1f us, p99 %.1f us, max %.1f us, over %.1f s\n",
                  lateness.at(0.5).us(), lateness.at(0.99).us(), lateness.max().us(), seconds);
  const std::string because = void_because(progress);
  return because.empty() ? text : text + "this run is void: " + because + "\n";
}

std::string LiveLine::next(const Progress& progress) {
  const double seconds = std::max((progress.elapsed - elapsed_).seconds(), 1e-9);
  elapsed_ = progress.elapsed;
  std::string line = text_of("%.1f s", progress.elapsed.seconds());
  for (size_t i = 0; i < 2; ++i) {
    const Direction& direction = *progress.directions[i];
    const DirectionCounters& own = direction.counters();
    const Seen before = std::exchange(seen_[i], {own.forwarded, own.forwarded_bytes});
    line += text_of("  %s %.1f kpps %.1f Mbit/s lost %llu held %zu", i == 0 ? "A>B" : "B>A",
                    static_cast<double>(own.forwarded - before.frames) * 1e-3 / seconds,
                    static_cast<double>(own.forwarded_bytes - before.bytes) * 8e-6 / seconds,
                    Count{direction.model_counters().lost_total()}, direction.held_count());
  }
  line += text_of("  late p99 %.0f us", progress.lateness->at(0.99).us());
  const uint64_t failed = failed_total(progress);
  return failed == 0 ? line : line + text_of("  FAILED %llu", Count{failed});
}

}  // namespace cw::wan
