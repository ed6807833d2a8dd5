// Of two links of one number: what is for which of them [C-64].
#include "dataplane/sdr/link/control.h"

namespace cw::sdr {

int LinkControl::claim(const EnvelopePeek& peek) const {
  constexpr int sure = 3, likely = 2, possible = 1;
  if (peek.header.receiver_nonce != 0) {
    return exchange_.knows(peek.header.receiver_nonce) ? sure : 0;
  }
  if (!peek.hello || peek.hello->shape() != shape_.bits()) return 0;
  const LinkAge theirs = peek.hello->age();
  return (theirs == LinkAge::Only ? !is_beside_ : theirs == age_) ? likely : possible;
}

/// Who has two links says which: a newer one is for its like, which whoever lacks it says hello to
/// himself, and no peer's next life. Beside one that carries, shapes are alike [C-64].
bool LinkControl::is_for_another(const EnvelopePeek& peek, Instant now) {
  if (!peek.hello) return false;
  const LinkAge theirs = peek.hello->age();
  const bool is_of_our_shape = peek.hello->shape() == shape_.bits();
  if (is_beside_ && !is_of_our_shape) return true;
  const bool is_knock = peek.header.receiver_nonce == 0 && theirs == LinkAge::Newer;
  if (is_knock && is_up_ && age_ == LinkAge::Only) knocks_.on_hello(is_of_our_shape, now);
  // One of two takes no other shape's word for an answer, either.
  if (age_ != LinkAge::Only && peek.hello->shape() != 0 && !is_of_our_shape) return true;
  if (peek.header.receiver_nonce != 0) return false;
  if (age_ == LinkAge::Newer) {
    // While the peer's other one is here, the newer one waits until this end is through.
    const bool is_held = !peer_has(Hello::newer) && answers(now);
    return theirs == LinkAge::Older || (theirs == LinkAge::Newer && is_held);
  }
  // Whose newer one it is up with.
  if (theirs == LinkAge::Older && is_up_ && peer_has(Hello::newer)) return true;
  // An only one that is held by a peer of another shape may take its like, which is there, too.
  const bool is_mismatched = !is_up_ && !mismatch_.empty() && is_of_our_shape;
  return theirs == LinkAge::Newer && (age_ == LinkAge::Older || !is_mismatched);
}

// Who has knocked has been heard; who still waits knocks again.
void LinkControl::set_beside(LinkAge age, bool is_beside) {
  age_ = age, is_beside_ = is_beside;
  knocks_ = Knocks();
}

}  // namespace cw::sdr
