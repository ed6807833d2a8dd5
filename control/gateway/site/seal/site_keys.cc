#include "control/gateway/site/seal/site_keys.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace cw::site {

seal::SealerOptions sealer_options(const Plan& plan, size_t shard, size_t links_here,
                                   uint32_t payload_max, int heard) {
  return {.peers = plan.peers.size(),
          .links_per_peer = links_here,
          .shard = static_cast<uint8_t>(shard),
          .payload_max = payload_max,
          .seals_data = plan.seal->seals_data,
          .own = plan.seal->own.public_key,
          .heard_fd = heard};
}

void SiteKeys::begin(const Plan& plan, std::vector<seal::Sealer*> sealers, Instant now) {
  seal::KeyringOptions options;
  options.own = plan.seal->own;
  options.aead = cw_aead_fastest();
  options.kinds = plan.seal->kinds;
  options.has_psns = plan.wan_kind != WanKind::Verbs;
  options.seals_data = plan.seal->seals_data;
  options.log = plan.seal->log;
  ring_ = std::make_unique<seal::Keyring>(std::move(options), sealers, now);
  for (size_t i = 0; i < plan.seal->peers.size(); ++i) {
    if (plan.seal->peers[i]) ring_->set_peer(i, plan.seal->peers[i]);
  }
}

void SiteKeys::run(const MachineClock& clock, const std::atomic<bool>& stop,
                   const std::function<void()>& wake) {
  constexpr Duration stop_seen_after = Duration::from_ms(100);
  while (!stop.load(std::memory_order_relaxed)) {
    const Instant now = clock.read();
    if (ring_->turn(now)) wake();
    const Duration left = std::clamp(ring_->next_wakeup() - now, Duration(), stop_seen_after);
    pollfd heard{.fd = bell_.fd(), .events = POLLIN, .revents = 0};
    const auto left_ms = static_cast<int>((left.ns() + 999'999) / 1'000'000);
    if (poll(&heard, 1, left_ms) > 0) bell_.hush();
  }
}

void SiteKeys::take(const Plan& running, const Plan& next) {
  for (size_t i = 0; i < next.seal->peers.size(); ++i) {
    if (next.seal->peers[i] != running.seal->peers[i]) ring_->set_peer(i, next.seal->peers[i]);
  }
}

}  // namespace cw::site
