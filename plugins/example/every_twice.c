/* every_twice: sends every slot twice, the second copy a little later.
 *
 * An example of a policy of your own, in plain C and against the installed headers only. It works,
 * and on a line that loses little it even repairs most losses without waiting a round trip; but it
 * doubles the traffic (give the stream an overhead limit of 100 %, or second copies wait), and what
 * loses both copies stays lost. For real use take another policy.
 *
 * Idea. The receiver says nothing and the sender asks nothing. Losses come in bursts, so the second
 * copy waits `delay`: a burst shorter than that cannot take both.
 *
 * Source. Per message three counts move toward its end: slots whose first copy was decided, slots
 * whose second copy was decided, copies that have left. When the message is closed and both copies
 * of every slot have left, it is finished. A copy that the core refused counts as left: there is
 * another one. Sink. A message is finished when every slot is in place.
 *
 * A policy answers every fact with decisions, into room that may run out. So facts only change the
 * counts, and say_all() turns counts into decisions; what did not fit is said when the core calls
 * resume(). Memory is allocated in create() alone; what belongs to a message lives in the `state`
 * that the core keeps for it. */
#include <causeway/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What is kept for an open message. The core hands it out zeroed. */
struct message {
  uint32_t sequence;
  uint32_t slots;       /* in all; CW_UNKNOWN until closed */
  uint32_t appended;    /* source: slots [0, appended) may be sent */
  uint32_t once, twice; /* source: slots whose first, second copy was decided */
  uint64_t copies_left; /* source: copies that have left or were refused */
  uint32_t in_place;    /* sink: every slot below has arrived */
  uint32_t is_finished;
};

struct cw_policy {
  uint32_t role;
  int64_t delay_ns;
  struct message** open; /* `open_count` of them, in no order */
  uint32_t open_count, open_capacity;
};

/* The only parameter; its value comes checked, in env->params[0]. */
static const struct cw_param params[] = {
    {"delay", "ns", NULL, "How long the second copy waits after the first was queued.",
     CW_PARAM_DURATION, 0, 2e6, 0, 1e9}};

static int create(const struct cw_env* env, struct cw_policy** made, char* why, size_t capacity) {
  struct cw_policy* policy;
  struct message** open;
  if (env->seat != CW_SEAT_STREAM) {
    snprintf(why, capacity, "every_twice: serves streams only");
    return -EINVAL;
  }
  policy = calloc(1, sizeof *policy);
  open = calloc(env->messages, sizeof *open);
  if (policy == NULL || open == NULL) {
    free(policy);
    free(open);
    snprintf(why, capacity, "every_twice: no memory for %u messages", env->messages);
    return -ENOMEM;
  }
  policy->role = env->role;
  policy->delay_ns = (int64_t)env->params[0];
  policy->open = open;
  policy->open_capacity = env->messages;
  *made = policy;
  return 0;
}

static void destroy(struct cw_policy* policy) {
  free(policy->open);
  free(policy);
}

/* ---- counts into decisions; each returns 0 when there was no room ---------------------------- */

static int send(struct cw_out* out, const struct message* message, uint32_t first, uint32_t end,
                uint16_t kind, int64_t not_before_ns) {
  struct cw_decision* decision = cw_decide(out, CW_DECIDE_SEND);
  if (decision == NULL) return 0;
  decision->u.send = (struct cw_send){.message = message->sequence,
                                      .first = first,
                                      .count = end - first,
                                      .stride = 1,
                                      .kind = kind,
                                      .path_choice = CW_CHOOSE_ANY,
                                      .not_before_ns = not_before_ns};
  return 1;
}

static int say_sends(const struct cw_policy* policy, struct message* m, int64_t now_ns,
                     struct cw_out* out) {
  if (m->once < m->appended) {
    if (!send(out, m, m->once, m->appended, CW_SEND_DATA, 0)) return 0;
    m->once = m->appended;
  }
  if (m->twice < m->once) {
    if (!send(out, m, m->twice, m->once, CW_SEND_RESEND, now_ns + policy->delay_ns)) return 0;
    m->twice = m->once;
  }
  return 1;
}

static int is_over(const struct cw_policy* policy, const struct message* m) {
  if (m->slots == CW_UNKNOWN) return 0;
  return policy->role == CW_SOURCE ? m->copies_left >= 2 * (uint64_t)m->slots
                                   : m->in_place >= m->slots;
}

static int say_finish(const struct cw_policy* policy, struct message* m, struct cw_out* out) {
  struct cw_decision* decision;
  if (m->is_finished || !is_over(policy, m)) return 1;
  decision = cw_decide(out, CW_DECIDE_FINISH);
  if (decision == NULL) return 0;
  decision->u.finish = (struct cw_finish){
      .message = m->sequence, .first = 0, .count = CW_UNKNOWN, .status = CW_FINISH_OK};
  m->is_finished = 1;
  return 1;
}

static int say(const struct cw_policy* policy, struct message* m, int64_t now_ns,
               struct cw_out* out) {
  return say_sends(policy, m, now_ns, out) && say_finish(policy, m, out);
}

/* cw_decide() has set out->more when this stops early; the core then calls resume(). */
static void say_all(struct cw_policy* policy, int64_t now_ns, struct cw_out* out) {
  for (uint32_t i = 0; i < policy->open_count; ++i) {
    if (!say(policy, policy->open[i], now_ns, out)) return;
  }
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void opened(struct cw_policy* policy, const struct cw_fact_opened* fact, int64_t now_ns,
                   struct cw_out* out) {
  struct message* message = fact->state;
  message->sequence = fact->message;
  message->slots = fact->slots;
  if (policy->open_count < policy->open_capacity) policy->open[policy->open_count++] = message;
  say(policy, message, now_ns, out);
}

static void appended(struct cw_policy* policy, const struct cw_fact_appended* fact, int64_t now_ns,
                     struct cw_out* out) {
  struct message* message = fact->state;
  message->appended = fact->first + fact->count;
  say(policy, message, now_ns, out);
}

static void closed(struct cw_policy* policy, const struct cw_fact_closed* fact, int64_t now_ns,
                   struct cw_out* out) {
  struct message* message = fact->state;
  message->slots = fact->slots;
  say(policy, message, now_ns, out);
}

static void sent(struct cw_policy* policy, const struct cw_fact_sent* fact, int64_t now_ns,
                 struct cw_out* out) {
  struct message* message = fact->state;
  message->copies_left += fact->count;
  say(policy, message, now_ns, out);
}

static struct message* find(const struct cw_policy* policy, uint32_t sequence) {
  for (uint32_t i = 0; i < policy->open_count; ++i) {
    if (policy->open[i]->sequence == sequence) return policy->open[i];
  }
  return NULL;
}

static void refused(struct cw_policy* policy, const struct cw_fact_refused* fact, int64_t now_ns,
                    struct cw_out* out) {
  /* A refusal for quota comes without the state. */
  struct message* message = fact->state != NULL ? fact->state : find(policy, fact->message);
  if (message == NULL || fact->decision != CW_DECIDE_SEND) return;
  message->copies_left += fact->count;
  say(policy, message, now_ns, out);
}

static void arrived(struct cw_policy* policy, const struct cw_fact_arrived* fact, int64_t now_ns,
                    struct cw_out* out) {
  struct message* message = fact->state;
  message->slots = fact->slots;
  message->in_place = fact->first_missing;
  say(policy, message, now_ns, out);
}

static void ended(struct cw_policy* policy, uint32_t sequence, void* state, int64_t now_ns) {
  (void)sequence, (void)now_ns;
  for (uint32_t i = 0; i < policy->open_count; ++i) {
    if (policy->open[i] != state) continue;
    policy->open[i] = policy->open[--policy->open_count];
    return;
  }
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct cw_policy_ops table = {
    .abi = CW_POLICY_ABI,
    .size = sizeof(struct cw_policy_ops),
    .name = "every_twice",
    .version = "1.0",
    .summary = "An example: sends every slot twice and hopes.",
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .message_state_bytes = sizeof(struct message),
    .create = create,
    .destroy = destroy,
    .opened = opened,
    .appended = appended,
    .closed = closed,
    .sent = sent,
    .refused = refused,
    .arrived = arrived,
    .resume = say_all,
    .ended = ended,
};

__attribute__((visibility("default"))) const struct cw_policy_ops* cw_policy_table(void) {
  return &table;
}
