// What the programs of bench/micro find, in so many words. Their ratios are taken within one run.
#include <array>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "bench/claims/figures.h"

#include "control/json/json.h"

namespace cw::claims {
namespace {

/// A benchmark's counters, by its name.
using Found = std::map<std::string, Json>;

std::string out_of(const std::string& command) {
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  std::array<char, 4096> bytes;
  while (const size_t count = fread(bytes.data(), 1, bytes.size(), pipe)) {
    out.append(bytes.data(), count);
  }
  if (pclose(pipe) != 0) throw std::runtime_error(command + " has failed");
  return out;
}

/// The medians of what a program measures.
Found run(const std::string& program, const std::string& filter, const Effort& effort) {
  const std::string out =
      out_of(program + " --benchmark_format=json --benchmark_filter='" + filter +
             "' --benchmark_min_time=" + std::to_string(effort.bench_seconds) +
             " --benchmark_repetitions=" + std::to_string(effort.repetitions) + " 2>/dev/null");
  const Json report = Json::parse(out);
  Found found;
  for (const Json& each : report.at("benchmarks")) {
    const bool is_median = each.value("aggregate_name", "") == "median";
    if (effort.repetitions == 1 || is_median) found[each.at("run_name").get<std::string>()] = each;
  }
  return found;
}

double counter(const Found& found, const std::string& name, const char* key) {
  const auto it = found.find(name);
  if (it == found.end() || !it->second.contains(key)) {
    throw std::runtime_error("no benchmark " + name + " with a counter " + key);
  }
  return it->second.at(key).get<double>();
}

Figures of_wire(const std::string& folder, const Effort& effort) {
  const Found found = run(folder + "/wire_bench", "^(encode|parse)_", effort);
  const auto row = [&](const char* what, const std::string& name, const char* beside) {
    return Figure{what, counter(found, name, "Mpps"), "Mpackets/s",
                  counter(found, name, "vs_memcpy"), std::string("time of memcpy of ") + beside};
  };
  return {row("encode a slot's 32 bytes of headers", "encode_slot_headers", "32 bytes"),
          row("encode a whole 4 KiB frame with its ICRC", "encode_frame_4k", "the frame"),
          row("encode a resend's headers, payload's CRC known", "encode_headers_and_known_icrc",
              "the frame"),
          row("decode a slot's headers", "parse_slot_headers", "32 bytes"),
          row("decode a whole 4 KiB frame and check its ICRC", "parse_frame_4k_and_check_icrc",
              "the frame")};
}

Figures of_codecs(const std::string& folder, const Effort& effort) {
  const std::string shape = "(32,4)";
  const Found found = run(folder + "/codec_bench", "^(rs|xor).32,4..(encode|rebuild_4)$", effort);
  Figures figures;
  for (const std::string codec : {"rs", "xor"}) {
    for (const std::string step : {"encode", "rebuild_4"}) {
      const std::string name = codec + shape + "/" + step;
      figures.push_back({name + ", of data", 1e-9 * counter(found, name, "bytes_per_second"),
                         "GB/s", counter(found, name, "vs_memcpy"), "time of memcpy of the data"});
    }
  }
  return figures;
}

Figures of_receiving(const std::string& folder, const Effort& effort) {
  const Found bits =
      run(folder + "/bitmap_bench", "^(read_records|claims/chunk_slots:16)$", effort);
  const Found sdr =
      run(folder + "/sdr_bench", "^(receive_(headers|4k)|send_by_reference)/", effort);
  const auto manual = [](const char* name) { return std::string(name) + "/manual_time"; };
  const double records = counter(bits, "claims/chunk_slots:16", "records/s");
  const double headers = counter(sdr, manual("receive_headers"), "Mpps");
  return {{"slots claimed and counted", 1e-6 * records, "Mpackets/s",
           records / counter(bits, "read_records", "records/s"), "speed of reading the records"},
          {"SDK receives slots without payload", headers, "Mpackets/s", 1e6 * headers / records,
           "speed of claiming"},
          {"SDK receives slots of 4 KiB", counter(sdr, manual("receive_4k"), "Mpps"), "Mpackets/s",
           counter(sdr, manual("receive_4k"), "vs_memcpy"), "speed of memcpy of the payloads"},
          {"SDK sends slots by reference", counter(sdr, manual("send_by_reference"), "Mpps"),
           "Mpackets/s"}};
}

Figures of_sockets(const std::string& folder, const Effort& effort) {
  const Found found = run(folder + "/udp_bench", ".*", effort);
  Figures figures;
  for (const std::string bytes : {"1400", "8192"}) {
    const double per_mb = 1e6 / std::stod(bytes);
    const double plain = counter(found, "plain_loop/" + bytes, "syscalls_per_packet") * per_mb;
    const std::string port = "port_with_gso/" + bytes;
    const double ours = counter(found, port, "syscalls_per_packet") * per_mb;
    figures.push_back({"udp port, slots of " + bytes + " bytes", ours,
                       "system calls per MB, both ends", ours / plain,
                       "those of sendmmsg and recvmmsg, 64 at once"});
    figures.push_back({"udp port, slots of " + bytes + " bytes",
                       1e-6 * counter(found, port, "packets_per_s"), "Mpackets/s",
                       counter(found, port, "of_plain"), "speed of sendmmsg and recvmmsg"});
  }
  return figures;
}

}  // namespace

Figures of_rooms(const std::string& folder, const Effort& effort) {
  Figures figures;
  for (const auto part : {of_wire, of_codecs, of_receiving, of_sockets}) {
    const Figures more = part(folder, effort);
    figures.insert(figures.end(), more.begin(), more.end());
  }
  return figures;
}

}  // namespace cw::claims
