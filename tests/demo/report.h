// What a run of the demo came to, for a person and for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "tests/demo/gateways.h"
#include "tests/demo/options.h"
#include "tests/demo/probes.h"
#include "tests/demo/swaps.h"
#include "tests/demo/traffic.h"

namespace cw::demo {

/// The same traffic, one way or the other.
struct Half {
  TcpResult tcp;
  UdpResult udp;
  FileResult file;
  MessageResult messages;
  uint64_t bytes_wrong() const { return file.bytes_wrong + messages.bytes_wrong; }
};

/// What only gateways have.
struct GatewayFigures {
  Probes probes;
  GatewayCounts all;  ///< over all measurements
  GatewayCounts during_udp;
  std::vector<SwapResult> swaps;
  double cores_tcp = 0, cores_udp = 0;  ///< processors that both gateways together kept busy
};

struct Report {
  Options options;
  Half without, with;
  GatewayFigures gateways;
  /// The emulator says that it was too late for its figures to mean anything.
  bool is_void = false;
  std::string void_because;     ///< what was late or lost, and by how much
  double emulator_late_us = 0;  ///< at the 99th percentile
  std::string emulator;         ///< its own report
  double seconds = 0;

  uint64_t bytes_wrong() const { return without.bytes_wrong() + with.bytes_wrong(); }
};

/// Takes what it says of itself from the emulator's report.
void read_emulator(Report& report);

/// The link, as a person would tell it.
std::string link_text(const Options& options);
/// One object on one line.
std::string to_json(const Report& report);
std::string to_table(const Report& report);

}  // namespace cw::demo
