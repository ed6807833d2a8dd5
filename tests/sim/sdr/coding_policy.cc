#include "tests/sim/sdr/coding_policy.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/units.h"

namespace cw::sim {
namespace {

constexpr size_t log_max = 20'000;

std::optional<cw_decision> injected;

template <class Fact>
void log(std::vector<Fact>& list, const Fact& fact) {
  if (list.size() < log_max) list.push_back(fact);
}

struct Knobs {
  explicit Knobs(const double* p)
      : k(static_cast<uint8_t>(p[0])),
        m(static_cast<uint8_t>(p[1])),
        rows(static_cast<uint16_t>(p[2])),
        codec(static_cast<uint32_t>(p[3])),
        resend(Duration::from_ns(static_cast<int64_t>(p[4] * 1e6))),
        is_grown(p[5] != 0),
        row_first(static_cast<uint32_t>(p[6])) {}
  uint8_t k, m;
  uint16_t rows;
  uint32_t codec;
  Duration resend;
  bool is_grown;
  uint32_t row_first;
};

struct Block {
  cw_fact_block_closed fact{};
  bool is_known = false, is_done = false;
  bool is_coding = false, has_news = false;  ///< a decode is under way, and more came meanwhile
};

/// What both ends are made of: decisions that wait for room, and the blocks of each message.
class End {
 public:
  explicit End(const cw_env& env)
      : knobs(env.params),
        data_slots_max(env.data_slots_max),
        messages(env.messages),
        blocks_max(env.m_cap == 0 ? 0 : env.repair_slots_max / env.m_cap),
        blocks(size_t{messages} * blocks_max) {}

  Block& block_of(uint32_t message, uint32_t block) {
    return blocks[size_t{message % messages} * blocks_max + block];
  }
  void forget(uint32_t message) {
    for (uint32_t b = 0; b < blocks_max; ++b) block_of(message, b) = {};
  }
  cw_decision& want(uint32_t kind) {
    cw_decision decision{};
    decision.kind = kind;
    CW_ASSERT(wanted.try_push(decision));
    return wanted.at(wanted.count() - 1);
  }
  void want_code(const cw_fact_block_closed& block, uint8_t m, uint32_t row_first) {
    want(CW_DECIDE_CODE).u.code = {.message = block.message,
                                   .block = block.block,
                                   .slots = block.slots,
                                   .rows = block.rows,
                                   .k = block.k,
                                   .m = m,
                                   .slot_first = block.slot_first,
                                   .repair_first = block.repair_first,
                                   .codec = block.codec,
                                   .row_first = row_first,
                                   .row_count = CW_UNKNOWN};
  }
  void decide(cw_out& out) {
    while (!wanted.is_empty()) {
      cw_decision* room = cw_decide(&out, wanted.front().kind);
      if (room == nullptr) return;
      *room = wanted.pop();
    }
  }

  Knobs knobs;
  uint32_t data_slots_max, messages, blocks_max;
  std::vector<Block> blocks;
  Ring<cw_decision> wanted{4096};
};

class Source : public End {
 public:
  explicit Source(const cw_env& env) : End(env), slots_(env.messages), open_(env.messages) {}

  void on_opened(const cw_fact_opened& fact, Instant now) {
    if (!is_laid_out_) {
      want(CW_DECIDE_LAYOUT).u.layout = {knobs.codec, knobs.rows, knobs.k, knobs.m};
    }
    is_laid_out_ = true;
    slots_[fact.message % messages] = 0;
    open_[fact.message % messages] = fact.message + uint64_t{1};
    forget(fact.message);
    rearm(fact.message % messages, now);
  }
  void on_appended(const cw_fact_appended& fact, Instant) {
    uint32_t& slots = slots_[fact.message % messages];
    slots = std::max(slots, fact.first + fact.count);
    send(fact.message, CW_SEND_DATA, fact.first, fact.count);
  }
  void on_block_closed(const cw_fact_block_closed& fact, Instant) {
    log(coding_log().closed_at_source, fact);
    block_of(fact.message, fact.block) = {.fact = fact, .is_known = true};
    if (fact.m == 0 || knobs.row_first >= fact.rows) return;
    const uint8_t first = knobs.is_grown ? static_cast<uint8_t>((fact.m + 1) / 2) : fact.m;
    want_code(fact, first, knobs.row_first);
    if (first < fact.m) want_code(fact, fact.m, knobs.row_first);
  }
  void on_coded(const cw_fact_coded& fact, Instant) {
    log(coding_log().coded_at_source, fact);
    const Block& block = block_of(fact.message, fact.block);
    const bool is_half = knobs.is_grown && !block.is_done && block.fact.m > 1;
    block_of(fact.message, fact.block).is_done = true;
    if (is_half) return;
    for (uint32_t j = 0; j < block.fact.m; ++j) {
      const uint32_t first = data_slots_max + fact.repair_first + j * block.fact.rows;
      send(fact.message, CW_SEND_REPAIR, first + fact.row_first, fact.row_count);
    }
  }
  void on_refused(const cw_fact_refused& fact, Instant) { log(coding_log().refused, fact); }
  void on_timer(uint64_t place, Instant now) {
    if (open_[place] == 0) return;
    const auto message = static_cast<uint32_t>(open_[place] - 1);
    if (slots_[place] > 0) send(message, CW_SEND_RESEND, 0, slots_[place]);
    rearm(static_cast<uint32_t>(place), now);
  }
  void on_ended(uint32_t message) { open_[message % messages] = 0; }
  void decide(cw_out& out) {
    if (injected) {
      if (cw_decision* room = cw_decide(&out, injected->kind)) *room = *injected;
      injected.reset();
    }
    End::decide(out);
  }

 private:
  void send(uint32_t message, uint16_t kind, uint32_t first, uint32_t count) {
    cw_send& send = want(CW_DECIDE_SEND).u.send;
    send.message = message;
    send.first = first;
    send.count = count;
    send.stride = 1;
    send.kind = kind;
  }
  void rearm(uint32_t place, Instant now) {
    if (knobs.resend == Duration()) return;
    want(CW_DECIDE_TIMER).u.timer = {.cookie = place, .at_ns = (now + knobs.resend).ns()};
  }

  bool is_laid_out_ = false;
  std::vector<uint32_t> slots_;
  std::vector<uint64_t> open_;
};

class Sink : public End {
 public:
  explicit Sink(const cw_env& env) : End(env), views_(env.messages) {}

  void on_opened(const cw_fact_opened& fact, Instant) {
    forget(fact.message);
    views_[fact.message % messages] = {};
  }
  void on_block_closed(const cw_fact_block_closed& fact, Instant) {
    log(coding_log().closed_at_sink, fact);
    block_of(fact.message, fact.block) = {.fact = fact, .is_known = true};
    look_at(block_of(fact.message, fact.block));
  }
  void on_arrived(const cw_fact_arrived& fact, Instant) {
    views_[fact.message % messages] = {fact.data, fact.repair};
    for (uint32_t b = 0; b < blocks_max; ++b) look_at(block_of(fact.message, b));
  }
  void on_coded(const cw_fact_coded& fact, Instant) {
    log(coding_log().coded_at_sink, fact);
    Block& block = block_of(fact.message, fact.block);
    block.is_coding = false;
    if (block.has_news) look_at(block);
  }
  void on_refused(const cw_fact_refused& fact, Instant) { log(coding_log().refused, fact); }

 private:
  struct View {
    const uint64_t *data = nullptr, *repair = nullptr;
  };
  static bool has(const uint64_t* words, uint32_t bit) {
    return (cw_word(&words[bit / 64]) >> bit % 64 & 1) != 0;
  }
  void look_at(Block& block) {
    const cw_fact_block_closed& fact = block.fact;
    const View& view = views_[fact.message % messages];
    if (!block.is_known || block.is_done || view.data == nullptr) return;
    block.has_news = block.is_coding;
    if (block.is_coding) return;
    bool is_whole = true, can_code = false;
    for (uint32_t r = 0; r < fact.rows; ++r) {
      uint32_t missing = 0, repairs = 0;
      for (uint32_t s = r; s < fact.slots; s += fact.rows) {
        missing += !has(view.data, fact.slot_first + s);
      }
      for (uint32_t j = 0; j < fact.m; ++j) {
        repairs += has(view.repair, fact.repair_first + j * fact.rows + r);
      }
      is_whole &= missing == 0;
      can_code |= missing > 0 && missing <= repairs;
    }
    block.is_done = is_whole;
    if (!can_code) return;
    block.is_coding = true;
    want_code(fact, fact.m, 0);
  }

  std::vector<View> views_;
};

// ---- the table ----

struct Instance {
  std::unique_ptr<Source> source;
  std::unique_ptr<Sink> sink;
};
Instance& own(cw_policy* policy) { return *reinterpret_cast<Instance*>(policy); }

int create(const cw_env* env, cw_policy** policy, char*, size_t) {
  auto* made = new Instance;
  if (env->role == CW_SOURCE) made->source = std::make_unique<Source>(*env);
  if (env->role == CW_SINK) made->sink = std::make_unique<Sink>(*env);
  *policy = reinterpret_cast<cw_policy*>(made);
  return 0;
}
void destroy(cw_policy* policy) { delete &own(policy); }

void resume(cw_policy* policy, int64_t, cw_out* out) {
  if (own(policy).source) own(policy).source->decide(*out);
  if (own(policy).sink) own(policy).sink->decide(*out);
}

#define CW_TELL(fact_name)                                                                       \
  void fact_name(cw_policy* policy, const cw_fact_##fact_name* fact, int64_t now, cw_out* out) { \
    const auto tell = [&](auto& end) {                                                           \
      if constexpr (requires { end->on_##fact_name(*fact, Instant()); }) {                       \
        if (end) end->on_##fact_name(*fact, Instant::from_ns(now));                              \
      }                                                                                          \
    };                                                                                           \
    tell(own(policy).source);                                                                    \
    tell(own(policy).sink);                                                                      \
    resume(policy, now, out);                                                                    \
  }
CW_TELL(opened)
CW_TELL(appended)
CW_TELL(block_closed)
CW_TELL(refused)
CW_TELL(arrived)
CW_TELL(coded)
#undef CW_TELL

void timer(cw_policy* policy, uint64_t cookie, int64_t now, cw_out* out) {
  if (own(policy).source) own(policy).source->on_timer(cookie, Instant::from_ns(now));
  resume(policy, now, out);
}
void ended(cw_policy* policy, uint32_t message, void*, int64_t) {
  if (own(policy).source) own(policy).source->on_ended(message);
}

void limits_of(const cw_env* env, const cw_fact_link*, cw_policy_limits* limits) {
  const Knobs knobs(env->params);
  limits->rows = knobs.rows;
  limits->k = knobs.k;
  limits->m_cap = uint32_t{knobs.rows} * knobs.m;
}

constexpr cw_param params[] = {
    {"k", "", nullptr, "Data chunks.", CW_PARAM_INT, 0, 8, 1, 254},
    {"m", "", nullptr, "Repair chunks.", CW_PARAM_INT, 0, 2, 0, 254},
    {"rows", "", nullptr, "Rows.", CW_PARAM_INT, 0, 2, 1, 1024},
    {"codec", "", nullptr, "Codec.", CW_PARAM_INT, 0, 0, 0, 3},
    {"resend_ms", "", nullptr, "Resends.", CW_PARAM_REAL, 0, 0, 0, 1e6},
    {"is_grown", "", nullptr, "Repair in two steps.", CW_PARAM_INT, 0, 0, 0, 1},
    {"row_first", "", nullptr, "Rows before are not coded.", CW_PARAM_INT, 0, 0, 0, 1024},
};

constexpr cw_policy_ops ops = {.abi = CW_POLICY_ABI,
                               .size = sizeof(cw_policy_ops),
                               .name = "coding_for_tests",
                               .version = "1",
                               .summary = "Codes every block, for tests of the core.",
                               .params = params,
                               .param_count = std::size(params),
                               .wire_version = 1,
                               .limits = limits_of,
                               .create = create,
                               .destroy = destroy,
                               .opened = opened,
                               .appended = appended,
                               .block_closed = block_closed,
                               .refused = refused,
                               .arrived = arrived,
                               .coded = coded,
                               .timer = timer,
                               .resume = resume,
                               .ended = ended};

// ---- one that does not know when it has enough ----

struct Appetite {
  cw_role role = CW_SOURCE;
  uint32_t facts_left = 0;
} appetite;

void grow_hungry(cw_policy* policy, cw_role role, cw_out& out) {
  const bool is_source = own(policy).source != nullptr;
  if (role != appetite.role || is_source != (role == CW_SOURCE)) return;
  if (appetite.facts_left > 0) --appetite.facts_left;
  if (appetite.facts_left == 0) out.more = 1;
}
void appended_or_more(cw_policy* policy, const cw_fact_appended* fact, int64_t now, cw_out* out) {
  appended(policy, fact, now, out);
  grow_hungry(policy, CW_SOURCE, *out);
}
void arrived_or_more(cw_policy* policy, const cw_fact_arrived* fact, int64_t now, cw_out* out) {
  arrived(policy, fact, now, out);
  grow_hungry(policy, CW_SINK, *out);
}
void resume_or_more(cw_policy* policy, int64_t now, cw_out* out) {
  resume(policy, now, out);
  if (appetite.facts_left == 0) out->more = 1;
}

}  // namespace

const cw_policy_ops* coding_policy() { return &ops; }

const cw_policy_ops* insatiable_policy(cw_role role, uint32_t facts) {
  appetite = {role, facts};
  static const cw_policy_ops insatiable = [] {
    cw_policy_ops it = ops;
    it.name = "insatiable_for_tests";
    it.appended = appended_or_more;
    it.arrived = arrived_or_more;
    it.resume = resume_or_more;
    return it;
  }();
  return &insatiable;
}

CodingLog& coding_log() {
  static CodingLog log;
  return log;
}

void CodingLog::clear() {
  const auto empty = [](auto& list) {
    list.clear();
    list.reserve(log_max);  // facts come inside of turns, which must not allocate
  };
  empty(closed_at_source);
  empty(closed_at_sink);
  empty(coded_at_source);
  empty(coded_at_sink);
  empty(refused);
}

void inject_decision(const cw_decision& decision) { injected = decision; }

}  // namespace cw::sim
