/* DOOR to reliability: the plugin ABI. Plain C; a policy is the same, linked in or loaded.
 *
 * A policy is told facts and answers with decisions. One instance serves one end (source or sink)
 * of one stream, or the sink of an endpoint that has no stream: datagrams of many peers. It runs on
 * the worker that owns it, once per burst and message, never once per packet. It sees bitmaps and
 * numbers, never payload; it has no clock, no I/O, no lock and no log, and it allocates in create()
 * only. `now_ns` comes with every call and is the time of the turn; deadlines are absolute, on it.
 *
 * Words. A *message* is a row of slots with a 32-bit sequence. Its slot index space is cut at
 * `data_slots_max`: data slots lie below, repair slots at and above it. A *range* is
 * {first, count, stride}: slots first, first + stride, ...; a decision costs the same for one slot
 * and for 300,000.
 *
 * Codes. What is coded together is a *set*: {slot_first, rows, k, slots} says which data slots,
 * {repair_first, m} which repair slots. Row r (0 <= r < rows) is coded by itself:
 *   data shard c (c < k) of it is data slot slot_first + c * rows + r; zeros when c * rows + r is
 *   not below `slots` (a short set), or where a slot is shorter than payload_bytes;
 *   repair shard j (j < m) of it is repair slot repair_first + j * rows + r, counted from D: on the
 *   wire, in ranges and in `repair` bits it is slot D + repair_first + j * rows + r.
 * The shape holds when 1 <= rows <= cw_env.rows, 1 <= k <= cw_env.k, 1 <= m <= cw_env.m_cap,
 * k + m <= 255, rows * (k - 1) < slots <= rows * k, and all slots lie inside the message: data
 * below what is appended (source) or D (sink), repair below repair_slots_max. Sets may overlap. A
 * repair slot comes into being once: the same set may be given more of them later by a larger m,
 * where the codec allows (rs does, xor does not). A *block* is the ordinary set: blocks 0, 1, 2,
 * ... follow each other through the message without holes. Block b begins where block b - 1 ends,
 * at slot_first = b * cw_env.k * cw_env.rows as long as all before it were full and of the first
 * layout; its repair slots begin at b * m_cap, and m * rows <= m_cap. A block is full with rows * k
 * slots; closed earlier, with n slots, its rows shrink first (rows' = ceil(n / k)) and then k (k' =
 * ceil(n / rows')), m stays.
 *
 * Bounds. Every output is bounded. Decisions that do not fit are asked for again in the same turn:
 * set out->more and the core calls resume() when it has taken what there was. Every decision has a
 * quota per RTT; what exceeds it comes back as `refused`, and an instance that goes on is
 * quarantined: `passthrough` takes its seat.
 *
 * Growing the ABI. New fields go to the end of a struct, new functions to the end of the table; the
 * minor version rises, `size` tells the reader what the writer knew, and the loader fills what is
 * missing with defaults. A changed meaning raises the major version, and the loader refuses.
 * Structs that travel in arrays (cw_param, cw_path_facts, cw_decision) keep their size for a whole
 * major. A policy newer than its core reads what cw_env.size covers, of facts what cw_env.abi has.
 * tests/data/abi holds every size and offset, and policies/fields.md a test for every field.
 *
 * Thread: never two calls of an instance at once. create() and destroy() run on another thread than
 * the facts. Errors: only create() can fail. No exception may leave a function. */
#ifndef CW_POLICY_H
#define CW_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CW_ABI_BYTES(type, bytes) static_assert(sizeof(type) == (bytes), "the ABI fixes this size")
extern "C" {
#else
#define CW_ABI_BYTES(type, bytes) _Static_assert(sizeof(type) == (bytes), "the ABI fixes this size")
#endif

#define CW_POLICY_ABI_MAJOR 2u
#define CW_POLICY_ABI_MINOR 2u
#define CW_POLICY_ABI (CW_POLICY_ABI_MAJOR << 16 | CW_POLICY_ABI_MINOR)

#define CW_UNKNOWN 0xffffffffu /* a count that is not known yet */
#define CW_PATHS_MAX 16u
#define CW_NEVER_NS INT64_MAX

struct cw_policy; /* an instance; its content is the policy's own */

/* ---- parameters ---- */

enum cw_param_type {
  CW_PARAM_INT = 0,
  CW_PARAM_REAL = 1,
  CW_PARAM_DURATION = 2,
  CW_PARAM_CHOICE = 3
};

/* A declared knob. One table drives validation, help, documentation and the fuzzer. */
struct cw_param {
  const char* name;     /* snake_case, as in the config file */
  const char* unit;     /* "ns" for durations, "" for none */
  const char* choices;  /* CW_PARAM_CHOICE: "rto|nack"; the value is the index. Otherwise null. */
  const char* sentence; /* what it does, for a person */
  uint32_t type;        /* enum cw_param_type */
  uint32_t reserved;
  double initial, min, max; /* durations in nanoseconds */
};

/* ---- what an instance is made for ---- */

/* Where an instance sits. At an endpoint it is a sink: what leaves is the endpoint's own affair. */
enum cw_seat { CW_SEAT_STREAM = 0, CW_SEAT_ENDPOINT = 1 };
enum cw_role { CW_SOURCE = 0, CW_SINK = 1 };

struct cw_env {
  uint32_t size;           /* of this struct, as the core knows it */
  uint32_t seat, role;     /* enum cw_seat, enum cw_role */
  uint32_t peers;          /* whom an endpoint hears of, numbered from 0; of a stream 1 */
  uint32_t messages;       /* open at once, at most */
  uint32_t data_slots_max; /* D: data slots are [0, D), repair slots [D, D + repair_slots_max) */
  uint32_t repair_slots_max;
  uint32_t chunk_slots;     /* data slots per chunk: the unit the user's bitmap shows */
  uint32_t payload_bytes;   /* of a full slot */
  uint32_t slot_wire_bytes; /* of a full slot with all headers: what it costs the pacer */
  uint32_t note_bytes_max, paths;
  uint32_t k;     /* data chunks of a block, and of any set, at most; 0: the stream has no blocks */
  uint32_t rows;  /* slots per chunk of a coded block; 0 together with k */
  uint32_t m_cap; /* repair slots reserved per block; repair_slots_max is a multiple of it */
  uint32_t codecs;      /* of the stream's configuration, numbered from 0 */
  uint64_t rate_bps;    /* of the link, as configured */
  const double* params; /* one value per declared parameter, checked and in order */
  /* Since 2.1. For create() alone: zeroed memory on a cache line, the instance's until destroy()
   * has returned, which costs nothing until it is written. May be null. */
  void* (*take)(void* memory, size_t bytes);
  void* memory;
  uint32_t abi, reserved; /* Since 2.2. CW_POLICY_ABI of the core */
};

/* What a policy needs of the core; asked before create(), so it must be a pure function. */
struct cw_policy_limits {
  /* Of the largest shape it asks for, as in cw_env. 0: it codes nothing. */
  uint32_t k, rows;
  uint32_t m_cap;            /* repair slots reserved per block: most rows * m of a block */
  uint32_t notes_per_rtt;    /* more are refused (CW_REFUSED_QUOTA); the core allows a few always */
  int64_t retain_ns;         /* how long the sender keeps a slot after it was first sent */
  int64_t recovery_worst_ns; /* from loss to repaired, save for losses of losses */
};

/* ---- facts ---- */

/* Every fact about a message carries its sequence and `state`: message_state_bytes of memory,
 * zeroed at `opened` and kept by the core until `ended` of it (finish, retired, abandoned). */

enum cw_hint_kind { CW_HINT_NONE = 0, CW_HINT_BULK = 1, CW_HINT_STEP = 2 };

/* What an application hinted of its message is known at the source only; elsewhere it is 0. */
struct cw_fact_opened {
  uint32_t message;
  uint32_t slots; /* data slots in all, or CW_UNKNOWN until closed */
  void* state;
  int64_t deadline_ns; /* source: not settled by then, it is given up; CW_NEVER_NS: none */
  uint64_t hint_bytes; /* expected in this step */
  uint32_t hint_step;
  uint16_t hint_kind; /* enum cw_hint_kind */
  uint16_t hint_last; /* 1: the last message of its step */
};

/* Source: data slots [first, first + count) may now be sent. */
struct cw_fact_appended {
  uint32_t message;
  uint32_t first, count, reserved;
  void* state;
};

/* Block `block` is complete: `slots` slots, coded as k chunks of `rows`, with m repair chunks; what
 * comes next belongs to the next block. Source: the block is full, the message closed, or it grew
 * too old; in order, after `appended` of its slots and before `closed`. Sink: the sender's word,
 * once per block, in any order, before or after any slot of the block. */
struct cw_fact_block_closed {
  uint32_t message;
  uint32_t block, slots;
  uint16_t rows;
  uint8_t k, m;
  uint32_t slot_first, repair_first; /* as in cw_code */
  uint32_t codec, reserved;
  void* state;
};

/* The message has `slots` data slots and there will be no more. At the source they are all
 * appended; at the sink this is the sender's word, and holes below `slots` are really missing. */
struct cw_fact_closed {
  uint32_t message;
  uint32_t slots;
  void* state;
};

/* Repair: ranges of slots at and above D that were coded; others are refused (CW_REFUSED_RANGE). */
enum cw_send_kind { CW_SEND_DATA = 0, CW_SEND_RESEND = 1, CW_SEND_REPAIR = 2 };

/* Source: these slots left the pacer. Timers for loss run from `departed_ns`, not a decision. */
struct cw_fact_sent {
  uint32_t message;
  uint32_t first, count, stride;
  uint32_t psn_first; /* transmission number of the first; they count up by one (24 bits) */
  uint16_t path;
  uint16_t kind;       /* enum cw_send_kind */
  int64_t departed_ns; /* of the last of them */
  void* state;
};

enum cw_refusal {
  CW_REFUSED_PATH = 1,    /* no such path, or it is down */
  CW_REFUSED_EXPIRED = 2, /* drop_after had passed before it could leave */
  CW_REFUSED_QUOTA = 3,
  CW_REFUSED_RANGE = 4,   /* outside the message, or not appended */
  CW_REFUSED_MESSAGE = 5, /* no such message is open */
  CW_REFUSED_FULL = 6,    /* the core's queue for this is full; ask again later */
  CW_REFUSED_CODEC = 7,   /* no such codec */
  CW_REFUSED_PEER = 8,    /* no such peer */
  CW_REFUSED_SEAT = 9     /* not for this seat and role to decide */
};

struct cw_fact_refused {
  uint32_t message;
  uint32_t first, count, stride; /* of a send or an ask; first is the `block` of a code; else 0 */
  uint16_t decision, reason;     /* enum cw_decision_kind, enum cw_refusal */
  uint32_t reserved;
  void* state; /* null when the message is not open, and for _QUOTA and _SEAT: look it up */
};

/* Sink: slots of a message arrived in this burst. The bitmaps live in the core's arena and may be
 * written by other cores meanwhile: read them with cw_word(). Bit s of `data` is slot s; bit r of
 * `repair` is slot D + r. A set bit is a slot that is in place and readable. */
struct cw_fact_arrived {
  uint32_t message;
  /* The 64-bit words of `data` that changed, as a covering range, and those of `repair`. */
  uint32_t word_first, word_count;
  uint16_t repair_word_first, repair_word_count;
  uint32_t first_missing; /* lowest data slot not in place */
  uint32_t highest;       /* highest data slot in place + 1; 0: none */
  uint32_t slots;         /* data slots in all, or CW_UNKNOWN */
  uint16_t duplicates;    /* arrivals in this burst that were already there; 65535: or more */
  uint16_t path;          /* of the last of them */
  const uint64_t* data;
  const uint64_t* repair; /* null when the stream has none */
  void* state;
};

/* Sink: transmissions on this path are overdue beyond its reorder budget. Their numbers say how
 * many; which slots is known (`message` valid) when the gap lies between two of one message. */
struct cw_fact_lost {
  uint32_t message; /* CW_UNKNOWN: not known which */
  uint32_t first, count;
  uint16_t path, stride;
  void* state; /* null when the message is not known */
};

/* Bytes from the other end's policy. Hostile: check every length and number. */
struct cw_fact_note {
  uint32_t count, reserved;
  const uint8_t* bytes;
};

enum cw_coded_result { CW_CODED_OK = 0, CW_CODED_SINGULAR = 1, CW_CODED_NEED_MORE = 2 };

/* A code decision is done; one fact for each that was not refused, unless the message is over
 * before. Source: always OK, and the repair slots can be sent. Sink: OK means that no data slot of
 * these rows is missing. Every row is worked on by itself: whatever the result, rows that could be
 * rebuilt are in place, and `arrived` has told so before. NEED_MORE: some row has too few shards;
 * `need` is how many more the worst of these rows needs at least. SINGULAR: no row has too few, but
 * some row's are not the right ones (xor: two losses in a group). */
struct cw_fact_coded {
  uint32_t message;
  uint32_t block;  /* this and the following as in the decision */
  uint32_t result; /* enum cw_coded_result */
  uint32_t need;   /* else 0 */
  uint32_t slot_first, repair_first;
  uint32_t row_first, row_count;
  void* state;
};

/* The core gave the range up (hold, deadline, drain, memory): retain and repair none of it. */
struct cw_fact_expired {
  uint32_t message;
  uint32_t first, count, reserved;
  void* state;
};

struct cw_path_facts {
  int64_t rtt_min_ns, rtt_smooth_ns, rtt_var_ns; /* 0: not measured yet */
  double loss, loss_low, loss_high;              /* share of packets, with its 95 % interval */
  double burst_mean;                             /* packets lost in a row, mean; 1 when unknown */
  int64_t reorder_ns;                            /* how late a packet may come and not be lost */
  int64_t queue_delay_ns;
  uint32_t mtu;
  uint32_t is_up; /* 0: nothing is sent there; a send to it is refused (CW_REFUSED_PATH) */
};

struct cw_fact_link {
  uint32_t paths, reserved;
  uint64_t rate_bps;                /* what the pacer runs at now */
  int64_t rtt_ns;                   /* smoothed, of the slowest path that is up; never 0 */
  const struct cw_path_facts* path; /* `paths` of them */
};

/* Source: what there is to spend. Told when one of these has changed by a quarter, or has come to
 * nothing or from it; what is less than a slot needs counts as nothing. */
struct cw_fact_budget {
  int64_t backlog_ns;    /* how long the line is busy with what all streams have given it */
  uint64_t slot_credit;  /* data slots that the receiver takes beyond those appended */
  uint64_t repair_bytes; /* what overhead_limit leaves for resends and repair at once */
};

/* Endpoint: how far a step has come, told when it begins and as it goes on: of one message, which
 * `peer` sends, or of the step as a whole, with `message` and `peer` CW_UNKNOWN. A message that has
 * to come is open from the beginning of its step, so that one of which nothing comes is known. */
struct cw_fact_step {
  uint32_t step;
  uint32_t message;
  uint32_t peer;
  uint32_t sources, sources_done; /* peers of which something has to come, and of which all has */
  uint32_t reserved;
  uint64_t expected_bytes, received_bytes;
  uint64_t rate_bps;          /* at which it comes in; the line's until that is measured */
  int64_t deadline_ns;        /* of the step; CW_NEVER_NS: none */
  void* state;                /* of the message; null for the step as a whole */
  int64_t rtt_ns, rtt_var_ns; /* Since 2.2. To that peer, or the longest; 0: not measured */
};

/* Endpoint, since 2.2: the source of a message has said that its slots below `slots` have left
 * once, and the answers to all that was asked of it until `answered_ns`, before it said so. What of
 * these has not come is lost, or later than the reorder budget of the paths allows. */
struct cw_fact_departed {
  uint32_t message;
  uint32_t slots;
  int64_t answered_ns; /* 0: not known of any */
  void* state;
};

/* ---- decisions ---- */

enum cw_decision_kind {
  CW_DECIDE_SEND = 1,
  CW_DECIDE_CODE = 2,
  CW_DECIDE_NOTE = 3,
  CW_DECIDE_TIMER = 4,
  CW_DECIDE_RELEASE = 5,
  CW_DECIDE_FINISH = 6,
  CW_DECIDE_LAYOUT = 7,
  CW_DECIDE_ASK = 8
};

/* NOT_LAST: any path but the one that took this very slot last, where another is up. */
enum cw_path_choice { CW_CHOOSE_ANY = 0, CW_CHOOSE_ID = 1, CW_CHOOSE_NOT_LAST = 2 };

/* Source. Data leaves before repair; resends leave by age, and first when their time runs out. */
struct cw_send {
  uint32_t message;
  uint32_t first, count, stride; /* stride 1: a run */
  uint16_t kind;                 /* enum cw_send_kind */
  uint16_t path_choice;          /* enum cw_path_choice */
  uint16_t path, reserved;       /* CW_CHOOSE_ID */
  int64_t not_before_ns;         /* 0: at once */
  int64_t drop_after_ns; /* 0: when the core's hold ends; at the message's deadline in any case */
};

/* Encode (source: repair slots of the set come into being, and may be sent from `coded` on) or
 * decode (sink: rows with holes, from what is in place). The work of a decision may take turns and
 * threads; it is done row by row in the order decided. Refused: CW_REFUSED_MESSAGE, _RANGE (the
 * shape, or rows beyond it), _CODEC (no such codec, or it cannot code the shape), _FULL. */
struct cw_code {
  uint32_t message;
  uint32_t block; /* comes back with `coded`; means nothing else to the core */
  uint32_t slots;
  uint16_t rows;
  uint8_t k, m;
  uint32_t slot_first, repair_first; /* a block's come with block_closed */
  uint32_t codec;                    /* as numbered by the stream's configuration */
  uint32_t row_first, row_count;     /* count CW_UNKNOWN: to the last row */
};

struct cw_note {
  uint32_t offset, count; /* bytes in out->note_bytes */
  uint32_t repeat;        /* so many copies, in different envelopes; 0: one */
};

struct cw_timer {
  uint64_t cookie; /* comes back with `timer`; a later decision with it moves it */
  int64_t at_ns;   /* CW_NEVER_NS: disarm. What is past is due in the next turn */
};

/* Source: data slots below `up_to` (and all repair of blocks below it) need not be retained. They
 * count as arrived: only slots at and above it grow too old and come back as `expired`. */
struct cw_release {
  uint32_t message;
  uint32_t up_to;
};

enum cw_finish_status { CW_FINISH_OK = 0, CW_FINISH_GIVEN_UP = 1 };

/* The range is settled: repaired or given up. A message is settled from its front: `first` must not
 * lie beyond what is settled already. When all of it is, its application has it over. */
struct cw_finish {
  uint32_t message;
  uint32_t first, count; /* count CW_UNKNOWN: to the end of the message */
  uint32_t status;       /* enum cw_finish_status */
};

/* Source: the shape of the blocks opened from now on; a block that has slots keeps its own, and a
 * message whose blocks would not last to its end goes on with the first layout: k = cw_env.k, rows
 * = cw_env.rows, m = m_cap / rows (k + m at most 255), codec 0. m may be 0: no repair. Refused when
 * the shape does not hold or m * rows > m_cap (_RANGE), and without such a codec (_CODEC). */
struct cw_layout {
  uint32_t codec;
  uint16_t rows;
  uint8_t k, m;
};

/* Endpoint: `peer` is to send data slots [first, first + count) again, save what is in place by
 * then and what has yet to leave. Refused: CW_REFUSED_MESSAGE, _PEER, _RANGE (none, or too far),
 * _FULL. */
struct cw_ask {
  uint32_t message;
  uint32_t peer;
  uint32_t first, count; /* count CW_UNKNOWN: to the end of the message */
};

struct cw_decision {
  uint32_t kind, reserved; /* enum cw_decision_kind */
  union {
    struct cw_send send;
    struct cw_code code;
    struct cw_note note;
    struct cw_timer timer;
    struct cw_release release;
    struct cw_finish finish;
    struct cw_layout layout;
    struct cw_ask ask;
  } u;
};

/* Where an instance puts its decisions. The core owns it and empties it after every call. */
struct cw_out {
  struct cw_decision* decisions;
  uint8_t* note_bytes;
  uint32_t decision_count, decision_capacity;
  uint32_t note_count, note_capacity; /* bytes of note_bytes used and usable */
  uint32_t more, reserved;            /* set by the policy: call resume() this turn */
};

/* Appends a decision; null when there is no room: keep what you wanted and set out->more. */
static inline struct cw_decision* cw_decide(struct cw_out* out, uint32_t kind) {
  struct cw_decision* d;
  if (out->decision_count == out->decision_capacity) {
    out->more = 1;
    return NULL; /* NOLINT(modernize-use-nullptr): plain C */
  }
  d = &out->decisions[out->decision_count++];
  d->kind = kind;
  return d;
}

/* A word of a bitmap that other cores may be writing. What a set bit stands for is visible. */
static inline uint64_t cw_word(const uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- the table ---- */

struct cw_policy_ops {
  uint32_t abi;     /* CW_POLICY_ABI the policy was compiled with */
  uint32_t size;    /* sizeof this table as the policy knows it */
  const char* name; /* snake_case, unique */
  const char* version;
  const char* summary; /* one sentence for a person */
  const struct cw_param* params;
  uint32_t param_count;
  uint32_t wire_version;                  /* of its notes: both ends must have the same */
  uint32_t message_state_bytes, reserved; /* per open message, kept and zeroed by the core */

  /* Pure: what this policy needs on such a link. Null: nothing. */
  void (*limits)(const struct cw_env* env, const struct cw_fact_link* link,
                 struct cw_policy_limits* limits);

  /* Returns 0 and the instance, or a negative errno and a sentence in why. The only function that
   * may allocate or fail. */
  int (*create)(const struct cw_env* env, struct cw_policy** policy, char* why,
                size_t why_capacity);
  void (*destroy)(struct cw_policy* policy);

  /* The facts; null where the policy does not care. */
  void (*opened)(struct cw_policy*, const struct cw_fact_opened*, int64_t now_ns, struct cw_out*);
  void (*appended)(struct cw_policy*, const struct cw_fact_appended*, int64_t now_ns,
                   struct cw_out*);
  void (*block_closed)(struct cw_policy*, const struct cw_fact_block_closed*, int64_t now_ns,
                       struct cw_out*);
  void (*closed)(struct cw_policy*, const struct cw_fact_closed*, int64_t now_ns, struct cw_out*);
  void (*sent)(struct cw_policy*, const struct cw_fact_sent*, int64_t now_ns, struct cw_out*);
  void (*refused)(struct cw_policy*, const struct cw_fact_refused*, int64_t now_ns, struct cw_out*);
  void (*arrived)(struct cw_policy*, const struct cw_fact_arrived*, int64_t now_ns, struct cw_out*);
  void (*lost)(struct cw_policy*, const struct cw_fact_lost*, int64_t now_ns, struct cw_out*);
  void (*note)(struct cw_policy*, const struct cw_fact_note*, int64_t now_ns, struct cw_out*);
  void (*coded)(struct cw_policy*, const struct cw_fact_coded*, int64_t now_ns, struct cw_out*);
  void (*timer)(struct cw_policy*, uint64_t cookie, int64_t now_ns, struct cw_out*);
  void (*expired)(struct cw_policy*, const struct cw_fact_expired*, int64_t now_ns, struct cw_out*);
  void (*link)(struct cw_policy*, const struct cw_fact_link*, int64_t now_ns, struct cw_out*);
  void (*budget)(struct cw_policy*, const struct cw_fact_budget*, int64_t now_ns, struct cw_out*);
  void (*step)(struct cw_policy*, const struct cw_fact_step*, int64_t now_ns, struct cw_out*);
  /* A swap or shutdown: settle everything by `by_ns`, then the core gives up what is left. */
  void (*drain)(struct cw_policy*, int64_t by_ns, int64_t now_ns, struct cw_out*);
  /* Called after `more`; goes on where the last call ran out of room. */
  void (*resume)(struct cw_policy*, int64_t now_ns, struct cw_out*);
  /* The message is over and its `state` goes back: the last fact about it. */
  void (*ended)(struct cw_policy*, uint32_t message, void* state, int64_t now_ns);
  /* Since 2.2. */
  void (*departed)(struct cw_policy*, const struct cw_fact_departed*, int64_t now_ns,
                   struct cw_out*);
};

CW_ABI_BYTES(struct cw_param, 64);
CW_ABI_BYTES(struct cw_env, 104);
CW_ABI_BYTES(struct cw_policy_limits, 32);
CW_ABI_BYTES(struct cw_fact_arrived, 56);
CW_ABI_BYTES(struct cw_path_facts, 80);
CW_ABI_BYTES(struct cw_decision, 48);
CW_ABI_BYTES(struct cw_out, 40);
CW_ABI_BYTES(struct cw_policy_ops, 232);
#undef CW_ABI_BYTES
/* The only symbol a plugin exports. */
const struct cw_policy_ops* cw_policy_table(void);
#ifdef __cplusplus
}
#endif
#endif
