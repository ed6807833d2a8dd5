// causewayd at one of the lab's two sites: its file, its process, what it says of itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "control/json/json.h"
#include "tests/lab/program.h"
#include "tests/lab/restarts/fd_store.h"
#include "tests/lab/sites.h"

namespace cw::lab {

/// A folder of this process's own, gone with this object.
class Folder {
 public:
  explicit Folder(const std::string& where = "/tmp");
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Readable by nobody else.
  void write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

/// Lines of a [[class]] that gives up no packet because the machine is busy for a second.
inline constexpr const char* patient_class = "hold = \"2 s\"\nqueue = \"1 s\"\n";

/// What most tests' files have in common; a file is what comes of it.
struct GatewayFile {
  std::string rate = "190 Mbit/s", rtt = "25 ms", key_file = "pair.key";
  uint32_t lan_mtu = 1500, wan_mtu = 1500;
  size_t shards = 1;  ///< threads of the gateway, on two cores at most
  int links = 1;      ///< of the pair
  bool is_wan_v6 = false;
  bool is_sealed = false;  ///< each has a key of its own in the folder; else both share one
  bool is_over_dpdk = false;      ///< the WAN port, by net_af_packet; else sockets
  bool is_lan_over_dpdk = false;  ///< the same of the LAN port; else tun
  bool is_over_xdp = false, is_lan_over_xdp = false;  ///< instead
  std::string wan_device, lan_device;  ///< other devices of DPDK; then these ports are over it
  /// Further lines of these tables. What a test calls lost is lost by the line: where a busy
  /// machine keeps everybody waiting, packets are neither too old nor too many for a while.
  std::string lan_more = "queue = \"100 ms\"\n", wan_more, site_more;
  std::string classes = std::string("[[class]]\nname = \"all\"\n") + patient_class;

  /// For site A, or for site B, with its status in `folder`.
  std::string text(bool is_a, const Folder& folder) const;
};

/// Thread: one.
class Gateway {
 public:
  /// Writes NAME.toml into `folder`; nothing runs yet. All outlive the gateway.
  Gateway(const Sites& sites, const Folder& folder, const std::string& program, bool is_a);
  /// One of another lab, in its namespace.
  Gateway(const Space& space, const Folder& folder, const std::string& program,
          const std::string& name);

  /// Writes its file, as it will be read at the next start.
  void configure(const GatewayFile& file) const;
  /// The same, word by word; its status must be NAME.json in the folder.
  void configure(const std::string& text) const;
  /// Starts it and waits for its `ready`; throws what it says when that does not come.
  void start();
  /// Starts it, whatever comes of it.
  void start_in_vain();
  /// From the next start on it goes before every program that is not real-time, as one that has
  /// cores to itself.
  void be_urgent() { is_urgent_ = true; }
  /// From the next start on its command line has these besides.
  void is_told(Arguments more) { told_ = std::move(more); }
  /// From the next start on its service manager is this one, which outlives it; null: nobody.
  void be_kept_by(FdStore* store) { store_ = store; }
  bool is_running() { return program_ && !program_->has_ended(); }
  /// As of now or later. Throws when there is none.
  Json status();
  bool is_up();
  /// Waits until its link is up; false when it did not come up in time.
  bool wait_up(std::chrono::milliseconds most = std::chrono::seconds(30));
  /// Ends it by SIGTERM.
  Outcome stop();
  /// Ends it by SIGKILL.
  void kill();
  Program& program() { return *program_; }
  /// When its `ready` was seen.
  Time::time_point ready_at() const { return ready_at_; }
  /// Kilobytes of memory that it occupies.
  uint64_t resident_kib() const;

 private:
  Json next_status();

  const Space& space_;
  const Folder& folder_;
  std::string program_path_, name_;
  bool is_urgent_ = false;
  FdStore* store_ = nullptr;
  Arguments told_;
  std::optional<Program> program_;
  Time::time_point ready_at_;
};

}  // namespace cw::lab
