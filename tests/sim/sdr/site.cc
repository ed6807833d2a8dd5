#include "tests/sim/sdr/site.h"

#include <cstdio>
#include <cstdlib>

namespace cw::sim {
namespace {

std::vector<double> params_of(const cw_policy_ops& policy, const std::vector<double>& wanted) {
  std::vector<double> params = wanted;
  for (size_t i = params.size(); i < policy.param_count; ++i) {
    params.push_back(policy.params[i].initial);
  }
  return params;
}

void add_keys(sdr::LinkOptions& link, const sdr::PairKeys& keys) {
  sdr::PairKeys& all = link.control.pair_keys;
  all.insert(all.end(), keys.begin(), keys.end());
}

sdr::Link* made(const Result<sdr::Link*>& link) {
  if (link) return *link;
  std::fprintf(stderr, "%s\n", link.error().sentence.c_str());
  std::abort();
}

}  // namespace

Site::Site(Port& port, uint16_t peer, const SiteOptions& options, Instant now)
    : in_real_time_(options.in_real_time),
      port_(port),
      prng_(options.seed),
      coding_(options.coding) {
  const cw_policy_ops* policy = options.policy ? options.policy : cw_policy_passthrough();
  params_ = params_of(*policy, options.policy_params);
  cw_mac_init(&key_, options.key.data(), options.key.size());

  sdr::LinkOptions& link_options = like_;
  link_options.peer = peer;
  link_options.control.site = options.name;
  link_options.control.peer_site = options.peer_name;
  link_options.control.pair_keys = options.pair_keys;
  link_options.control.payload_bytes = options.stream.payload_bytes;
  link_options.control.paths = options.paths;
  link_options.pacer.rate = options.rate;
  link_options.rate_control.adapt = options.adapt;
  link_options.pacer.overhead_ppm = options.overhead_ppm;
  link_options.pacer.horizon = Duration::from_us(20);
  link_options.fallback = {cw_policy_passthrough(), {}};
  if (options.fallback != nullptr) link_options.fallback = {options.fallback, params_};
  for (size_t i = 0; i < options.weights.size(); ++i) {
    sdr::QpOptions qp;
    qp.stream = options.stream;
    qp.stream.qp = static_cast<uint16_t>(i);
    qp.send = options.send;
    qp.policy = {policy, params_};
    qp.policies = options.policies;
    qp.after_quarantine = options.after_quarantine;
    qp.weight = options.weights[i];
    link_options.qps.push_back(qp);
  }

  if (options.identity) set_keys(options, now);
  seal::Sealer* const sealer = sealer_ ? &*sealer_ : nullptr;
  const auto random = sdr::RandomSource::of(prng_);
  if (options.has_rnic) {
    sdr_.emplace(rnic_.emplace(port_, options.seed), sealer, random, options.coding);
  } else {
    sdr_.emplace(port_, sealer, random, options.coding);
  }
  if (options.has_rnic && options.offload > 0) set_stage(options);
  for (size_t i = 0; i < options.links.size(); ++i) {
    sdr::LinkOptions link = like_;
    link.control.number = options.links[i];
    if (!options.grants.empty()) link.grants = &options.grants[i];
    if (!options.link_keys.empty()) add_keys(link, options.link_keys[i]);
    links_.push_back(made(sdr_->add_link(std::move(link), key_, now)));
  }
  std::vector<const cw_policy_ops*> known = options.knows;
  known.push_back(policy);
  known_.emplace(known);
  sdr_->endpoint().set_finder(*known_);
  sdr_->begin();
}

void Site::set_keys(const SiteOptions& options, Instant now) {
  sealer_.emplace(seal::SealerOptions{.payload_max = port_.facts().payload_max,
                                      .seals_data = options.seals_data,
                                      .own = options.identity->public_key});
  seal::KeyringOptions keys;
  keys.own = *options.identity;
  keys.aead = cw_aead_openssl();
  keys.kinds = {CW_AEAD_AES_128_GCM};
  keys.has_psns = !options.has_rnic;
  keys.seals_data = options.seals_data;
  keyring_ = std::make_unique<seal::Keyring>(std::move(keys), std::array{&*sealer_}, now);
  keyring_->set_peer(0,
                     seal::KeyringPeer{.key = options.other_key, .next_key = {}, .preshared = {}});
}

void Site::care(Instant now) {
  for (sdr::Endpoint* endpoint : {&sdr_->endpoint(), sdr_->beside()}) {
    if (endpoint != nullptr && endpoint->wants_care()) endpoint->care(now);
  }
}

sdr::Link& Site::add_beside(uint16_t number, const sdr::PairKeys& keys, Instant now) {
  auto endpoint = sdr_->make_endpoint(coding_);
  endpoint->set_finder(*known_);
  sdr::LinkOptions options = like_;
  options.control.number = number;
  add_keys(options, keys);
  links_.push_back(made(sdr_->add_link(*endpoint, std::move(options), key_, now)));
  sdr_->exchange_beside(endpoint);
  CW_ASSERT(endpoint == nullptr);
  return *links_.back();
}

void Site::end_beside() {
  std::unique_ptr<sdr::Endpoint> gone;
  sdr_->exchange_beside(gone);
  for (const auto& link : gone->links()) {
    CW_ASSERT(link->has_left());
    std::ranges::replace(links_, link.get(), static_cast<sdr::Link*>(nullptr));
  }
}

void Site::set_stage(const SiteOptions& options) {
  auto runner = std::make_unique<LateRunner>(options.seed + 1);
  runner_ = runner.get();
  BitStageOptions stage;
  stage.partitions = options.offload;
  stage.records_max = 256;
  stage.stall_max = Duration::from_ms(2);
  sdr_->endpoint().set_stage(std::move(*BitStage::make(std::move(runner), stage)));
}

Site::~Site() = default;

}  // namespace cw::sim
