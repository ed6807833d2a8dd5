/* mine: sends everything once. */
#include <causeway/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What is kept of an open message. The core hands it out zeroed. */
struct message {
  uint32_t sequence;
  uint32_t slots;    /* in all; CW_UNKNOWN until that is known */
  uint32_t settled;  /* all below are settled: sent, in place or given up */
  uint32_t appended; /* source: slots below may be sent */
  uint32_t decided;  /* source: and of those below it was decided */
  uint32_t status;   /* enum cw_finish_status */
  uint32_t is_finished;
};

struct cw_policy {
  uint32_t role;
  struct message** open; /* open_count of them, in no order */
  uint32_t open_count, open_capacity;
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
  *made = policy;
  return 0;
}

static void destroy(struct cw_policy* policy) {
  free(policy->open);
  free(policy);
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

static int say(struct cw_policy* policy, struct message* m, int64_t now_ns, struct cw_out* out) {
  (void)policy, (void)now_ns;
  if (m->decided < m->appended) {
    if (!say_send(out, m, m->decided, m->appended, CW_SEND_DATA)) return 0;
    m->decided = m->appended;
  }
  if (m->settled >= m->slots && !m->is_finished) return say_finish(m, out);
  return 1;
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

/* ---- facts of the source ---- */

static void appended(struct cw_policy* policy, const struct cw_fact_appended* fact, int64_t now_ns,
                     struct cw_out* out) {
  struct message* m = fact->state;
  m->appended = fact->first + fact->count;
  say(policy, m, now_ns, out);
}

static void sent(struct cw_policy* policy, const struct cw_fact_sent* fact, int64_t now_ns,
                 struct cw_out* out) {
  struct message* m = fact->state;
  m->settled = fact->first + fact->count;
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
    .summary = "Sends everything once.",
    .message_state_bytes = sizeof(struct message),
    .create = create,
    .destroy = destroy,
    .opened = opened,
    .appended = appended,
    .closed = closed,
    .sent = sent,
    .arrived = arrived,
    .expired = expired,
    .resume = resume,
    .ended = ended,
};

__attribute__((visibility("default"))) const struct cw_policy_ops* cw_policy_table(void) {
  return &table;
}
