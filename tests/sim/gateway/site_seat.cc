#include "tests/sim/gateway/site_seat.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dataplane/base/assert.h"
#include "tests/made_identity.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {

constexpr uint8_t sites_with_keys = 16;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().sentence.c_str());
  std::abort();
}

/// Where the files of all sites lie: nothing is there but the key.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "causeway-sites-XXXXXX").string();
    CW_ASSERT(mkdtemp(path.data()) != nullptr);
    path_ = path;
    const auto key = path_ / "key";
    std::ofstream(key) << "the secret of all simulated sites, long enough\n";
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file() const { return (path_ / "site.toml").string(); }

 private:
  std::filesystem::path path_;
};

/// A simulated port that says of itself what the plan's own would.
class SitePort : public PortAround {
 public:
  SitePort(SimPort& inner, uint32_t payload_max, size_t packets, IcrcMode icrc)
      : PortAround(inner), facts_(inner.facts()) {
    facts_.payload_max = payload_max;
    facts_.packets = packets;
    facts_.icrc = icrc;
  }
  const PortFacts& facts() const override { return facts_; }

 private:
  PortFacts facts_;
};

/// The WAN port of one shard, whose peers are links.
class TappedPort final : public SitePort {
 public:
  struct Place {
    int site;
    size_t shard, shards, links;
  };
  TappedPort(const SitePort& port, const Place& place, WanTap* tap)
      : SitePort(port), place_(place), tap_(tap) {}

  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = SitePort::rx_burst(out, now);
    if (tap_ == nullptr) return count;
    for (const Packet* packet : out.first(count)) tap_->on_received(end_of(*packet), *packet, now);
    return count;
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    if (tap_ != nullptr) {
      for (const Packet* packet : packets) tap_->on_sent(end_of(*packet), *packet, now);
    }
    return SitePort::tx_burst(packets, now);
  }

 private:
  WanEnd end_of(const Packet& packet) const {
    const size_t here = (place_.links - place_.shard + place_.shards - 1) / place_.shards;
    const size_t link = place_.shard + packet.peer % here * place_.shards;
    return {place_.site, static_cast<uint16_t>(packet.peer / here), static_cast<uint16_t>(link)};
  }

  Place place_;
  WanTap* tap_;
};

}  // namespace

const seal::Identity& identity_of(int number) {
  static const auto all = [] {
    std::vector<seal::Identity> made;
    for (uint8_t i = 1; i <= sites_with_keys; ++i) made.push_back(test::made_identity(i));
    return made;
  }();
  return all.at(static_cast<size_t>(number));
}

site::Plan plan_of(const std::string& file, const site::Known& before) {
  static const Folder folder;
  static const site::Secrets secrets = [] {
    site::Secrets all;
    const auto path = std::filesystem::path(folder.file()).parent_path();
    for (int i = 0; i < sites_with_keys; ++i) {
      all.emplace(path / (std::to_string(i) + ".key"), identity_of(i).private_key);
    }
    return all;
  }();
  site::Known known = before;
  if (known.secrets == nullptr) known.secrets = &secrets;
  return must(site::read_plan(folder.file(), file, known));
}

SiteSeat::SiteSeat(const Options& options) : options_(options), prng_(0) {}

void SiteSeat::start(uint64_t seed, Instant now) {
  CW_ASSERT(!is_alive());
  prng_ = Prng(seed);
  site::Plan plan = plan_of(options_.file);
  if (plan.seal && options_.keys != nullptr)
    plan.seal->log = &options_.keys->log_of(options_.number);
  lans_at_start_.clear();
  for (const Ports& each : options_.ports) lans_at_start_.push_back(each.lan->counters());
  const site::SiteGround ground{
      .ports = [&](size_t shard) { return ports_of(plan_of(options_.file), shard); },
      .now = now,
      .random = sdr::RandomSource::of(prng_),
      .clock = {}};
  site_ = must(site::Site::make(std::move(plan), ground));
  gather_ = site_->plan().gather;
  ++lives_;
  relink_due_ = options_.serves_relinks ? now : Instant::never();
  const bool adapts = std::ranges::any_of(
      site_->plan().classes, [](const site::ClassPlan& each) { return each.adapt.has_value(); });
  adapt_due_ = adapts ? now : Instant::never();
  adapt_.emplace();
  mind_ = {};
  decided_.clear();
  last_work_ = not_before_ = paused_until_ = now;
  pause_began_ = Instant::never();
}

site::ShardPorts SiteSeat::ports_of(const site::Plan& plan, size_t shard) const {
  const Ports& its = options_.ports[shard];
  const SitePort wan(*its.wan, plan.wan.payload_bytes_max, plan.wan.packets, plan.wan.icrc);
  const TappedPort::Place place{options_.number, shard, plan.cores.size(), plan.links};
  return {.lan = std::make_unique<SitePort>(*its.lan, plan.gateway.lan_mtu,
                                            its.lan->facts().packets, IcrcMode::None),
          .wan = std::make_unique<TappedPort>(wan, place, options_.tap)};
}

void SiteSeat::crash(Instant now) {
  site_.reset();
  for (const Ports& each : options_.ports) {
    throw_away(*each.lan, now);
    throw_away(*each.wan, now);
  }
}

void SiteSeat::take_live_keys(const std::string& file, Instant now) {
  site::Plan next = plan_of(file, {.link_rate = site_->plan().link_rate});
  CW_ASSERT(site_->beyond(next).empty());
  site_->apply(next, now);
}

bool SiteSeat::relink(const std::string& file, Instant now) {
  options_.file = file;
  if (site_->plan_beside() != nullptr) return false;
  site::Plan next = plan_of(file);
  CW_ASSERT(site_->misfits(next).empty());
  const auto begun = site_->begin_relink(std::move(next), now);
  CW_ASSERT(begun);
  relink_due_ = now;
  return true;
}

/// As causewayd's control thread looks, and does what a peer asks for.
void SiteSeat::follow_relink(Instant now) {
  if (now < relink_due_) return;
  relink_due_ = now + relink_interval;
  const site::SiteState state = site_->state(now);
  if (site_->plan_beside() != nullptr) {
    (void)site_->pursue_relink(state, now);
  } else if (std::ranges::any_of(state.peers, &site::PeerView::is_second_wanted)) {
    (void)relink(options_.file, now);
  }
}

/// As causewayd looks, and more often while a policy is swapped; thinking takes no time here.
void SiteSeat::follow_adapt(Instant now) {
  if (now < adapt_due_) return;
  const site::SiteState state = site_->state(now);
  if (state.has_open_swaps) site_->pursue_swaps(now);
  const auto order = [&](const site::SwapOrder& swap) { return site_->order_swap(swap, now); };
  for (auto& answer : mind_.think(adapt_->questions(state, site_->plan()))) {
    const auto carried = adapt_->carry_out(answer, site_->plan(), now, order);
    decided_.push_back({now, std::move(answer), carried});
  }
  adapt_due_ = now + (state.has_open_swaps ? swap_interval : adapt_interval);
}

void SiteSeat::throw_away(SimPort& port, Instant now) {
  std::array<Packet*, limits::burst_packets_max> burst;
  while (const size_t count = port.rx_burst(burst, now)) {
    lost_ += count;
    port.give_back({burst.data(), count});
  }
}

void SiteSeat::pause(Instant now, Duration time) {
  pause_began_ = std::min(pause_began_, now);
  paused_until_ = std::max(paused_until_, now + time);
}

void SiteSeat::turn(Instant now) {
  if (!is_alive()) return crash(now);
  // What was waited for on purpose is no pause; the rest of the time is.
  site_->sleeps_until(std::min({now, waits_until(), pause_began_}));
  pause_began_ = Instant::never();
  site_->keys().turn(now);  // a thread's of its own
  if (options_.turns != nullptr) options_.turns->before_turn(options_.number);
  const bool has_worked = site_->turn(now);
  if (options_.turns != nullptr) options_.turns->after_turn(options_.number);
  // As IdleWait has it: the first packet after an idle time never waits.
  const bool in_a_row = has_worked && now - last_work_ < gather_ * 4;
  if (has_worked) last_work_ = now;
  follow_relink(now);
  follow_adapt(now);
  not_before_ = in_a_row ? now + gather_ : now;
}

Instant SiteSeat::waits_until() const {
  Instant arrival = Instant::never();
  for (const Ports& each : options_.ports) {
    arrival = std::min({arrival, each.lan->next_event(), each.wan->next_event()});
  }
  return std::max(std::min(arrival, is_alive() ? site_->next_wakeup() : arrival), not_before_);
}

Instant SiteSeat::due() const { return std::max(waits_until(), paused_until_); }

}  // namespace cw::sim
