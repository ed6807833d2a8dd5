#include "bench/e2e/pair.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/machine.h"
#include "control/json/json.h"
#include "tests/lab/enclosure.h"

namespace cw::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string folder = lab::enclosure_folder;
constexpr auto patience = seconds(20);

std::string memif(const char* role, const Ends& ends) {
  return "net_memif0,socket=" + folder + "/pair.sock,socket-abstract=no,role=" + role +
         memif_room(ends.wan_mtu);
}

/// In a session of its own, which the kernel's autogroups share the machine among.
lab::Arguments before_others(lab::Arguments command) {
  lab::Arguments all = {"setsid",
                        "--wait",
                        "sh",
                        "-c",
                        "echo -20 2>/dev/null >/proc/self/autogroup; renice -n -20 $$ >/dev/null; "
                        "exec \"$@\"",
                        "sh"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

// ---- testpmd ------------------------------------------------------------------------------------

constexpr unsigned cores = 2;

lab::Arguments testpmd(unsigned core, const std::string& first, const std::string& second) {
  // Its main thread only prints; the other core is the one that forwards.
  const std::string main = std::to_string((core + 1) % cores);
  return before_others({"dpdk-testpmd",
                        "-l",
                        "0,1",
                        "--main-lcore",
                        main,
                        "--no-huge",
                        "-m",
                        "256",
                        "--no-pci",
                        "--file-prefix",
                        "causeway-bench-" + std::to_string(core),
                        "--vdev",
                        first,
                        "--vdev",
                        second,
                        "--",
                        "--forward-mode=io",
                        "--stats-period=1",
                        "--total-num-mbufs=16384",
                        "--no-mlockall"});
}

class Testpmd final : public Pair {
 public:
  explicit Testpmd(const Ends& ends) {
    b_.emplace(ends.space_b, testpmd(1, memif("server", ends), ends.lan_b));
    std::this_thread::sleep_for(milliseconds(1500));
    a_.emplace(ends.space_a, testpmd(0, ends.lan_a, memif("client", ends)));
    std::this_thread::sleep_for(milliseconds(1500));
    check();
  }

  // Its statistics of each second, of its first port: what came in by the memif.
  std::vector<double> take_rates() override {
    const std::string all = b_->out_so_far();
    std::istringstream lines(all.substr(read_));
    read_ = all.size();
    std::vector<double> rates;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("NIC statistics for port") != std::string::npos) {
        is_first_port_ = line.find("port 0") != std::string::npos;
      }
      const size_t at = line.find("Rx-pps:");
      if (is_first_port_ && at != std::string::npos)
        rates.push_back(std::stod(line.substr(at + 7)));
    }
    return rates;
  }

 private:
  size_t read_ = 0;
  bool is_first_port_ = false;
};

// ---- gateways -----------------------------------------------------------------------------------

void write_file(const std::string& name, const std::string& text) {
  std::ofstream(folder + "/" + name) << text;
}

/// What causewayd wrote last; nothing before it has written.
Json status_of(const std::string& site) {
  std::ifstream file(folder + "/" + site + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return Json::parse_or_null(text.str());
}

class Gateways final : public Pair {
 public:
  Gateways(const Ends& ends, const GatewaySetup& setup, const std::string& program) {
    umask(077);
    for (const char* left : {"pair.sock", "a.json", "b.json"})
      unlink((folder + "/" + left).c_str());
    write_file("pair.key", "the secret of a pair that is measured\n");
    const std::string& lan_b = ends.lan_b_heard.empty() ? ends.lan_b : ends.lan_b_heard;
    write_file("a.toml", gateway_file(Side::A, setup,
                                      {ends.lan_a, memif("client", ends), ends.wan_mtu}, folder));
    write_file("b.toml",
               gateway_file(Side::B, setup, {lan_b, memif("server", ends), ends.wan_mtu}, folder));
    b_.emplace(ends.space_b, before_others({program, "--config", folder + "/b.toml"}));
    a_.emplace(ends.space_a, before_others({program, "--config", folder + "/a.toml"}));
    const auto end = lab::Time::now() + patience;
    while (!is_up()) {
      check();
      if (lab::Time::now() > end) throw std::runtime_error("the gateways' link does not come up");
      std::this_thread::sleep_for(milliseconds(50));
    }
  }

  // Its status is written each second.
  std::vector<double> take_rates() override {
    const auto status = status_of("b");
    if (!status.is_object() || !status.contains("counters")) return {};
    const auto at = status.at("uptime_s").get<double>();
    const auto frames = status.at("counters").at("frames_out").get<double>();
    if (at == at_) return {};
    const double rate = (frames - frames_) / (at - at_);
    at_ = at;
    frames_ = frames;
    return {rate};
  }

 private:
  static bool is_up() {
    const auto status = status_of("a");
    return status.is_object() && status.contains("peers") &&
           status.at("peers").at(0).at("link") == "up";
  }

  double at_ = 0, frames_ = 0;
};

}  // namespace

double Pair::frames_per_second(unsigned count) {
  const auto end = lab::Time::now() + seconds(count + 1);
  (void)take_rates();
  std::vector<double> rates;
  while (lab::Time::now() < end) {
    std::this_thread::sleep_for(milliseconds(50));
    check();
    for (const double rate : take_rates()) rates.push_back(rate);
  }
  return median(rates);
}

double Pair::processor_seconds() const {
  const auto both = a_->processor_time() + b_->processor_time();
  return std::chrono::duration<double>(both).count();
}

void Pair::check() {
  for (std::optional<lab::Program>* each : {&a_, &b_}) {
    if (!*each || !(*each)->has_ended()) continue;
    const lab::Outcome outcome = (*each)->finish();
    if (outcome.status == 127) {
      throw std::runtime_error("dpdk-testpmd is missing; apt-get install dpdk");
    }
    throw std::runtime_error("a process has ended, status " + std::to_string(outcome.status) +
                             ":\n" + outcome.err);
  }
}

std::unique_ptr<Pair> start_testpmd(const Ends& ends) {
  unlink((folder + "/pair.sock").c_str());
  return std::make_unique<Testpmd>(ends);
}

std::unique_ptr<Pair> start_gateways(const Ends& ends, const GatewaySetup& setup,
                                     const std::string& program) {
  return std::make_unique<Gateways>(ends, setup, program);
}

}  // namespace cw::bench
