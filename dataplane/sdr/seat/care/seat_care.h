// What seats want of other threads: policies made and destroyed outside the turn, where a plugin
// may take its time.
//
//   ask(), between two turns --> fulfil(), anywhere --> take(), between two turns
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "dataplane/sdr/seat/care/policy_finder.h"
#include "dataplane/sdr/seat/seat.h"

namespace cw::sdr {

struct SeatCare {
  Seat* seat = nullptr;
  std::array<std::unique_ptr<PolicyHost>, Seat::hosts_over_max> hosts_over;
  std::array<std::unique_ptr<PolicyInstance>, Seat::instances_over_max> instances_over;
  bool wants_instance = false, wants_relief = false, wants_next = false;
  Place place;
  PolicyChoice fallback;
  std::unique_ptr<PolicyInstance> instance, relief;

  // Who comes next.
  SwapPolicy next_policy;
  uint32_t next_number = 0;
  Instant asked;
  std::unique_ptr<Successor> next, next_over;  ///< the former null: it was refused
  SwapStatus refusal = SwapStatus::Ready;
  SwapSentence refusal_sentence;

  /// Destroys what is over and makes what is wanted. Cost: slow, allocates.
  void fulfil(PolicyFinder& finder);

 private:
  void make_next(PolicyFinder& finder);
  void refuse(SwapStatus status, std::string_view sentence);
};

}  // namespace cw::sdr
