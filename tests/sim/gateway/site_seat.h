// The machine that a gateway of a simulation runs on: when its thread gets a turn, when it stands
// still, and its processes as they come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/gateway/site/adapt/site_adapt.h"
#include "control/gateway/site/site.h"
#include "dataplane/base/prng.h"
#include "dataplane/port/sim/sim_port.h"

namespace cw::sim {

/// One end of a link.
struct WanEnd {
  int site = 1;
  uint16_t peer = 0;  ///< as the site's file numbers them
  uint16_t link = 0;

  /// The other site, of those numbered from 1 on.
  int other() const { return peer + 1 < site ? peer + 1 : peer + 2; }
};

/// Sees what gateways give to the WAN and get from it, at their side of the port.
class WanTap {
 public:
  virtual ~WanTap() = default;
  virtual void on_sent(const WanEnd& end, const Packet& packet, Instant now) = 0;
  virtual void on_received(const WanEnd& end, const Packet& packet, Instant now) = 0;
};

/// Is called around each turn of a gateway.
class TurnWatch {
 public:
  virtual ~TurnWatch() = default;
  virtual void before_turn(int site) = 0;
  virtual void after_turn(int site) = 0;
};

/// Is told of the keys that sites agree on.
class KeyLogs {
 public:
  virtual ~KeyLogs() = default;
  /// What the site tells them to; lives as long as all of its processes.
  virtual seal::KeyLog& log_of(int site) = 0;
};

class SiteSeat {
 public:
  /// One shard's.
  struct Ports {
    SimPort *lan, *wan;
  };
  /// `file` is the site's configuration; all ports outlive the seat.
  struct Options {
    int number = 1;
    std::string file;
    std::vector<Ports> ports;  ///< for each core of the file
    WanTap* tap = nullptr;
    TurnWatch* turns = nullptr;
    bool serves_relinks = false;  ///< that peers ask for; else those that are begun here alone
    KeyLogs* keys = nullptr;      ///< of sites that seal
  };
  explicit SiteSeat(const Options& options);

  /// A process begins.
  void start(uint64_t seed, Instant now);
  void crash(Instant now);
  void pause(Instant now, Duration time);
  /// Live keys of the running process are as this file has them; the next one reads the old again.
  void take_live_keys(const std::string& file, Instant now);
  /// Links by this file are to take the place of those of the running process, which follows that
  /// from here on; the next one reads this file. False: it has such already.
  bool relink(const std::string& file, Instant now);
  /// What classes of the running process that adapt have decided, and when.
  struct Decided {
    Instant at;
    site::AdaptAnswer answer;
    site::SiteAdapt::Carried carried;
  };
  const std::vector<Decided>& decided() const { return decided_; }
  site::SiteAdapt& adapt() { return *adapt_; }
  bool is_alive() const { return site_ != nullptr; }
  bool is_paused(Instant now) const { return now < paused_until_; }
  site::Site& site() { return *site_; }
  const site::Plan& plan() const { return site_->plan(); }

  void turn(Instant now);
  /// When it gets its next turn, as causewayd's loop waits: packets that come in a row gather.
  Instant due() const;

  std::span<const Ports> ports() const { return options_.ports; }
  uint64_t lives() const { return lives_; }
  /// What a shard's LAN port had counted when this life began.
  const PortCounters& lan_at_start(size_t shard) const { return lans_at_start_[shard]; }
  /// Packets that came while no process was there.
  uint64_t lost_count() const { return lost_; }

 private:
  site::ShardPorts ports_of(const site::Plan& plan, size_t shard) const;
  Instant waits_until() const;
  void follow_relink(Instant now);
  void follow_adapt(Instant now);
  void throw_away(SimPort& port, Instant now);

  Options options_;
  Prng prng_;
  std::unique_ptr<site::Site> site_;
  uint64_t lives_ = 0, lost_ = 0;
  std::vector<PortCounters> lans_at_start_;
  static constexpr Duration relink_interval = Duration::from_ms(10);
  Duration gather_;  // of its start: a plan may be another's while it turns
  Instant last_work_, not_before_;
  Instant relink_due_ = Instant::never();
  static constexpr Duration adapt_interval = Duration::from_ms(200);
  static constexpr Duration swap_interval = Duration::from_ms(10);
  Instant adapt_due_ = Instant::never();
  std::optional<site::SiteAdapt> adapt_;
  site::AdaptMind mind_;
  std::vector<Decided> decided_;
  Instant pause_began_ = Instant::never(), paused_until_;
};

/// Who site `number` is, where sites have keys of their own: its private_key_file is "1.key" for 1.
const seal::Identity& identity_of(int number);
/// Reads a site's file as the daemon does, beside the key that all sites share, and those of each;
/// aborts with the sentence of one that is wrong.
site::Plan plan_of(const std::string& file, const site::Known& known = {});

}  // namespace cw::sim
