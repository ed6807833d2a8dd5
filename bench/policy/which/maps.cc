#include "bench/policy/which/maps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "control/chart/svg_map.h"
#include "control/units/text.h"

namespace cw::which {
namespace {

constexpr int sizes = 18, losses = 13;
constexpr double size_least = 64 << 10;
constexpr int losses_per_decade = 3;

double size_at(int column) { return std::ldexp(size_least, column); }
double loss_at(int row) { return 1e-6 * std::pow(10, double(row) / losses_per_decade); }

using Predicate = std::function<bool(const Cell&)>;

size_t count(const std::vector<LinkMap>& maps, const Predicate& is_meant) {
  size_t found = 0;
  for (const LinkMap& map : maps) {
    for (const auto& row : map.cells) found += size_t(std::ranges::count_if(row, is_meant));
  }
  return found;
}

/// Indices of plans that win a cell anywhere.
std::vector<size_t> winners_of(const std::vector<LinkMap>& maps) {
  std::vector<size_t> found;
  for (size_t plan = 0; plan < model::usual_plans().size(); ++plan) {
    const auto wins = [&](const Cell& cell) { return cell.is_known && cell.winner == plan; };
    if (count(maps, wins) > 0) found.push_back(plan);
  }
  return found;
}

MapPanel panel_of(const LinkMap& map, const std::vector<size_t>& winners) {
  MapPanel panel{.title = text_of("RTT %g ms", map.rtt_ms)};
  for (int column = 0; column < sizes; ++column) {
    panel.x_values.push_back(size_text(size_at(column)));
  }
  for (int row = 0; row < losses; ++row) {
    const bool is_said = row % losses_per_decade == 0;
    panel.y_values.push_back(is_said ? loss_text(loss_at(row)) : std::string());
    panel.cells.emplace_back();
    for (const Cell& cell : map.cells[size_t(row)]) {
      const auto found = std::ranges::find(winners, cell.winner);
      panel.cells.back().push_back(cell.is_known ? int(found - winners.begin()) : -1);
    }
  }
  const double in_a_round_trip = map.gbps * 1e9 / 8 * map.rtt_ms * 1e-3;
  panel.mark = std::clamp(std::log2(in_a_round_trip / size_least) + 0.5, 0.0, double(sizes));
  return panel;
}

void print_share(const char* what, const std::vector<LinkMap>& maps, const Predicate& is_meant,
                 const Predicate& holds) {
  const size_t meant = count(maps, is_meant);
  const size_t held = count(maps, [&](const Cell& cell) { return is_meant(cell) && holds(cell); });
  std::printf("* %s: %zu of %zu cells.\n", what, held, meant);
}

void print_links(const std::vector<LinkMap>& all) {
  std::printf(
      "| link | selective repeat, nack | a code | another | no law |\n|---|---|---|---|---|\n");
  for (const LinkMap& map : all) {
    const std::vector<LinkMap> one{map};
    const size_t codes = count(one, [](const Cell& it) { return it.is_known && it.is_code; });
    const size_t asking = count(one, [](const Cell& it) { return it.is_known && it.winner == 0; });
    const size_t unknown = count(one, [](const Cell& it) { return !it.is_known; });
    std::printf("| %g Gbit/s, %g ms | %zu | %zu | %zu | %zu |\n", map.gbps, map.rtt_ms, asking,
                codes, size_t(sizes * losses) - asking - codes - unknown, unknown);
  }
}

/// How much repair is enough, as far as a code wins.
void print_codes(const std::vector<LinkMap>& all) {
  std::printf("\n| packets lost |");
  const auto plans = model::usual_plans();
  std::vector<size_t> codes = winners_of(all);
  std::erase_if(codes, [&](size_t plan) { return !is_code(plans[plan]); });
  for (const size_t plan : codes) std::printf(" %s |", look_of(plans[plan]).name);
  std::printf("\n|---|");
  for (size_t i = 0; i < codes.size(); ++i) std::printf("---|");
  for (int row = 0; row < losses; ++row) {
    std::printf("\n| %s |", loss_text(loss_at(row)).c_str());
    for (const size_t plan : codes) {
      std::printf(" %zu |", count(all, [&](const Cell& it) {
                    return it.is_known && it.winner == plan && it.loss == loss_at(row);
                  }));
    }
  }
  std::printf("\n");
}

void print_worst_timeout(const std::vector<LinkMap>& all) {
  double most = 0;
  for (const LinkMap& map : all) {
    for (const auto& row : map.cells) {
      for (const Cell& cell : row) most = std::max(most, cell.timeout_ratio);
    }
  }
  std::printf("* Selective repeat by timeout takes up to %.1f times as long as the best.\n", most);
}

}  // namespace

LinkMap map_of(double gbps, double rtt_ms) {
  LinkMap map{.gbps = gbps, .rtt_ms = rtt_ms};
  for (int row = 0; row < losses; ++row) {
    map.cells.emplace_back();
    for (int column = 0; column < sizes; ++column) {
      const Standing standing = stand(
          {.gbps = gbps, .rtt_ms = rtt_ms, .size_bytes = size_at(column), .loss = loss_at(row)});
      const model::Prediction &best = *standing.best, &timeout = *standing.by_timeout;
      const bool has_ratio = standing.is_known() && standing.is_law(timeout);
      map.cells.back().push_back({.winner = best.index,
                                  .is_known = standing.is_known(),
                                  .is_code = is_code(best.plan),
                                  .loss = loss_at(row),
                                  .hit = standing.hit(),
                                  .leaving_rtts = standing.leaving_rtts(),
                                  .timeout_ratio = has_ratio ? timeout.p999_ms / best.p999_ms : 0});
    }
  }
  return map;
}

std::string picture_of(double gbps, const std::vector<LinkMap>& all) {
  const std::vector<size_t> winners = winners_of(all);
  const auto plans = model::usual_plans();
  ChartMap map{.title = text_of("Who has the least p99.9 at %g Gbit/s", gbps),
               .x_label = "message size",
               .y_label = "packets lost",
               .nothing = "no law, a lower bound only",
               .mark = "to the left: leaves within one RTT"};
  for (const size_t plan : winners) {
    const Look look = look_of(plans[plan]);
    map.names.push_back({.text = look.name, .colour = look.colour});
  }
  for (const LinkMap& each : all) {
    if (each.gbps == gbps) map.panels.push_back(panel_of(each, winners));
  }
  return svg_of(map);
}

void print_shares(const std::vector<LinkMap>& all) {
  const auto is_hit = [](const Cell& it) { return it.hit >= 1e-3; };
  const auto is_plain = [](const Cell& it) { return it.is_known && !it.is_code; };
  const auto is_coded = [](const Cell& it) { return it.is_known && it.is_code; };
  const auto within = [&](double low, double high) {
    return [=](const Cell& it) {
      return is_hit(it) && it.leaving_rtts > low && it.leaving_rtts <= high;
    };
  };
  print_share(
      "Fewer than one message in 1,000 loses anything, and the winner sends nothing extra", all,
      [&](const Cell& it) { return !is_hit(it); }, is_plain);
  print_share("More do, the message leaves within one RTT, and a code wins", all, within(0, 1),
              is_coded);
  print_share("It leaves in 1 to 4 RTTs, and a code wins", all, within(1, 4), is_coded);
  print_share("In 4 to 16 RTTs, and a code wins", all, within(4, 16), is_coded);
  print_share("In more than 16 RTTs, and a code wins", all, within(16, 1e9), is_coded);
  print_worst_timeout(all);
  std::printf("\nCells that each wins, per link, and those of each code, per loss:\n\n");
  print_links(all);
  print_codes(all);
}

}  // namespace cw::which
