// A host of a LAN: sends flows of IP packets at a pace and checks every packet that it is given.
// What it sends carries the flow, the number and the time, and a pattern that follows from them, so
// the host at the other end knows all that is wrong with a packet from the packet alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dataplane/gateway/options.h"
#include "dataplane/port.h"
#include "tests/sim/stage.h"

namespace cw::sim {

struct FlowOptions {
  gateway::PacketKind kind = gateway::PacketKind::Udp;  ///< Udp, Tcp, RoceRc (writes) or RoceUd
  uint16_t number = 1;                                  ///< tells flows apart: the source port
  uint32_t bytes = 1000;                                ///< of the IP packet, at least 84
  Rate rate = Rate::from_mbps(10);
  uint64_t packets = 100;
  Instant begin;
  uint8_t dscp = 0, ecn = 0, ttl = 64;
  uint8_t from = 1, to = 2;  ///< sites: addresses 10.<site>.0.1, fd00:<site>::1
  uint8_t group = 0;         ///< not 0: to 239.1.2.<group>, ff05::<group>, whatever `to` is
  bool is_v6 = false;        ///< then at least 104 bytes
  uint8_t opcode = 0;        ///< of RoCE; zero: as the kind is usually
  uint16_t target_qp = 0;    ///< of RoCE; zero: the flow's number
};

/// The headers and the first bytes that say what a packet is, as a host sends it. `ip` has room for
/// flow.bytes.
void write_headers(const FlowOptions& flow, uint64_t number, uint8_t* ip);

/// What arrived of one flow.
struct FlowReport {
  uint64_t received = 0, wrong = 0, doubled = 0;
  uint64_t overtaken = 0;  ///< packets that came after a later one of the flow
  uint64_t marked = 0;     ///< with CE
  uint64_t ecn[4] = {};    ///< packets by their ECN
  uint8_t ttl_min = 255, ttl_max = 0;
  uint8_t dscp_min = 63, dscp_max = 0;
  uint64_t next = 0;  ///< highest number + 1
  Duration delay_max;
  Instant last;
  std::vector<bool> seen;
  std::vector<Duration> delays;
  std::vector<Instant> arrivals;  ///< beside `delays`
};

/// What else a host runs: takes its own packets and writes more whenever it likes.
class HostProgram {
 public:
  virtual ~HostProgram() = default;
  /// False: the packet is somebody else's.
  virtual bool try_take(const Packet& packet, Instant now) = 0;
  /// Writes the next IP packet and returns its bytes; 0: none now.
  virtual size_t write_next(std::span<uint8_t> ip, Instant now) = 0;
  virtual Instant next_due() const = 0;
};

class Host final : public Actor {
 public:
  /// `gateway` is the port's number for it.
  Host(Port& port, uint16_t gateway) : port_(port), gateway_(gateway) {}

  void add_flow(const FlowOptions& flow) { flows_.push_back({flow, flow.begin, 0}); }
  /// `program` outlives the host's turns.
  void run(HostProgram& program) { programs_.push_back(&program); }
  /// Ends what has not been sent of all flows.
  void stop() { flows_.clear(); }
  /// Programs write no more, and take what comes for them.
  void stop_programs() { writes_ = false; }

  void turn(Instant now) override;
  Instant next_deadline() const override;

  const FlowReport& report(uint16_t number) { return reports_[number]; }
  uint64_t sent_count() const { return sent_; }
  uint64_t received_count() const { return received_; }
  uint64_t foreign_count() const { return foreign_; }  ///< packets that no host of ours sent
  /// The first of them.
  const std::vector<std::vector<uint8_t>>& foreign() const { return foreign_packets_; }
  bool has_sent_all() const;

 private:
  struct Flow {
    FlowOptions options;
    Instant due;
    uint64_t sent = 0;
  };

  void take(const Packet& packet, Instant now);
  bool try_send(Flow& flow, Instant now);
  bool try_send(HostProgram& program, Instant now);
  bool try_send(Packet& packet, Instant now);

  Port& port_;
  uint16_t gateway_;
  std::vector<Flow> flows_;
  std::vector<HostProgram*> programs_;
  std::map<uint16_t, FlowReport> reports_;
  bool writes_ = true;
  uint64_t sent_ = 0, received_ = 0, foreign_ = 0;
  std::vector<std::vector<uint8_t>> foreign_packets_;
};

}  // namespace cw::sim
