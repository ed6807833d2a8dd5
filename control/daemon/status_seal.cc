#include "control/daemon/status_seal.h"

namespace cw::daemon {

using site::Plan;
using site::SiteState;

Json keys_json(const seal::KeyringView& keys) {
  Json json = {{"has_keys", keys.has_keys},        {"asked", keys.counts.asked},
               {"answered", keys.counts.answered}, {"agreed", keys.counts.agreed},
               {"refused", keys.counts.refused},   {"cookies", keys.counts.cookies}};
  if (keys.has_keys) {
    json["cipher"] = cw_aead_name(keys.kind);
    json["age_s"] = keys.age.seconds();
  } else if (!keys.trouble.empty()) {
    json["trouble"] = keys.trouble;
  }
  return json;
}

Json seal_json(const Plan& plan, const SiteState& state) {
  const char* const what = !plan.seal ? "nothing" : plan.seal->seals_data ? "all" : "control";
  Json json = {{"seals", what}};
  if (!plan.exposure.empty()) json["exposed"] = plan.exposure;
  if (!plan.seal) return json;
  json.update({{"public_key", seal::text_of(plan.seal->own.public_key)},
               {"sealed", state.seals.sealed},
               {"opened", state.seals.opened},
               {"unsent", state.seals.unsent},
               {"handshakes", state.seals.handshakes},
               {"handshakes_full", state.seals.handshakes_full},
               {"handshakes_wrong", state.seals.handshakes_wrong}});
  return json;
}

}  // namespace cw::daemon
