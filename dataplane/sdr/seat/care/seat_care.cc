#include "dataplane/sdr/seat/care/seat_care.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/policy_offer.h"

namespace cw::sdr {
namespace {

/// It started before with these very arguments; else the fallback does, which must always start.
std::unique_ptr<PolicyInstance> make_again(const PolicyChoice& policy, const SeatCare& care) {
  for (const PolicyChoice* choice : {&policy, &care.fallback}) {
    if (auto made = PolicyInstance::make(*choice, care.place.env)) return std::move(*made);
  }
  CW_ASSERT(!"the fallback policy does not start");
  return nullptr;
}

}  // namespace

Result<const cw_policy_ops*> ListedPolicies::find(std::string_view name) {
  for (const cw_policy_ops* each : all_) {
    if (name == each->name) return each;
  }
  return failure("there is no policy " + printable(name) + " here");
}

bool ListedPolicies::is_barred(const PolicyChoice& policy) const {
  return std::ranges::find(barred_, Barred::of(policy)) != barred_.end();
}

void SeatCare::fulfil(PolicyFinder& finder) {
  for (const auto& each : instances_over) {
    if (each != nullptr && each->is_barred()) finder.bar(each->choice());
  }
  for (auto& each : hosts_over) each.reset();
  for (auto& each : instances_over) each.reset();
  next_over.reset();
  if (wants_instance) instance = make_again(place.choice(), *this);
  if (wants_relief) relief = make_again(fallback, *this);
  if (wants_next) make_next(finder);
}

void SeatCare::refuse(SwapStatus status, std::string_view sentence) {
  refusal = status;
  refusal_sentence = sentence;
}

// The texts may be a peer's.
void SeatCare::make_next(PolicyFinder& finder) {
  const std::string_view whole = next_policy.name.view();
  const size_t slash = whole.rfind('/');
  const std::string_view name = whole.substr(0, slash);
  const auto found = finder.find(name);
  if (!found) return refuse(SwapStatus::Unknown, found.error().sentence);
  const cw_policy_ops& ops = **found;
  const std::string version = std::to_string(ops.wire_version);
  if (slash == whole.npos || whole.substr(slash + 1) != version) {
    return refuse(SwapStatus::WireVersion, printable(name) + " has notes of version " + version);
  }
  const auto params = parse_params(ops, std::string(next_policy.params.view()));
  if (!params) return refuse(SwapStatus::Parameters, printable(params.error().sentence));
  const PolicyChoice choice{&ops, *params};
  if (finder.is_barred(choice)) {
    return refuse(SwapStatus::Barred, printable(name) + " exceeded its quotas here before");
  }
  if (const auto room = seat->check_room(choice); !room) {
    return refuse(SwapStatus::BeyondReserve, room.error().sentence);
  }
  auto made = seat->make_successor(choice, asked);
  if (!made) return refuse(SwapStatus::Parameters, made.error().sentence);
  next = std::make_unique<Successor>(std::move(*made));
}

}  // namespace cw::sdr
