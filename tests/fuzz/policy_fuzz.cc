// Drives any static policy with facts in random order: what the core could say, in orders it would
// not choose, with notes that nobody wrote. Facts keep the core's own promises (a message is opened
// before it is spoken of, ranges lie inside it, bits are never taken back); notes promise nothing.
//
// Checked: no crash, every decision is well formed, `more` ends, and what is decided is bounded.
//
// CW_FUZZ_POLICY=name in the environment stays with one policy; otherwise the input chooses.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "dataplane/base/assert.h"
#include "policies/policies.h"

namespace {

constexpr uint32_t slots_max = 2048;
constexpr uint32_t messages_max = 8;

/// The fuzzer's bytes as a row of numbers; zeros when they run out.
class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : bytes_(bytes), left_(size) {}
  bool is_empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *bytes_++;
  }
  uint32_t below(uint32_t bound) { return bound == 0 ? 0 : (byte() << 8 | byte()) % bound; }

 private:
  const uint8_t* bytes_;
  size_t left_;
};

struct Message {
  std::vector<uint64_t> state;
  std::array<uint64_t, slots_max / 64 + 1> bits{};
  uint32_t appended = 0, slots = CW_UNKNOWN, highest = 0;
};

class Driver {
 public:
  Driver(const cw_policy_ops& ops, uint32_t role, Input& input) : ops_(ops), input_(input) {
    for (uint32_t i = 0; i < ops.param_count; ++i) {
      const cw_param& p = ops.params[i];
      params_.push_back(std::array{p.initial, p.min, p.max}[input.below(3)]);
    }
    cw_env env{};
    env.size = sizeof env;
    env.role = role;
    env.peers = 1;
    env.messages = messages_max;
    env.data_slots_max = slots_max;
    env.chunk_slots = 1;
    env.paths = 2;
    env.note_bytes_max = 1024;
    env.payload_bytes = 4096;
    env.slot_wire_bytes = 4170;
    env.params = params_.data();
    decisions_.resize(1 + input.below(32));
    char why[128];
    CW_ASSERT(ops.create(&env, &policy_, why, sizeof why) == 0);
  }
  ~Driver() { ops_.destroy(policy_); }

  void run() {
    while (!input_.is_empty()) {
      now_ += int64_t{input_.byte()} * input_.byte() * 1000;
      step(input_.byte() % 15);
    }
  }

 private:
  void step(uint32_t kind) {
    if (messages_.empty() || kind == 0) return open();
    auto it = messages_.begin();
    std::advance(it, input_.below(static_cast<uint32_t>(messages_.size())));
    switch (kind) {
      case 1:
        return append(it->first, it->second);
      case 2:
        return close(it->first, it->second);
      case 3:
        return sent(it->first, it->second);
      case 4:
        return arrived(it->first, it->second);
      case 5:
        return refused(it->first, it->second);
      case 6:
        return expired(it->first, it->second);
      case 7:
        return link();
      case 8:
        return end(it->first);
      case 9:
        return lost(it->first, it->second);
      case 10:
        return note();
      case 11:
        return drain();
      case 12:
        return budget();
      case 13:
        return of_no_message();
      default:
        return call([&](cw_out* out) { ops_.timer(policy_, 0, now_, out); });
    }
  }
  void open() {
    if (messages_.size() == messages_max) return;
    Message& message = messages_[next_];
    message.state.assign(ops_.message_state_bytes / 8 + 1, 0);
    cw_fact_opened fact{};
    fact.message = next_++;
    fact.state = message.state.data();
    fact.slots = CW_UNKNOWN;
    fact.deadline_ns = CW_NEVER_NS;
    tell(ops_.opened, fact);
  }
  void append(uint32_t sequence, Message& message) {
    const uint32_t count = input_.below(slots_max - message.appended + 1);
    if (count == 0 || message.slots != CW_UNKNOWN) return;
    tell(ops_.appended,
         cw_fact_appended{sequence, message.appended, count, 0, message.state.data()});
    if (messages_.contains(sequence)) message.appended += count;
  }
  void close(uint32_t sequence, Message& message) {
    if (message.slots != CW_UNKNOWN) return;
    message.slots = std::max(message.appended, message.highest);
    tell(ops_.closed, cw_fact_closed{sequence, message.slots, message.state.data()});
  }
  void sent(uint32_t sequence, Message& message) {
    const uint32_t first = input_.below(message.appended);
    const uint32_t count = 1 + input_.below(message.appended - first);
    if (first + count > message.appended) return;
    const auto sent_kind = static_cast<uint16_t>(input_.byte() % 2);
    tell(ops_.sent,
         cw_fact_sent{sequence, first, count, 1, 0, 0, sent_kind, now_, message.state.data()});
  }
  void arrived(uint32_t sequence, Message& message) {
    const uint32_t limit = std::min(message.slots, slots_max);
    if (limit == 0) return;
    cw_fact_arrived fact{};
    fact.message = sequence;
    for (uint32_t n = 1 + input_.byte() % 8, slot = input_.below(limit); n > 0 && slot < limit;
         --n, ++slot) {
      message.bits[slot / 64] |= uint64_t{1} << (slot % 64);
      message.highest = std::max(message.highest, slot + 1);
    }
    while ((message.bits[fact.first_missing / 64] >> (fact.first_missing % 64) & 1) != 0)
      ++fact.first_missing;
    fact.highest = message.highest;
    fact.slots = message.slots;
    fact.data = message.bits.data();
    fact.state = message.state.data();
    tell(ops_.arrived, fact);
  }
  void refused(uint32_t sequence, Message& message) {
    const uint32_t first = input_.below(message.appended);
    if (first >= message.appended) return;
    const auto reason = static_cast<uint16_t>(1 + input_.byte() % CW_REFUSED_FULL);
    void* state = reason == CW_REFUSED_QUOTA ? nullptr : message.state.data();
    tell(ops_.refused, cw_fact_refused{sequence, first, 1, 1, CW_DECIDE_SEND, reason, 0, state});
  }
  void expired(uint32_t sequence, Message& message) {
    const uint32_t end = std::min(message.slots, std::max(message.appended, message.highest));
    const uint32_t first = input_.below(end);
    if (first >= end) return;
    const uint32_t count = 1 + input_.below(end - first);
    if (first + count > end) return;
    tell(ops_.expired, cw_fact_expired{sequence, first, count, 0, message.state.data()});
  }
  void lost(uint32_t sequence, Message& message) {
    const uint32_t first = input_.below(slots_max);
    tell(ops_.lost, cw_fact_lost{sequence, first, 1 + input_.below(slots_max - first), 0, 0,
                                 message.state.data()});
  }
  void link() {
    cw_path_facts paths[2]{};
    for (cw_path_facts& path : paths) {
      path.rtt_smooth_ns = input_.below(65'536) * int64_t{1000};
      path.rtt_min_ns = path.rtt_smooth_ns / 2;
      path.rtt_var_ns = input_.below(65'536);
      path.reorder_ns = input_.below(65'536);
      path.is_up = input_.byte() % 2;
    }
    tell(ops_.link,
         cw_fact_link{2, 0, 1'000'000'000, 1 + input_.below(65'535) * int64_t{1000}, paths});
  }
  void note() {
    std::vector<uint8_t> bytes(input_.below(1025));
    for (uint8_t& byte : bytes) byte = input_.byte();
    tell(ops_.note, cw_fact_note{0, static_cast<uint32_t>(bytes.size()), bytes.data()});
  }
  void drain() {
    const int64_t by = now_ + input_.below(65'536) * int64_t{1000};
    call([&](cw_out* out) { ops_.drain(policy_, by, now_, out); });
  }
  void budget() {
    tell(ops_.budget, cw_fact_budget{input_.below(65'536) * int64_t{1000}, input_.below(65'536),
                                     input_.below(65'536)});
  }
  /// What was queued for a message that has ended since is refused, and so are decisions that name
  /// none; a gap between two messages says that slots were lost, but not whose.
  void of_no_message() {
    const bool names_one = has_ended_ && input_.byte() % 2 == 0;
    const uint32_t sequence = names_one ? last_ended_ : CW_UNKNOWN;
    const uint32_t first = input_.below(slots_max), count = 1 + input_.below(slots_max - first);
    const uint16_t decision = names_one ? CW_DECIDE_SEND : CW_DECIDE_TIMER;
    const uint16_t reason = names_one ? 1 + input_.byte() % CW_REFUSED_FULL : CW_REFUSED_QUOTA;
    tell(ops_.refused,
         names_one ? cw_fact_refused{sequence, first, count, 1, decision, reason, 0, nullptr}
                   : cw_fact_refused{sequence, 0, 0, 0, decision, reason, 0, nullptr});
    tell(ops_.lost, cw_fact_lost{CW_UNKNOWN, first, count, 0, 1, nullptr});
  }
  void end(uint32_t sequence) {
    const auto it = messages_.find(sequence);
    if (it == messages_.end()) return;
    if (ops_.ended != nullptr) ops_.ended(policy_, sequence, it->second.state.data(), now_);
    messages_.erase(it);
    last_ended_ = sequence;
    has_ended_ = true;
  }

  template <class Fact>
  void tell(void (*function)(struct cw_policy*, const Fact*, int64_t, cw_out*), const Fact& fact) {
    if (function != nullptr) call([&](cw_out* out) { function(policy_, &fact, now_, out); });
  }
  template <class Function>
  void call(Function&& function) {
    cw_out out{};
    out.decisions = decisions_.data();
    out.decision_capacity = static_cast<uint32_t>(decisions_.size());
    out.note_bytes = note_bytes_.data();
    out.note_capacity = static_cast<uint32_t>(note_bytes_.size());
    std::vector<uint32_t> finished;
    function(&out);
    for (uint32_t rounds = 0;; ++rounds) {
      CW_ASSERT(rounds < 20'000);
      for (uint32_t i = 0; i < out.decision_count; ++i) check(out.decisions[i], out, finished);
      if (out.more == 0) break;
      out.decision_count = out.note_count = out.more = 0;
      ops_.resume(policy_, now_, &out);
    }
    for (uint32_t sequence : finished) end(sequence);
  }
  void check(const cw_decision& d, const cw_out& out, std::vector<uint32_t>& finished) const {
    if (d.kind == CW_DECIDE_SEND) {
      CW_ASSERT(messages_.contains(d.u.send.message) && d.u.send.count > 0);
      CW_ASSERT(d.u.send.first + d.u.send.count <= slots_max);
    } else if (d.kind == CW_DECIDE_NOTE) {
      CW_ASSERT(d.u.note.offset + d.u.note.count <= out.note_count && d.u.note.count <= 1024);
    } else if (d.kind == CW_DECIDE_FINISH) {
      CW_ASSERT(messages_.contains(d.u.finish.message));
      finished.push_back(d.u.finish.message);
    } else {
      CW_ASSERT(d.kind == CW_DECIDE_TIMER || d.kind == CW_DECIDE_RELEASE);
    }
  }

  const cw_policy_ops& ops_;
  Input& input_;
  std::vector<double> params_;
  struct cw_policy* policy_ = nullptr;
  std::map<uint32_t, Message> messages_;
  std::vector<cw_decision> decisions_;
  std::array<uint8_t, 2048> note_bytes_{};
  int64_t now_ = 1'000'000;
  uint32_t next_ = 0xfffffffc, last_ended_ = 0;
  bool has_ended_ = false;
};

const cw_policy_ops& policy_of(uint8_t choice) {
  const auto policies = cw::policy::all();
  static const char* const wanted = std::getenv("CW_FUZZ_POLICY");
  if (wanted == nullptr) return *policies[choice % policies.size()];
  const auto found = std::ranges::find_if(
      policies, [](const cw_policy_ops* ops) { return std::string_view(ops->name) == wanted; });
  CW_ASSERT(found != policies.end());
  return **found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Input input(bytes, size);
  const cw_policy_ops& ops = policy_of(input.byte());
  const uint32_t role = input.byte() % 2;
  Driver(ops, role, input).run();
  return 0;
}
