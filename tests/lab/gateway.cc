#include "tests/lab/gateway.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "control/json/json.h"
#include "tests/made_identity.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;

constexpr auto look_every = milliseconds(2);
constexpr auto status_patience = std::chrono::seconds(30);

Json read_json(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return Json::parse_or_null(text.str());
}

/// When a status was written, in its own words.
double moment_of(const Json& status) {
  return status.is_object() ? status.value("uptime_s", -1.0) : -1.0;
}

/// `device` is the driver with its number: two of one process are told apart by it.
std::string dpdk_keys(const std::string& device, const std::string& interface, uint32_t mtu) {
  const char* const frames =
      mtu <= 1900 ? "framesz=2048,framecnt=2048" : "framesz=8192,framecnt=512";
  return "port = \"dpdk\"\ndevice = \"" + device + ",iface=" + interface +
         ",qpairs=1,blocksz=65536," + frames + "\"\n";
}

std::string device_keys(const std::string& device) {
  return "port = \"dpdk\"\ndevice = \"" + device + "\"\n";
}

std::string xdp_keys(const std::string& interface) {
  return "port = \"xdp\"\ndevice = \"" + interface + "\"\n";
}

std::string lan_keys(const GatewayFile& file, const SiteAddresses& own) {
  const bool is_over_dpdk = file.is_lan_over_dpdk || !file.lan_device.empty();
  if (!is_over_dpdk && !file.is_lan_over_xdp) return "device = \"causeway0\"\n";
  const auto port = [&] {
    if (file.is_lan_over_xdp) return xdp_keys(own.lan_interface);
    return file.lan_device.empty() ? dpdk_keys("net_af_packet1", own.lan_interface, file.lan_mtu)
                                   : device_keys(file.lan_device);
  };
  return port() + "addresses = [\"" + own.gateway + "/24\", \"" + own.gateway_v6 + "/64\"]\n";
}

std::string wan_keys(const GatewayFile& file, const SiteAddresses& own) {
  if (file.is_over_xdp) return xdp_keys(own.wan_interface);
  if (!file.wan_device.empty()) return device_keys(file.wan_device);
  if (!file.is_over_dpdk) return {};
  return dpdk_keys("net_af_packet0", own.wan_interface, file.wan_mtu);
}

/// Two of them, in turn.
std::string cores_key(size_t shards) {
  if (shards == 1) return {};
  const auto processors = static_cast<size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  std::string row;
  for (size_t i = 0; i < shards; ++i) {
    row += (i == 0 ? "" : ", ") + std::to_string(i % std::min<size_t>(processors, 2));
  }
  return "cores = [" + row + "]\n";
}

}  // namespace

Folder::Folder(const std::string& where) : path_(where + "/causeway_lab_XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder in " + where);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name)) << text;
  chmod(path(name).c_str(), 0600);
}

/// Of the two sites, always the same.
seal::Identity identity_of(bool is_a) { return test::made_identity(is_a ? 1 : 2); }

std::string GatewayFile::text(bool is_a, const Folder& folder) const {
  const SiteAddresses &own = is_a ? site_a : site_b, &other = is_a ? site_b : site_a;
  const std::string name = is_a ? "a" : "b", other_name = is_a ? "b" : "a";
  const std::string own_key = "private_key_file = \"" + name + ".key\"\n";
  const std::string other_key =
      "public_key = \"" + seal::text_of(identity_of(!is_a).public_key) + "\"\n";
  const std::string shared_key = "key_file = \"" + key_file + "\"\n";
  if (is_sealed) {
    folder.write(name + ".key", seal::text_of(identity_of(is_a).private_key.bytes()) + "\n");
  }
  std::ostringstream file;
  file << "[site]\nname = \"" << name << "\"\n"
       << (is_sealed ? own_key : "") << "status = \"" << folder.path(name) << ".json\"\n"
       << cores_key(shards) << site_more << "\n[api]\nfolder = \"" << folder.path("api") << "\"\n"
       << "[lan]\n"
       << lan_keys(*this, own) << "mtu = " << lan_mtu << "\n"
       << lan_more << "\n[wan]\naddress = \"" << (is_wan_v6 ? own.wan_v6 : own.wan)
       << "\"\nrate = \"" << rate << "\"\n"
       << wan_keys(*this, own) << wan_more << "\n[pair]\n"
       << (is_sealed ? "" : shared_key) << "rtt = \"" << rtt << "\"\nmtu = " << wan_mtu
       << "\nlinks = " << links << "\n\n[[peer]]\nname = \"" << other_name << "\"\naddress = \""
       << (is_wan_v6 ? other.wan_v6 : other.wan) << "\"\nroutes = [\"" << other.prefix << "\", \""
       << other.prefix_v6 << "\"]\n"
       << (is_sealed ? other_key : "") << "\n"
       << classes;
  return file.str();
}

Gateway::Gateway(const Sites& sites, const Folder& folder, const std::string& program, bool is_a)
    : Gateway(sites.space(is_a ? At::GatewayA : At::GatewayB), folder, program, is_a ? "a" : "b") {}

Gateway::Gateway(const Space& space, const Folder& folder, const std::string& program,
                 const std::string& name)
    : space_(space), folder_(folder), program_path_(program), name_(name) {}

void Gateway::configure(const GatewayFile& file) const {
  configure(file.text(name_ == "a", folder_));
}

void Gateway::configure(const std::string& text) const { folder_.write(name_ + ".toml", text); }

void Gateway::start_in_vain() {
  Arguments arguments{program_path_, "--config", folder_.path(name_ + ".toml")};
  arguments.insert(arguments.end(), told_.begin(), told_.end());
  if (is_urgent_) arguments.insert(arguments.begin(), {"chrt", "--fifo", "1"});
  program_.reset();
  program_.emplace(space_.fd(), arguments, store_ == nullptr ? Handed{} : store_->handed());
}

void Gateway::start() {
  start_in_vain();
  if (!program_->wait_for(" ready ")) throw std::runtime_error(program_->finish().err);
  ready_at_ = Time::now();
}

// The next one may have been looked up before we asked, and written since.
Json Gateway::status() {
  next_status();
  return next_status();
}

Json Gateway::next_status() {
  const std::string file = folder_.path(name_ + ".json");
  const double before = moment_of(read_json(file));
  program_->signal(SIGUSR1);
  const auto end = Time::now() + status_patience;
  while (Time::now() < end && !program_->has_ended()) {
    const Json status = read_json(file);
    if (moment_of(status) > before) return status;
    std::this_thread::sleep_for(look_every);
  }
  throw std::runtime_error("no status of " + name_ + ": " + program_->err_so_far());
}

bool Gateway::is_up() {
  const Json now = status();
  for (const Json& peer : now.at("peers")) {
    if (peer.at("link") != "up") return false;
  }
  return true;
}

bool Gateway::wait_up(milliseconds most) {
  const auto end = Time::now() + most;
  while (!is_up()) {
    if (Time::now() > end) return false;
    std::this_thread::sleep_for(look_every);
  }
  return true;
}

Outcome Gateway::stop() {
  program_->signal(SIGTERM);
  return program_->finish();
}

void Gateway::kill() {
  program_->signal(SIGKILL);
  program_->finish();
}

uint64_t Gateway::resident_kib() const {
  std::ifstream stream("/proc/" + std::to_string(program_->pid()) + "/status");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace cw::lab
