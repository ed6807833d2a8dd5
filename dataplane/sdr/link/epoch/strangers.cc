// What is heard of strangers, and said to them.
#include "dataplane/sdr/link/epoch/strangers.h"

#include "dataplane/sdr/link/control.h"

namespace cw::sdr {

void LinkControl::on_stranger(const EnvelopePeek& peek, Instant now) {
  if (exchange_.needs_offer()) exchange_.offer(options_.random.fresh());
  const uint32_t hears_at = peek.hello ? peek.hello->control_qpn : control_qpn_of(options_.number);
  strangers_.on_hello({peek.header.sender_nonce, hears_at}, now);
}

bool LinkControl::offer_answer(EnvelopeWriter& writer, Instant now) {
  // It brings nothing of the epoch in force: that is another peer's, or another life's [C-26].
  if (!writer.try_add(hello(HelloState::Trying))) return false;
  pad(writer, /*is_probe=*/true);
  counters_.add(Counter::hellos_sent);
  strangers_.on_answered(now);
  return true;
}

uint32_t LinkControl::control_qpn(EnvelopeKind kind) const {
  return kind == EnvelopeKind::Answer ? strangers_.next().control_qpn : peer_control_qpn_;
}

}  // namespace cw::sdr
