// One end of a link, simulated or not: the real worker, the real SDR room, and a program on top
// that sends or receives messages. Two sites and a SimNetwork are a whole Causeway without a wire.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/sdr/shard.h"
#include "dataplane/seal/keyring.h"
#include "policies/policies.h"
#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/late_runner.h"
#include "tests/sim/rnic.h"
#include "tests/sim/stage.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {

/// What a site is made of; equal at both ends, save for the seed.
struct SiteOptions {
  uint64_t seed = 1;
  const cw_policy_ops* policy = nullptr;    ///< null: passthrough
  std::vector<double> policy_params;        ///< empty: the defaults
  std::vector<sdr::PolicyChoice> policies;  ///< what it can do besides; whose values live longer
  std::vector<const cw_policy_ops*> knows;  ///< what a swap may name here, and `policy`
  /// What a quarantined policy is replaced by, with the same parameters; null: passthrough.
  const cw_policy_ops* fallback = nullptr;
  sdr::PolicyChoice after_quarantine;
  sdr::StreamConfig stream;
  sdr::SendOptions send;
  std::vector<uint32_t> weights{1};  ///< one QP for each, numbered from 0, all of them alike
  Rate rate = Rate::from_gbps(1);
  bool adapt = false;  ///< the rate, to what the link carries
  uint16_t paths = 1;
  uint32_t overhead_ppm = 1'000'000;
  std::string name = "sim", peer_name;  ///< its own, and what it takes the other for
  sdr::PairKeys pair_keys;
  std::vector<sdr::PairKeys> link_keys;  ///< of each link besides; none: no more
  std::string key = "a shared secret of this pair";
  sdr::CodingOptions coding;
  /// Turns follow a real clock: a gap between two of them is a pause of the machine, not the
  /// stage's doing.
  bool in_real_time = false;
  bool has_rnic = false;           ///< instead of a port that moves bytes
  uint32_t offload = 0;            ///< partitions that turn what it places into bits; 0: the turn
  std::vector<uint16_t> links{0};  ///< numbers of those that the site has to its peer, all alike
  std::span<GrantLine> grants;     ///< of the rate, one for each; none: each has all of it
  /// What crosses is sealed, between this and the other's public key; of one link.
  std::optional<seal::Identity> identity;
  seal::PublicKey other_key{};
  bool seals_data = true;  ///< false: control alone
};

/// The machine behind a port: turns when the stage says so.
class Site final : public Actor {
 public:
  Site(Port& port, uint16_t peer, const SiteOptions& options, Instant now);
  ~Site() override;

  void turn(Instant now) override {
    if (!in_real_time_) sdr_->worker().sleeps_until(now);  // time was moved on purpose
    turn_after_pause(now);
  }
  /// Time has passed and nobody knew that it would.
  void turn_after_pause(Instant now) {
    if (runner_ != nullptr) runner_->step();
    if (keyring_ != nullptr) keyring_->turn(now);
    sdr_->worker().turn(now);
    if (!is_neglected_) care(now);
    for (const auto& each : after_turns_) each(now);
  }
  /// Nobody makes or destroys policies for it, until it is told otherwise.
  void neglect(bool is_neglected) { is_neglected_ = is_neglected; }
  /// Who looks what each turn has brought.
  void after_turns(std::function<void(Instant)> what) { after_turns_.push_back(std::move(what)); }
  Instant next_deadline() const override {
    const Instant next = sdr_->worker().next_wakeup();
    return keyring_ == nullptr ? next : std::min(next, keyring_->next_wakeup());
  }

  /// One more link, in an endpoint of its own on the same port, which joins the first one. It is
  /// like the others but for its number and its keys, and behind them in their row.
  sdr::Link& add_beside(uint16_t number, const sdr::PairKeys& keys, Instant now);
  /// Their endpoints change places.
  void exchange() { sdr_->exchange(); }
  /// Whose links have left: they are gone, and their places in the row empty.
  void end_beside();
  sdr::Endpoint* beside() { return sdr_->beside(); }

  sdr::Link& link(size_t which = 0) { return *links_[which]; }
  sdr::Endpoint& endpoint() { return sdr_->endpoint(); }
  sdr::Source sends(uint16_t qp = 0, size_t which = 0) { return links_[which]->source(qp); }
  sdr::Sink receives(uint16_t qp = 0, size_t which = 0) { return links_[which]->sink(qp); }
  /// What is behind these doors.
  sdr::SendStream& send_stream(uint16_t qp = 0) {
    link().wake();
    return *link().send_stream(qp);
  }
  sdr::RecvStream& recv_stream(uint16_t qp = 0) {
    link().wake();
    return *link().recv_stream(qp);
  }
  bool is_up() const {
    return std::ranges::all_of(
        links_, [](const sdr::Link* link) { return link == nullptr || link->is_up(); });
  }
  Counters& counters() { return sdr_->counters(); }
  Drops& drops() { return sdr_->drops(); }
  const TallyPort& port() const { return port_; }
  Rnic& rnic() { return *rnic_; }
  /// Null: nothing is sealed.
  const seal::Sealer* sealer() const { return sealer_ ? &*sealer_ : nullptr; }

 private:
  void set_stage(const SiteOptions& options);
  void set_keys(const SiteOptions& options, Instant now);
  void care(Instant now);

  bool in_real_time_, is_neglected_ = false;
  TallyPort port_;
  std::optional<Rnic> rnic_;
  Prng prng_;
  std::vector<double> params_;
  std::optional<sdr::ListedPolicies> known_;  // by name, for swaps
  cw_mac key_;
  sdr::LinkOptions like_;  // all links are, but for numbers, keys and grants
  sdr::CodingOptions coding_;
  std::optional<seal::Sealer> sealer_;
  std::unique_ptr<seal::Keyring> keyring_;
  std::optional<sdr::Shard> sdr_;
  LateRunner* runner_ = nullptr;  // the stage's
  std::vector<sdr::Link*> links_;
  std::vector<std::function<void(Instant)>> after_turns_;
};

}  // namespace cw::sim
