/* mine: sends again what is not answered in time. */
#include <causeway/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { note_bytes = 8, note_copies = 3 };

static const int64_t slack_ns = 1000000;

/* What is kept of an open message. The core hands it out zeroed. */
struct message {
  uint32_t sequence;
  uint32_t slots;    /* in all; CW_UNKNOWN until that is known */
  uint32_t settled;  /* all below are settled: sent, in place or given up */
  uint32_t appended; /* source: slots below may be sent */
  uint32_t decided;  /* source: and of those below it was decided */
  uint32_t status;   /* enum cw_finish_status */
  uint32_t is_finished;
  uint32_t is_told; /* sink: that it is whole, to the source */
  int64_t due_ns;   /* source: without an answer until then it is sent again */
  uint32_t wants_timer, wants_resend;
};

struct cw_policy {
  uint32_t role;
  struct message** open; /* open_count of them, in no order */
  uint32_t open_count, open_capacity;
  int64_t rtt_ns; /* of the link; before it is known longer than any */
};

static int create(const struct cw_env* env, struct cw_policy** made, char* why, size_t capacity) {
  struct cw_policy* policy = calloc(1, sizeof *policy);
  if (env->seat != CW_SEAT_STREAM) {
    free(policy);
    snprintf(why, capacity, "mine: serves streams only");
    return -EINVAL;
  }
  if (policy != NULL) policy->open = calloc(env->messages, sizeof *policy->open);
  if (policy == NULL || policy->open == NULL) {
    free(policy);
    snprintf(why, capacity, "mine: no memory for %u messages", env->messages);
    return -ENOMEM;
  }
  policy->role = env->role;
  policy->open_capacity = env->messages;
  policy->rtt_ns = 200000000;
  *made = policy;
  return 0;
}

static void destroy(struct cw_policy* policy) {
  free(policy->open);
  free(policy);
}

static struct message* find(const struct cw_policy* policy, uint32_t sequence) {
  for (uint32_t i = 0; i < policy->open_count; ++i)
    if (policy->open[i]->sequence == sequence) return policy->open[i];
  return NULL;
}

/* ---- state into decisions; each returns 0 when there was no room ---- */

static int say_send(struct cw_out* out, const struct message* m, uint32_t first, uint32_t end,
                    uint16_t kind) {
  struct cw_decision* decision = cw_decide(out, CW_DECIDE_SEND);
  if (decision == NULL) return 0;
  decision->u.send = (struct cw_send){.message = m->sequence,
                                      .first = first,
                                      .count = end - first,
                                      .stride = 1,
                                      .kind = kind,
                                      .path_choice = CW_CHOOSE_ANY};
  return 1;
}

static int say_finish(struct message* m, struct cw_out* out) {
  struct cw_decision* decision = cw_decide(out, CW_DECIDE_FINISH);
  if (decision == NULL) return 0;
  decision->u.finish = (struct cw_finish){
      .message = m->sequence, .first = 0, .count = CW_UNKNOWN, .status = m->status};
  m->is_finished = 1;
  return 1;
}

/* A note: the sequence of a message, and how many of its slots are settled at the sink. */
static int say_note(struct message* m, struct cw_out* out) {
  struct cw_decision* decision;
  if (out->note_capacity - out->note_count < note_bytes) return out->more = 1, 0;
  decision = cw_decide(out, CW_DECIDE_NOTE);
  if (decision == NULL) return 0;
  memcpy(out->note_bytes + out->note_count, &m->sequence, 4);
  memcpy(out->note_bytes + out->note_count + 4, &m->settled, 4);
  decision->u.note =
      (struct cw_note){.offset = out->note_count, .count = note_bytes, .repeat = note_copies};
  out->note_count += note_bytes;
  m->is_told = 1;
  return 1;
}

static int say_timer(struct message* m, struct cw_out* out) {
  struct cw_decision* decision = cw_decide(out, CW_DECIDE_TIMER);
  if (decision == NULL) return 0;
  decision->u.timer = (struct cw_timer){.cookie = m->sequence, .at_ns = m->due_ns};
  m->wants_timer = 0;
  return 1;
}

static int say(struct cw_policy* policy, struct message* m, int64_t now_ns, struct cw_out* out) {
  (void)now_ns;
  if (m->is_finished) return 1;
  if (m->decided < m->appended) {
    if (!say_send(out, m, m->decided, m->appended, CW_SEND_DATA)) return 0;
    m->decided = m->appended;
  }
  if (m->wants_resend) {
    if (!say_send(out, m, m->settled, m->decided, CW_SEND_RESEND)) return 0;
    m->wants_resend = 0;
  }
  if (m->wants_timer && !say_timer(m, out)) return 0;
  if (m->settled < m->slots) return 1;
  if (policy->role == CW_SINK && !m->is_told && !say_note(m, out)) return 0;
  return say_finish(m, out);
}

/* cw_decide() has set out->more when this stops early; the core then calls resume(). */
static void resume(struct cw_policy* policy, int64_t now_ns, struct cw_out* out) {
  for (uint32_t i = 0; i < policy->open_count; ++i)
    if (!say(policy, policy->open[i], now_ns, out)) return;
}

/* ---- facts of both ends ---- */

static void opened(struct cw_policy* policy, const struct cw_fact_opened* fact, int64_t now_ns,
                   struct cw_out* out) {
  struct message* m = fact->state;
  m->sequence = fact->message;
  m->slots = fact->slots;
  if (policy->open_count < policy->open_capacity) policy->open[policy->open_count++] = m;
  say(policy, m, now_ns, out);
}

static void closed(struct cw_policy* policy, const struct cw_fact_closed* fact, int64_t now_ns,
                   struct cw_out* out) {
  struct message* m = fact->state;
  m->slots = fact->slots;
  say(policy, m, now_ns, out);
}

/* What the core has given up is settled, and all before it is older. */
static void expired(struct cw_policy* policy, const struct cw_fact_expired* fact, int64_t now_ns,
                    struct cw_out* out) {
  struct message* m = fact->state;
  const uint32_t end = fact->first + fact->count;
  if (m->settled < end) m->settled = end;
  say(policy, m, now_ns, out);
}

static void ended(struct cw_policy* policy, uint32_t sequence, void* state, int64_t now_ns) {
  (void)sequence, (void)now_ns;
  for (uint32_t i = 0; i < policy->open_count; ++i) {
    if (policy->open[i] != state) continue;
    policy->open[i] = policy->open[--policy->open_count];
    return;
  }
}

static void link(struct cw_policy* policy, const struct cw_fact_link* fact, int64_t now_ns,
                 struct cw_out* out) {
  (void)now_ns, (void)out;
  policy->rtt_ns = fact->rtt_ns;
}

/* ---- facts of the source ---- */

static void appended(struct cw_policy* policy, const struct cw_fact_appended* fact, int64_t now_ns,
                     struct cw_out* out) {
  struct message* m = fact->state;
  m->appended = fact->first + fact->count;
  say(policy, m, now_ns, out);
}

/* A round trip, half of one for what the sink waits, and slack for a machine that is busy. */
static void wait_for_answer(const struct cw_policy* policy, struct message* m, int64_t from_ns) {
  m->due_ns = from_ns + policy->rtt_ns + policy->rtt_ns / 2 + slack_ns;
  m->wants_timer = 1;
}

static void sent(struct cw_policy* policy, const struct cw_fact_sent* fact, int64_t now_ns,
                 struct cw_out* out) {
  struct message* m = fact->state;
  wait_for_answer(policy, m, fact->departed_ns);
  say(policy, m, now_ns, out);
}

/* What was refused is as lost as what the line drops. */
static void refused(struct cw_policy* policy, const struct cw_fact_refused* fact, int64_t now_ns,
                    struct cw_out* out) {
  /* A refusal for quota comes without a state. */
  struct message* m = fact->state != NULL ? fact->state : find(policy, fact->message);
  if (m == NULL || fact->decision != CW_DECIDE_SEND) return;
  wait_for_answer(policy, m, now_ns);
  say(policy, m, now_ns, out);
}

static void timer(struct cw_policy* policy, uint64_t cookie, int64_t now_ns, struct cw_out* out) {
  struct message* m = find(policy, (uint32_t)cookie);
  if (m == NULL) return; /* it is over */
  m->wants_resend = m->settled < m->decided;
  say(policy, m, now_ns, out);
}

/* Bytes of somebody else's: every length and number is looked at. */
static void note(struct cw_policy* policy, const struct cw_fact_note* fact, int64_t now_ns,
                 struct cw_out* out) {
  uint32_t sequence, settled;
  struct message* m;
  if (policy->role != CW_SOURCE || fact->count != note_bytes) return;
  memcpy(&sequence, fact->bytes, 4);
  memcpy(&settled, fact->bytes + 4, 4);
  m = find(policy, sequence);
  if (m == NULL || settled > m->decided) return;
  if (m->settled < settled) m->settled = settled;
  say(policy, m, now_ns, out);
}

/* ---- facts of the sink ---- */

static void arrived(struct cw_policy* policy, const struct cw_fact_arrived* fact, int64_t now_ns,
                    struct cw_out* out) {
  struct message* m = fact->state;
  m->slots = fact->slots;
  if (m->settled < fact->first_missing) m->settled = fact->first_missing;
  say(policy, m, now_ns, out);
}

/* ---- the table ---- */

static const struct cw_policy_ops table = {
    .abi = CW_POLICY_ABI,
    .size = sizeof(struct cw_policy_ops),
    .name = "mine",
    .version = "1.0",
    .summary = "Sends again what is not answered in time.",
    .wire_version = 1,
    .message_state_bytes = sizeof(struct message),
    .create = create,
    .destroy = destroy,
    .opened = opened,
    .appended = appended,
    .closed = closed,
    .sent = sent,
    .refused = refused,
    .timer = timer,
    .note = note,
    .link = link,
    .arrived = arrived,
    .expired = expired,
    .resume = resume,
    .ended = ended,
};

__attribute__((visibility("default"))) const struct cw_policy_ops* cw_policy_table(void) {
  return &table;
}
