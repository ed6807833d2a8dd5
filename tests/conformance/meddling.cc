#include "tests/conformance/meddling.h"

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/policy_instance.h"

namespace cw::conformance {

struct Meddling::Instance {
  Meddling* owner;
  cw_policy* inner;
  uint64_t decisions = 0;  // since the last fact

  void begin() { decisions = 0; }
  void count(const cw_out& out) {
    decisions += out.decision_count;
    owner->decisions_max_ = std::max(owner->decisions_max_, decisions);
  }
};

Meddling* Meddling::current_ = nullptr;

Meddling::Meddling(const cw_policy_ops& inner, uint64_t seed)
    : inner_(sdr::complete_policy_table(inner).value()), table_(inner_), prng_(seed) {
  CW_ASSERT(current_ == nullptr);
  current_ = this;
  table_.create = &create;
  table_.destroy = &destroy;
  table_.opened = &tell<&cw_policy_ops::opened, cw_fact_opened>;
  table_.appended = &tell<&cw_policy_ops::appended, cw_fact_appended>;
  table_.block_closed = &tell<&cw_policy_ops::block_closed, cw_fact_block_closed>;
  table_.closed = &tell<&cw_policy_ops::closed, cw_fact_closed>;
  table_.sent = &tell<&cw_policy_ops::sent, cw_fact_sent>;
  table_.refused = &tell<&cw_policy_ops::refused, cw_fact_refused>;
  table_.arrived = &tell<&cw_policy_ops::arrived, cw_fact_arrived>;
  table_.lost = &tell<&cw_policy_ops::lost, cw_fact_lost>;
  table_.coded = &tell<&cw_policy_ops::coded, cw_fact_coded>;
  table_.expired = &tell<&cw_policy_ops::expired, cw_fact_expired>;
  table_.link = &tell<&cw_policy_ops::link, cw_fact_link>;
  if (inner_.budget != nullptr) table_.budget = &tell<&cw_policy_ops::budget, cw_fact_budget>;
  table_.note = &note;
  table_.timer = &timer;
  table_.drain = &drain;
  table_.resume = &resume;
  table_.ended = &ended;
}

Meddling::~Meddling() { current_ = nullptr; }

int Meddling::create(const cw_env* env, cw_policy** policy, char* why, size_t why_capacity) {
  cw_policy* inner = nullptr;
  const int error = current_->inner_.create(env, &inner, why, why_capacity);
  if (error == 0) *policy = reinterpret_cast<cw_policy*>(new Instance{current_, inner});
  return error;
}

void Meddling::destroy(cw_policy* policy) {
  of(policy).owner->inner_.destroy(of(policy).inner);
  delete &of(policy);
}

template <auto function, class Fact>
void Meddling::tell(cw_policy* policy, const Fact* fact, int64_t now_ns, cw_out* out) {
  Instance& instance = of(policy);
  instance.begin();
  (instance.owner->inner_.*function)(instance.inner, fact, now_ns, out);
  instance.owner->slip_in(instance, now_ns, out);
  instance.count(*out);
}

void Meddling::note(cw_policy* policy, const cw_fact_note* fact, int64_t now_ns, cw_out* out) {
  Instance& instance = of(policy);
  const std::vector<uint8_t> bytes = instance.owner->forged(*fact);
  const cw_fact_note lie{static_cast<uint32_t>(bytes.size()), 0, bytes.data()};
  instance.begin();
  instance.owner->inner_.note(instance.inner, &lie, now_ns, out);
  instance.count(*out);
}

void Meddling::timer(cw_policy* policy, uint64_t cookie, int64_t now_ns, cw_out* out) {
  Instance& instance = of(policy);
  instance.begin();
  instance.owner->inner_.timer(instance.inner, cookie, now_ns, out);
  instance.count(*out);
}

void Meddling::drain(cw_policy* policy, int64_t by_ns, int64_t now_ns, cw_out* out) {
  of(policy).owner->inner_.drain(of(policy).inner, by_ns, now_ns, out);
}

void Meddling::resume(cw_policy* policy, int64_t now_ns, cw_out* out) {
  Instance& instance = of(policy);
  instance.owner->inner_.resume(instance.inner, now_ns, out);
  instance.count(*out);
}

void Meddling::ended(cw_policy* policy, uint32_t message, void* state, int64_t now_ns) {
  of(policy).owner->inner_.ended(of(policy).inner, message, state, now_ns);
}

void Meddling::slip_in(Instance& instance, int64_t now_ns, cw_out* out) {
  if (!prng_.chance(0.2)) return;
  const std::vector<uint8_t> bytes = invented();
  const cw_fact_note lie{static_cast<uint32_t>(bytes.size()), 0, bytes.data()};
  inner_.note(instance.inner, &lie, now_ns, out);
}

std::vector<uint8_t> Meddling::forged(const cw_fact_note& genuine) {
  ++notes_forged_;
  std::vector<uint8_t> bytes(genuine.bytes, genuine.bytes + genuine.count);
  if (replay_.empty() || prng_.chance(0.1)) replay_ = bytes;
  switch (prng_.below(5)) {
    case 0:
      return invented();
    case 1:
      return replay_;
    case 2:
      bytes.resize(prng_.below(bytes.size() + 1));
      return bytes;
    case 3:
      return bytes;  // now and then the truth, or nothing would ever move
    default:
      break;
  }
  for (uint64_t flips = 1 + prng_.below(8); flips > 0 && !bytes.empty(); --flips) {
    bytes[prng_.below(bytes.size())] = static_cast<uint8_t>(prng_.next());
  }
  return bytes;
}

/// Half of them look like notes of this policy, with other numbers in them.
std::vector<uint8_t> Meddling::invented() {
  ++notes_forged_;
  std::vector<uint8_t> bytes(prng_.below(1025));
  for (uint8_t& byte : bytes) byte = prng_.chance(0.5) ? 0 : static_cast<uint8_t>(prng_.next());
  if (prng_.chance(0.5)) {
    if (prng_.chance(0.5)) bytes.resize(replay_.size());
    const size_t head = std::min({bytes.size(), replay_.size(), size_t{1} + prng_.below(12)});
    std::copy_n(replay_.begin(), head, bytes.begin());
  }
  return bytes;
}

}  // namespace cw::conformance
