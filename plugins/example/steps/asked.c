/* mine: sends again what the sink asks for. */
#include <causeway/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { note_head = 16, ranges_max = 32, note_copies = 3 };

static const uint64_t drain_cookie = 1ull << 32; /* no message's */
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
  int64_t due_ns; /* source: unless it hears something; sink: when it looks for holes again */
  uint32_t wants_timer, wants_resend, wants_note, is_told;
  /* Sink. */
  const uint64_t* data; /* the core's bitmap, as long as the message is open; null: nothing yet */
  uint32_t highest;     /* of what is in place, plus one */
  uint32_t next_end;    /* what highest was when the next look was put off */
  uint32_t late_end;    /* holes below have waited long enough */
  uint32_t asked_end;   /* holes below have been asked for */
  int64_t asked_ns, grown_ns, pause_ns; /* the longest between two arrivals */
  uint32_t note_number; /* source: of the latest that was heard; sink: that was written */
};

struct cw_policy {
  uint32_t role;
  struct message** open; /* open_count of them, in no order */
  uint32_t open_count, open_capacity;
  int64_t rtt_ns;      /* of the link; before it is known longer than any */
  int64_t skew_ns;     /* how much later than others a slot may come */
  int64_t patience_ns; /* the parameter */
};

static const struct cw_param params[] = {
    {"patience", "ns", NULL,
     "How long a hole waits before it is asked for; 0: an eighth of the RTT.", CW_PARAM_DURATION, 0,
     0, 0, 1e9}};

static int64_t patience(const struct cw_policy* policy) {
  const int64_t wanted = policy->patience_ns > 0 ? policy->patience_ns : policy->rtt_ns / 8;
  return wanted > policy->skew_ns ? wanted : policy->skew_ns;
}

static void limits(const struct cw_env* env, const struct cw_fact_link* fact,
                   struct cw_policy_limits* needs) {
  const uint64_t notes = 16ull * env->messages;
  needs->notes_per_rtt = notes < 1024 ? (uint32_t)notes : 1024;
  needs->recovery_worst_ns = 2 * fact->rtt_ns + fact->rtt_ns / 4 + 2 * (int64_t)env->params[0];
  needs->retain_ns = 4 * needs->recovery_worst_ns;
}

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
  policy->patience_ns = (int64_t)env->params[0];
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

static int is_in_place(const struct message* m, uint32_t slot) {
  return m->data != NULL && (cw_word(&m->data[slot / 64]) >> slot % 64 & 1) != 0;
}

/* Writes the late holes that were not asked for. Returns how many; asked_end moves. */
static uint32_t put_ranges(struct message* m, uint8_t* at, uint32_t most) {
  uint32_t count = 0, slot = m->asked_end > m->settled ? m->asked_end : m->settled;
  while (slot < m->late_end && count < most) {
    uint32_t range[2] = {slot, 0};
    while (slot < m->late_end && !is_in_place(m, slot)) ++slot;
    range[1] = slot - range[0];
    if (range[1] > 0) memcpy(at + 8 * count++, range, sizeof range);
    while (slot < m->late_end && is_in_place(m, slot)) ++slot;
  }
  m->asked_end = slot;
  return count;
}

/* A note: a message, the note's number, slots settled, ranges of holes, and these. */
static int say_note(struct message* m, int64_t now_ns, struct cw_out* out) {
  struct cw_decision* decision;
  uint8_t* const at = out->note_bytes + out->note_count;
  const uint32_t bytes_max = note_head + 8 * ranges_max;
  uint32_t head[4] = {m->sequence, m->note_number + 1, m->settled, 0};
  if (out->note_capacity - out->note_count < bytes_max) return out->more = 1, 0;
  decision = cw_decide(out, CW_DECIDE_NOTE);
  if (decision == NULL) return 0;
  if (m->settled < m->slots) head[3] = put_ranges(m, at + note_head, ranges_max);
  if (head[3] > 0) m->asked_ns = now_ns;
  memcpy(at, head, sizeof head);
  m->is_told = m->settled >= m->slots;
  m->wants_note = 0;
  ++m->note_number;
  decision->u.note = (struct cw_note){
      .offset = out->note_count, .count = note_head + 8 * head[3], .repeat = note_copies};
  out->note_count += decision->u.note.count;
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
  if (m->wants_note && !say_note(m, now_ns, out)) return 0;
  if (m->settled < m->slots && m->status == CW_FINISH_OK) return 1;
  if (policy->role == CW_SINK && !m->is_told && !say_note(m, now_ns, out)) return 0;
  return say_finish(m, out);
}

/* cw_decide() has set out->more when this stops early; the core then calls resume(). */
static void resume(struct cw_policy* policy, int64_t now_ns, struct cw_out* out) {
  for (uint32_t i = 0; i < policy->open_count; ++i)
    if (!say(policy, policy->open[i], now_ns, out)) return;
}

/* Sink: looks for holes, if there can be one, and nobody is to look already. */
static void look_later(const struct cw_policy* policy, struct message* m, int64_t now_ns) {
  if (m->due_ns > now_ns || m->settled >= m->slots) return;
  m->due_ns = now_ns + patience(policy);
  m->wants_timer = 1;
  m->next_end = m->highest;
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
  if (policy->role == CW_SINK) look_later(policy, m, now_ns);
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
  int64_t fastest = INT64_MAX, slowest = 0, reorder = 0, jitter = 0;
  (void)now_ns, (void)out;
  for (uint32_t i = 0; i < fact->paths; ++i) {
    const struct cw_path_facts* path = &fact->path[i];
    if (!path->is_up || path->rtt_smooth_ns == 0) continue;
    if (path->rtt_smooth_ns < fastest) fastest = path->rtt_smooth_ns;
    if (path->rtt_smooth_ns > slowest) slowest = path->rtt_smooth_ns;
    if (path->reorder_ns > reorder) reorder = path->reorder_ns;
    if (4 * path->rtt_var_ns > jitter) jitter = 4 * path->rtt_var_ns;
  }
  policy->rtt_ns = fact->rtt_ns;
  policy->skew_ns = reorder + (slowest > fastest ? slowest - fastest : 0);
  /* An echo comes back by another path than it left by: then skew shows as jitter. */
  if (fact->paths > 1 && policy->skew_ns < jitter) policy->skew_ns = jitter;
}

/* The core wants all to be over by then: what is not is given up a little earlier. */
static void drain(struct cw_policy* policy, int64_t by_ns, int64_t now_ns, struct cw_out* out) {
  struct cw_decision* decision = cw_decide(out, CW_DECIDE_TIMER);
  (void)policy;
  if (decision == NULL) return; /* then the core gives it up */
  decision->u.timer =
      (struct cw_timer){.cookie = drain_cookie, .at_ns = by_ns - (by_ns - now_ns) / 8};
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
  m->due_ns = from_ns + policy->rtt_ns + policy->rtt_ns / 2 + slack_ns + patience(policy);
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

/* Bytes of somebody else's: every length and number is looked at, and what one note can cause is
 * ranges_max sends. Its copies come as notes of their own. A send that finds no room is not kept:
 * the sink asks again. */
static void note(struct cw_policy* policy, const struct cw_fact_note* fact, int64_t now_ns,
                 struct cw_out* out) {
  uint32_t head[4], range[2];
  struct message* m;
  if (policy->role != CW_SOURCE || fact->count < note_head) return;
  memcpy(head, fact->bytes, sizeof head);
  if (head[3] > ranges_max || fact->count != note_head + 8 * head[3]) return;
  m = find(policy, head[0]);
  if (m == NULL || m->is_finished || head[1] <= m->note_number || head[2] > m->decided) return;
  m->note_number = head[1];
  if (m->settled < head[2]) m->settled = head[2];
  for (uint32_t i = 0; i < head[3]; ++i) {
    memcpy(range, fact->bytes + note_head + 8 * i, sizeof range);
    if (range[0] >= m->decided || range[1] == 0 || range[1] > m->decided - range[0]) break;
    if (!say_send(out, m, range[0], range[0] + range[1], CW_SEND_RESEND)) break;
  }
  if (m->settled < m->decided) wait_for_answer(policy, m, now_ns);
  say(policy, m, now_ns, out);
}

/* ---- facts of the sink ---- */

static void arrived(struct cw_policy* policy, const struct cw_fact_arrived* fact, int64_t now_ns,
                    struct cw_out* out) {
  struct message* m = fact->state;
  m->slots = fact->slots;
  m->data = fact->data;
  if (m->highest < fact->highest) {
    if (m->highest > 0 && m->pause_ns < now_ns - m->grown_ns) m->pause_ns = now_ns - m->grown_ns;
    m->grown_ns = now_ns;
    m->highest = fact->highest;
  }
  if (m->settled < fact->first_missing) m->settled = fact->first_missing;
  while (m->settled < m->highest && is_in_place(m, m->settled)) ++m->settled;
  look_later(policy, m, now_ns);
  say(policy, m, now_ns, out);
}

/* What was not there at the last look has waited long enough. So has the end of a message when it
 * has been quiet for twice as long as ever before: the last slots may still be at the pacer. What
 * was asked for and has not come is asked for again. */
static void look(const struct cw_policy* policy, struct message* m, int64_t now_ns) {
  const int is_quiet = now_ns - m->grown_ns >= patience(policy) + 2 * m->pause_ns + slack_ns;
  m->late_end = is_quiet && m->slots != CW_UNKNOWN ? m->slots : m->next_end;
  if (now_ns - m->asked_ns >= policy->rtt_ns + policy->rtt_ns / 4) m->asked_end = m->settled;
  m->wants_note = 1;
  if (m->settled < m->highest || m->slots != CW_UNKNOWN) look_later(policy, m, now_ns);
}

static void timer(struct cw_policy* policy, uint64_t cookie, int64_t now_ns, struct cw_out* out) {
  struct message* m = find(policy, (uint32_t)cookie);
  if (cookie == drain_cookie) {
    for (uint32_t i = 0; i < policy->open_count; ++i) policy->open[i]->status = CW_FINISH_GIVEN_UP;
    resume(policy, now_ns, out);
  } else if (m != NULL && !m->is_finished) {
    if (policy->role == CW_SINK) look(policy, m, now_ns);
    if (policy->role == CW_SOURCE) m->wants_resend = m->settled < m->decided;
    say(policy, m, now_ns, out);
  }
}

/* ---- the table ---- */

static const struct cw_policy_ops table = {
    .abi = CW_POLICY_ABI,
    .size = sizeof(struct cw_policy_ops),
    .name = "mine",
    .version = "1.0",
    .summary = "Sends again what the sink asks for.",
    .params = params,
    .param_count = 1,
    .wire_version = 2,
    .message_state_bytes = sizeof(struct message),
    .limits = limits,
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
    .drain = drain,
    .arrived = arrived,
    .expired = expired,
    .resume = resume,
    .ended = ended,
};

__attribute__((visibility("default"))) const struct cw_policy_ops* cw_policy_table(void) {
  return &table;
}
