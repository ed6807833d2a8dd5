// Drives any static policy with facts in random order: what the core could say, in orders it would
// not choose, with notes that nobody wrote. Facts keep the core's own promises (a message is opened
// before it is spoken of, ranges lie inside it, bits are never taken back); notes promise nothing.
//
// A policy that codes gets blocks as its limits ask for, results of codes that were not asked for,
// and refusals of those that were.
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
  std::array<uint64_t, slots_max * 4 / 64 + 1> repair{};
  uint32_t appended = 0, slots = CW_UNKNOWN, highest = 0;
  uint32_t blocks = 0, blocks_end = 0;  // told, and where they end
};

class Driver {
 public:
  Driver(const cw_policy_ops& ops, uint32_t role, Input& input) : ops_(ops), input_(input) {
    for (uint32_t i = 0; i < ops.param_count; ++i) {
      const cw_param& p = ops.params[i];
      params_.push_back(std::array{p.initial, p.min, p.max}[input.below(3)]);
    }
    cw_env& env = env_;
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
    if (input.byte() % 4 != 0) set_up_codes();
    // Extremes of parameters may contradict each other, and then there is a sentence.
    char why[128] = "";
    const int refusal = ops.create(&env, &policy_, why, sizeof why);
    CW_ASSERT((refusal == 0) == (policy_ != nullptr) && (refusal == 0 || why[0] != 0));
  }
  ~Driver() {
    if (policy_ != nullptr) ops_.destroy(policy_);
  }

  void run() {
    while (policy_ != nullptr && !input_.is_empty()) {
      now_ += int64_t{input_.byte()} * input_.byte() * 1000;
      step(input_.byte() % 18);
    }
  }

 private:
  void set_up_codes() {
    cw_path_facts path{};
    const cw_fact_link link{1, 0, 1'000'000'000, 10'000'000, &path};
    cw_policy_limits needs{};
    if (ops_.limits != nullptr) ops_.limits(&env_, &link, &needs);
    if (needs.k == 0) return;
    env_.k = needs.k;
    env_.rows = needs.rows;
    env_.m_cap = needs.m_cap;
    env_.codecs = 2;
    const uint32_t block = needs.k * needs.rows;
    env_.repair_slots_max = (slots_max + block - 1) / block * needs.m_cap;
    if (env_.repair_slots_max > slots_max * 4) env_.k = env_.rows = env_.repair_slots_max = 0;
  }
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
      case 14:
        return close_block(it->first, it->second);
      case 15:
        return coded(it->first, it->second);
      case 16:
        return repair_arrived(it->first, it->second);
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
    tell_arrived(message, fact);
  }
  void repair_arrived(uint32_t sequence, Message& message) {
    if (env_.repair_slots_max == 0) return;
    const uint32_t first = input_.below(env_.repair_slots_max);
    const uint32_t end = std::min(first + 1 + input_.byte() % 64, env_.repair_slots_max);
    for (uint32_t at = first; at < end; ++at) message.repair[at / 64] |= uint64_t{1} << at % 64;
    cw_fact_arrived fact{};
    fact.message = sequence;
    fact.repair_word_first = static_cast<uint16_t>(first / 64);
    fact.repair_word_count = static_cast<uint16_t>((end - 1) / 64 - first / 64 + 1);
    tell_arrived(message, fact);
  }
  void tell_arrived(Message& message, cw_fact_arrived& fact) {
    while ((message.bits[fact.first_missing / 64] >> (fact.first_missing % 64) & 1) != 0)
      ++fact.first_missing;
    fact.highest = message.highest;
    fact.slots = message.slots;
    fact.data = message.bits.data();
    fact.repair = env_.repair_slots_max > 0 ? message.repair.data() : nullptr;
    fact.state = message.state.data();
    tell(ops_.arrived, fact);
  }
  /// The next block, of any length up to a full one; or, at a sink, one further on.
  void close_block(uint32_t sequence, Message& message) {
    const uint32_t end = env_.role == CW_SOURCE ? message.appended : slots_max;
    const uint32_t left = end - std::min(end, message.blocks_end);
    if (env_.k == 0 || left == 0) return;
    cw_fact_block_closed fact{};
    fact.message = sequence;
    fact.block = message.blocks++;
    fact.slots = 1 + input_.below(std::min(left, env_.k * env_.rows));
    const uint32_t rows = std::min(env_.rows, (fact.slots + env_.k - 1) / env_.k);
    fact.rows = static_cast<uint16_t>(rows);
    fact.k = static_cast<uint8_t>((fact.slots + rows - 1) / rows);
    fact.m = static_cast<uint8_t>(env_.m_cap / env_.rows);
    fact.slot_first = message.blocks_end;
    fact.repair_first = fact.block * env_.m_cap;
    fact.state = message.state.data();
    message.blocks_end += fact.slots;
    const bool fits = fact.repair_first + env_.m_cap <= env_.repair_slots_max;
    if (fits && input_.byte() % 8 != 0) tell(ops_.block_closed, fact);
  }
  void coded(uint32_t sequence, Message& message) {
    cw_fact_coded fact{};
    fact.message = sequence;
    fact.block = input_.byte() % 32;
    fact.result = input_.byte() % 3;
    fact.state = message.state.data();
    if (input_.byte() % 4 == 0) {
      tell(ops_.refused, cw_fact_refused{sequence, fact.block, 1, 1, CW_DECIDE_CODE,
                                         CW_REFUSED_FULL, 0, message.state.data()});
    } else {
      tell(ops_.coded, fact);
    }
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
    tell(ops_.note, cw_fact_note{static_cast<uint32_t>(bytes.size()), 0, bytes.data()});
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
      const bool is_repair = d.u.send.kind == CW_SEND_REPAIR;
      const uint32_t end = slots_max + (is_repair ? env_.repair_slots_max : 0);
      CW_ASSERT(d.u.send.first + d.u.send.count <= end &&
                is_repair == (d.u.send.first >= slots_max));
    } else if (d.kind == CW_DECIDE_CODE) {
      check_code(d.u.code);
    } else if (d.kind == CW_DECIDE_LAYOUT) {
      const cw_layout& it = d.u.layout;
      CW_ASSERT(it.k <= env_.k && it.rows <= env_.rows && uint32_t{it.m} * it.rows <= env_.m_cap);
    } else if (d.kind == CW_DECIDE_NOTE) {
      CW_ASSERT(d.u.note.offset + d.u.note.count <= out.note_count && d.u.note.count <= 1024);
    } else if (d.kind == CW_DECIDE_FINISH) {
      CW_ASSERT(messages_.contains(d.u.finish.message));
      finished.push_back(d.u.finish.message);
    } else {
      CW_ASSERT(d.kind == CW_DECIDE_TIMER || d.kind == CW_DECIDE_RELEASE);
    }
  }

  void check_code(const cw_code& it) const {
    const uint32_t rows = it.rows, k = it.k, m = it.m;
    CW_ASSERT(messages_.contains(it.message) && it.codec < env_.codecs);
    CW_ASSERT(rows >= 1 && rows <= env_.rows && k >= 1 && k <= env_.k && m >= 1 && k + m <= 255);
    CW_ASSERT(rows * (k - 1) < it.slots && it.slots <= rows * k);
    CW_ASSERT(it.slot_first + it.slots <= slots_max);
    CW_ASSERT(it.repair_first + rows * m <= env_.repair_slots_max);
    CW_ASSERT(it.row_count == CW_UNKNOWN || it.row_first + it.row_count <= rows);
  }

  const cw_policy_ops& ops_;
  Input& input_;
  cw_env env_{};
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
  const auto policies = cw::policy::for_streams();
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
