#include "dataplane/port/xdp/steering/steering_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/port/xdp/steering/steering.skel.h"

namespace cw {
namespace {

constexpr uint32_t hellos_per_second = 1000;

/// They would write on the user's terminal; what fails is said in sentences of ours.
void silence_libraries() {
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  libxdp_set_print([](libxdp_print_level, const char*, va_list) { return 0; });
}

steering_address address_of(const IpAddress& ip) {
  steering_address address;
  std::ranges::copy(ip, address.bytes);
  return address;
}

/// What a program is for; zero where it is for the other side.
steering_config config_of(const FrameDeviceOptions& options, const MacAddress& mac) {
  steering_config config{};
  if (options.flows.empty()) {
    config.side = STEERING_LAN;
    config.vlan = options.vlan;
    std::ranges::copy(mac, config.mac);
    return config;
  }
  const PathFlow& first = options.flows.front();
  config.side = STEERING_WAN;
  config.hellos_per_second = hellos_per_second;
  config.udp_port = __builtin_bswap16(first.target_udp_port);
  config.ip_version = static_cast<uint8_t>(first.ip_version);
  config.address = address_of(first.target);
  return config;
}

}  // namespace

Result<std::unique_ptr<SteeringProgram>> SteeringProgram::attach(const FrameDeviceOptions& options,
                                                                 const MacAddress& mac,
                                                                 uint32_t queues,
                                                                 const GiveMemory& give_memory) {
  silence_libraries();
  std::unique_ptr<SteeringProgram> it(new SteeringProgram(options.device));
  if (auto claimed = it->place_.claim(); !claimed) return std::unexpected(claimed.error());
  if (const int reason = it->place_.spread(queues)) {
    return failure("queues: " + std::to_string(queues) + " given, and " + options.device +
                   " spreads what arrives over " +
                   std::to_string(kernel_rx_queues(options.device)) +
                   ", which cannot be changed: " + std::strerror(reason) + "; `ethtool -l " +
                   options.device + "` tells the most");
  }
  auto done = it->load(options, mac);
  if (done) done = it->put(options, queues, give_memory);
  if (done) return it;
  if (!it->keeper_) it->place_.spread_as_before();
  return std::unexpected(std::move(done.error()));
}

Result<void> SteeringProgram::load(const FrameDeviceOptions& options, const MacAddress& mac) {
  // Kernels before 5.11 count maps as locked memory; a denial shows when they are made.
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
  skeleton_ = steering__open();
  if (skeleton_ == nullptr) return std::unexpected(place_.refusal(errno));
  // The kernel's verifier leaves out what the program is not for.
  const steering_config config = config_of(options, mac);
  std::memcpy(const_cast<steering_config*>(&skeleton_->rodata->own), &config, sizeof config);
  program_ = xdp_program__from_bpf_obj(skeleton_->obj, "xdp");
  if (const long error = libxdp_get_error(program_)) {
    program_ = nullptr;
    return std::unexpected(place_.refusal(static_cast<int>(-error)));
  }
  // It reads headers only, wherever the rest of a frame is.
  if (kernel_mtu(options.device) > limits::af_xdp_mtu_max) {
    xdp_program__set_xdp_frags_support(program_, true);
  }
  return {};
}

Result<void> SteeringProgram::put(const FrameDeviceOptions& options, uint32_t queues,
                                  const GiveMemory& give_memory) {
  if (const int reason = place_.put(program_, kernel_index(options.device))) {
    return std::unexpected(place_.refusal(reason));
  }
  stand_ = place_.stand();
  keeper_ = SteeringKeeper::start(place_, program_, queues, give_memory);
  if (!keeper_) {
    const std::string reason = std::strerror(errno);
    place_.take_off(program_);
    return failure("device: there is no process to be had that takes our XDP program off " +
                   options.device + " again: " + reason);
  }
  return options.flows.empty() ? want(options.targets) : know(options.flows);
}

SteeringProgram::~SteeringProgram() {
  keeper_.reset();
  if (program_ != nullptr) xdp_program__close(program_);
  if (skeleton_ != nullptr) steering__destroy(skeleton_);
}

std::optional<SteeringNews> SteeringProgram::hear() {
  const auto news = keeper_->hear();
  if (news) stand_ = news->stand;
  return news;
}

Result<void> SteeringProgram::know(std::span<const PathFlow> flows) {
  const uint8_t known = 1;
  for (const PathFlow& flow : flows) {
    const steering_address source = address_of(flow.source);
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.peers), &source, &known, BPF_ANY) != 0) {
      return std::unexpected(place_.refusal(errno));
    }
  }
  return {};
}

Result<void> SteeringProgram::want(const std::vector<FrameTarget>& targets) {
  const auto map_of = [&](const FrameTarget& target) {
    const bool is_v4 = target.ip_version == IpVersion::V4;
    return bpf_map__fd(is_v4 ? skeleton_->maps.prefixes_v4 : skeleton_->maps.prefixes_v6);
  };
  const auto prefix_of = [](const FrameTarget& target) {
    return steering_prefix{.bits = target.bits, .address = address_of(target.ip)};
  };
  const uint8_t known = 1;
  for (const FrameTarget& target : targets) {
    const steering_prefix prefix = prefix_of(target);
    if (bpf_map_update_elem(map_of(target), &prefix, &known, BPF_ANY) != 0) {
      return std::unexpected(place_.refusal(errno));
    }
  }
  for (const FrameTarget& target : targets_) {
    if (std::ranges::find(targets, target) != targets.end()) continue;
    const steering_prefix prefix = prefix_of(target);
    bpf_map_delete_elem(map_of(target), &prefix);
  }
  targets_ = targets;
  return {};
}

int SteeringProgram::sockets_map() const { return bpf_map__fd(skeleton_->maps.sockets); }

std::array<uint64_t, STEERING_FATES> SteeringProgram::fates() const {
  std::array<uint64_t, STEERING_FATES> sums{};
  const int processors = libbpf_num_possible_cpus();
  if (processors <= 0) return sums;
  std::vector<uint64_t> each(static_cast<size_t>(processors));
  for (uint32_t fate = 0; fate < STEERING_FATES; ++fate) {
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.fates), &fate, each.data()) != 0) continue;
    for (const uint64_t count : each) sums[fate] += count;
  }
  return sums;
}

SteeringProgram::Trial SteeringProgram::try_frame(std::span<const uint8_t> frame,
                                                  uint32_t repeat) const {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<uint32_t>(frame.size());
  options.repeat = static_cast<int>(repeat);
  if (bpf_prog_test_run_opts(xdp_program__fd(program_), &options) != 0) return {};
  return {.verdict = static_cast<int>(options.retval), .ns = options.duration};
}

}  // namespace cw
