#include "control/model/law/loss.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace cw::model {
namespace {

using Move = LossChain::Move;
using Matrix = std::vector<States>;  // rows: from

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.size(), States(a.size(), 0));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a.size(); ++j) {
      if (a[i][j] == 0) continue;
      for (size_t k = 0; k < a.size(); ++k) result[i][k] += a[i][j] * b[j][k];
    }
  }
  return result;
}

Matrix power(Matrix base, uint64_t exponent) {
  Matrix result(base.size(), States(base.size(), 0));
  for (size_t i = 0; i < base.size(); ++i) result[i][i] = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = product(result, base);
    if (exponent > 1) base = product(base, base);
  }
  return result;
}

/// Counted in the simulator, towards the receiver.
constexpr uint64_t control_between_messages = 8;

enum class Which : uint8_t { All, Kept };

Matrix matrix_of(const LossChain& chain, Which which) {
  Matrix result(chain.state_count(), States(chain.state_count(), 0));
  for (const Move& move : chain.moves()) {
    if (which == Which::All || !move.is_lost) result[move.from][move.to] += move.chance;
  }
  return result;
}

/// Numbers the states of events: what of one is still to come.
class EventStates {
 public:
  /// `drops` of the next `left` slots, any of them.
  uint32_t of(uint32_t left, uint32_t drops) {
    if (left == 0) return 0;
    const auto next = static_cast<uint32_t>(numbers_.size() + 1);
    return numbers_.try_emplace({left, drops}, next).first->second;
  }
  uint32_t count() const { return static_cast<uint32_t>(numbers_.size() + 1); }
  const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& all() const { return numbers_; }

 private:
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

/// The moves of one slot, where `drops` of the next `left` are lost.
void add_event_step(EventStates& states, std::vector<Move>& moves, uint32_t from, uint32_t left,
                    uint32_t drops, double chance) {
  const double lost = double(drops) / left;
  if (drops > 0) moves.push_back({from, states.of(left - 1, drops - 1), chance * lost, true});
  if (drops < left) moves.push_back({from, states.of(left - 1, drops), chance * (1 - lost), false});
}

}  // namespace

LossChain::LossChain(uint32_t state_count, std::vector<Move> moves)
    : state_count_(state_count), moves_(std::move(moves)) {
  std::erase_if(moves_, [](const Move& move) { return move.chance <= 0; });
  settle();
}

LossChain LossChain::independent(double loss) {
  return LossChain(1, {{0, 0, loss, true}, {0, 0, 1 - loss, false}});
}

LossChain LossChain::gilbert_elliott(const GilbertElliott& chain) {
  const double stays[2][2] = {{1 - chain.to_bad, chain.to_bad}, {chain.to_good, 1 - chain.to_good}};
  const double lost[2] = {chain.loss_good, chain.loss_bad};
  std::vector<Move> moves;
  for (uint32_t from = 0; from < 2; ++from) {
    for (uint32_t to = 0; to < 2; ++to) {
      moves.push_back({from, to, stays[from][to] * lost[to], true});
      moves.push_back({from, to, stays[from][to] * (1 - lost[to]), false});
    }
  }
  return LossChain(2, std::move(moves));
}

LossChain LossChain::bursts(const BurstLoss& events) {
  EventStates states;
  const double begins = events.event_probability();
  std::vector<Move> moves{{0, 0, 1 - begins, false}};
  const BurstProfile& profile = events.profile;
  moves.push_back({0, 0, begins * profile.single, true});
  const uint32_t lengths = 2 * events.burst_spread + 1;
  for (uint32_t i = 0; i < lengths; ++i) {
    const uint32_t length = events.burst_packets - events.burst_spread + i;
    add_event_step(states, moves, 0, length, length, begins * profile.long_burst / lengths);
  }
  const uint32_t kinds = events.window_drops_max - events.window_drops_min + 1;
  for (uint32_t i = 0; i < kinds; ++i) {
    add_event_step(states, moves, 0, events.window_packets, events.window_drops_min + i,
                   begins * profile.high_frequency / kinds);
  }
  // What follows is found while it is walked: each step leaves fewer slots.
  for (uint32_t left = BurstLoss::event_packets_max; left > 0; --left) {
    for (uint32_t drops = 0; drops <= left; ++drops) {
      const auto found = states.all().find({left, drops});
      if (found == states.all().end()) continue;
      add_event_step(states, moves, found->second, left, drops, 1);
    }
  }
  return LossChain(states.count(), std::move(moves));
}

LossChain LossChain::of_chunks(uint32_t slots) const {
  if (slots <= 1) return *this;
  if (is_independent()) return independent(chunk_loss(loss_, slots));
  const Matrix all = power(matrix_of(*this, Which::All), slots);
  const Matrix kept = power(matrix_of(*this, Which::Kept), slots);
  std::vector<Move> moves;
  for (uint32_t from = 0; from < state_count_; ++from) {
    for (uint32_t to = 0; to < state_count_; ++to) {
      moves.push_back({from, to, kept[from][to], false});
      moves.push_back({from, to, std::max(0.0, all[from][to] - kept[from][to]), true});
    }
  }
  return LossChain(state_count_, std::move(moves));
}

/// What holds in the long run. Events are short beside what is between them, and a chain of two
/// states is at rest at once where it is begun so.
void LossChain::settle() {
  steady_.assign(state_count_, 0);
  steady_[0] = 1;
  if (state_count_ == 2) {
    double to_bad = 0, to_good = 0;
    for (const Move& move : moves_) {
      if (move.from == 0 && move.to == 1) to_bad += move.chance;
      if (move.from == 1 && move.to == 0) to_good += move.chance;
    }
    if (to_bad > 0) steady_ = {to_good / (to_bad + to_good), to_bad / (to_bad + to_good)};
    persistence_ = 1 - to_bad - to_good;
  } else if (state_count_ > 2) {
    constexpr int rounds_max = 100'000;
    for (int i = 0; i < rounds_max; ++i) {
      States next = after(steady_, 1);
      double change = 0;
      for (size_t s = 0; s < next.size(); ++s) change += std::abs(next[s] - steady_[s]);
      steady_ = std::move(next);
      if (change < 1e-14) break;
    }
  }
  const States lost = after_one(steady_, true);
  loss_ = sum_of(lost);
  const double again = loss_ > 0 ? sum_of(after_one(lost, true)) / loss_ : 0;
  burst_ = again < 1 ? 1 / (1 - again) : 1;
  begin_ = after_one(steady_, false);
  for (double& each : begin_) each /= std::max(1 - loss_, 1e-12);
  begin_ = after(begin_, control_between_messages);
}

States LossChain::after(const States& states, uint64_t slots) const {
  if (state_count_ == 1 || slots == 0) return states;
  const double all = sum_of(states);
  States now = states;
  if (state_count_ == 2) {
    // What it is off the long run shrinks by the same factor each time.
    const double left = std::pow(persistence_, double(slots));
    for (size_t s = 0; s < 2; ++s) now[s] = all * steady_[s] + (now[s] - all * steady_[s]) * left;
    return now;
  }
  constexpr uint64_t remembered = 512;  // no event is nearly so long
  for (uint64_t i = 0; i < std::min(slots, remembered); ++i) {
    States next(state_count_, 0);
    for (const Move& move : moves_) next[move.to] += now[move.from] * move.chance;
    now = std::move(next);
  }
  return now;
}

States LossChain::after_one(const States& states, bool is_lost) const {
  States next(state_count_, 0);
  for (const Move& move : moves_) {
    if (move.is_lost == is_lost) next[move.to] += states[move.from] * move.chance;
  }
  return next;
}

double sum_of(const States& states) { return std::accumulate(states.begin(), states.end(), 0.0); }

double chunk_loss(double loss, uint32_t packets) {
  return -std::expm1(packets * std::log1p(-loss));
}

}  // namespace cw::model
