#include "bench/rdma/grid_table.h"

#include <algorithm>
#include <set>

#include "bench/rdma/operations.h"
#include "control/units/text.h"
#include "control/units/units.h"

namespace cw::bench {
namespace {

constexpr size_t rounds_wanted = 5;
constexpr double share_wanted = 0.95;

using Texts = std::vector<std::string>;

/// By what they mean: "20ms" after "1ms", "1%/8" after "1%".
double value_of(const std::string& text) {
  if (const auto time = parse_duration(text)) return static_cast<double>(time->ns());
  const size_t slash = text.find('/');
  const auto share = parse_share(text.substr(0, slash));
  return (share ? *share : 0) + (slash == std::string::npos ? 0 : 1e-6);
}

const Texts policy_order = {"plain",   "passthrough", "go_back_n",         "selective_repeat",
                            "erasure", "hybrid",      "layered_interleave"};

Texts policies_in(const std::set<std::string>& found) {
  Texts policies;
  for (const std::string& each : policy_order) {
    if (found.contains(each)) policies.push_back(each);
  }
  for (const std::string& each : found) {
    if (std::ranges::find(policies, each) == policies.end()) policies.push_back(each);
  }
  return policies;
}

std::string title_of(const std::string& policy) {
  if (policy == "plain") return "no gateways";
  if (policy == "passthrough") return "`passthrough`: only forwarded";
  return "`" + policy + "`";
}

/// One table: an operation at one MTU and RTT.
struct Table {
  uint32_t mtu = 0;
  std::string operation, rtt;
  std::set<std::string> losses, policies;
};

std::vector<Table> tables_of(const Results& results) {
  std::vector<Table> tables;
  for (const auto& [cell, samples] : results.cells()) {
    auto found = std::ranges::find_if(tables, [&shown = cell](const Table& it) {
      return it.mtu == shown.mtu && it.operation == shown.operation && it.rtt == shown.rtt;
    });
    if (found == tables.end()) {
      found = tables.insert(tables.end(), {cell.mtu, cell.operation, cell.rtt, {}, {}});
    }
    found->losses.insert(cell.loss);
    found->policies.insert(cell.policy);
  }
  const auto rank = [](const Table& it) {
    const Operation* const operation = find_operation(it.operation);
    return std::tuple(it.mtu, operation, value_of(it.rtt));
  };
  std::ranges::sort(tables, {}, rank);
  return tables;
}

std::string cell_text(const Results& results, const Cell& cell, bool is_latency) {
  if (!results.cells().contains(cell)) return "";
  const auto mbps = results.median(cell, &Sample::mbps),
             p50 = results.median(cell, &Sample::p50_us),
             p99 = results.median(cell, &Sample::p99_us);
  if (!mbps) return "failed";
  const std::string again =
      text_of(" (%llu)", static_cast<unsigned long long>(results.retransmits(cell)));
  if (is_latency) return text_of("%.2f, %.2f", *p50 * 1e-3, *p99 * 1e-3) + again;
  return text_of(*mbps < 1 ? "%.3f" : "%.1f", *mbps) + again;
}

std::string table_text(const Results& results, const Table& table) {
  const Operation* const operation = find_operation(table.operation);
  const bool is_latency = operation != nullptr && operation->is_latency;
  Texts losses(table.losses.begin(), table.losses.end());
  std::ranges::sort(losses, {}, value_of);
  std::string text = "\n### " + std::string(operation ? operation->what : table.operation) +
                     ", RTT " + table.rtt + text_of(", MTU %u\n\n", table.mtu);
  text += is_latency ? "p50 and p99 in ms" : "Mbit/s";
  text += ", in brackets what the hosts sent again.\n\n| loss |";
  for (const std::string& loss : losses) text += " " + loss + " |";
  text += "\n|---|";
  for (size_t i = 0; i < losses.size(); ++i) text += "---|";
  for (const std::string& policy : policies_in(table.policies)) {
    text += "\n| " + title_of(policy) + " |";
    for (const std::string& loss : losses) {
      const Cell cell{table.mtu, table.rtt, loss, policy, table.operation};
      text += " " + cell_text(results, cell, is_latency) + " |";
    }
  }
  return text + "\n";
}

Promise promise_of(const Results& results, const std::string& what, const Cell& of,
                   const Cell& over) {
  Promise promise{what, of, over};
  const auto part = results.median(of, &Sample::mbps), whole = results.median(over, &Sample::mbps);
  promise.rounds = std::min(results.count(of), results.count(over));
  if (!part || !whole || *whole <= 0) return promise;
  promise.ratio = *part / *whole;
  if (promise.rounds < rounds_wanted) return promise;
  promise.outcome = promise.ratio >= share_wanted ? Promise::Met : Promise::Missed;
  return promise;
}

std::string promise_text(const Promise& it) {
  if (it.rounds == 0) return "* " + it.what + ": not measured.\n";
  const char* const outcome = it.outcome == Promise::Met      ? "met"
                              : it.outcome == Promise::Missed ? "**missed**"
                                                              : "open, five rounds are asked for";
  return "* " + it.what + text_of(": %.1f %% in %zu rounds, ", it.ratio * 100, it.rounds) +
         outcome + ".\n";
}

std::string commits_text(const Results& results) {
  std::set<std::string> commits;
  size_t runs = 0;
  for (const auto& [cell, samples] : results.cells()) {
    runs += samples.size();
    for (const Sample& each : samples) commits.insert(each.commit);
  }
  std::string text = text_of("%zu runs, of", runs);
  for (const std::string& each : commits) text += " " + each;
  return text + ".\n";
}

std::string failures_text(const Results& results) {
  std::string text;
  for (const auto& [cell, samples] : results.cells()) {
    for (const Sample& each : samples) {
      if (each.failure.empty()) continue;
      text += "* " + cell.operation + ", RTT " + cell.rtt + ", loss " + cell.loss + ", " +
              cell.policy + ": " + each.failure + "\n";
    }
  }
  return text.empty() ? text : "\n## Runs that came to nothing\n\n" + text;
}

}  // namespace

std::vector<Promise> promises_of(const Results& results) {
  std::vector<Promise> promises;
  for (const char* const policy : {"erasure", "hybrid"}) {
    const Cell lossless{1500, "20ms", "0%", policy, "write"};
    Cell lossy = lossless, forwarded = lossless;
    lossy.loss = "1%";
    forwarded.policy = "passthrough";
    const std::string name = std::string("`") + policy + "`";
    promises.push_back(
        promise_of(results, name + " at 1 % loss, of itself without loss", lossy, lossless));
    promises.push_back(promise_of(results, name + " without loss, of what is only forwarded",
                                  lossless, forwarded));
  }
  return promises;
}

std::string page_of(const Results& results, const std::string& command) {
  std::string text =
      "# Real RDMA hosts, by gateways, loss and distance\n\n"
      "Two virtual machines with soft-RoCE (Debian's kernel, perftest), each behind a gateway, "
      "and\n"
      "causeway-wan between the gateways: `tests/rdma`. RC QPs have timeout 18 (`-u 18`, 1.07 s).\n"
      "Processors of the hosts are emulated: bandwidths compare with each other and with nothing\n"
      "else, and a few percent between neighbours are the machine's. What hosts sent again is the\n"
      "growth of rcvd_seq_err, out_of_seq_request, duplicate_request and completer_retry_err at\n"
      "both, all rounds together; soft-RoCE does not restart its timer when it is answered, so "
      "that a\n"
      "QP that always waits, as in the latency test, sends one packet again per timeout on any "
      "line.\n"
      "Figures are medians of rounds, in each of which everybody took his turn. `1%/8` is 1 % in\n"
      "bursts of 8 on average.\n\n"
      "```\n" +
      command + "\n```\n\n" + commits_text(results) +
      "\n## What is asked for\n\n"
      "RC writes over 20 ms: at least 95 %, medians of five rounds or more.\n\n";
  for (const Promise& each : promises_of(results)) text += promise_text(each);
  text += "\n## All of it\n";
  for (const Table& each : tables_of(results)) text += table_text(results, each);
  return text + failures_text(results);
}

}  // namespace cw::bench
