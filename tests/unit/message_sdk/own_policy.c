#include "tests/unit/message_sdk/own_policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a message, at its number modulo those that may be open. */
struct row {
  uint32_t message, peer;
  int is_open;
};

struct cw_policy {
  uint32_t rows;
  int64_t interval_ns;
  struct row row[];
};

static int create(const struct cw_env* env, struct cw_policy** policy, char* why, size_t capacity) {
  if (env->seat != CW_SEAT_ENDPOINT) {
    snprintf(why, capacity, "own: serves endpoints only");
    return -EINVAL;
  }
  *policy = calloc(1, sizeof(**policy) + env->messages * sizeof(struct row));
  if (*policy == NULL) return -ENOMEM;
  (*policy)->rows = env->messages;
  (*policy)->interval_ns = (int64_t)env->params[0];
  return 0;
}

static void destroy(struct cw_policy* policy) { free(policy); }

static void look_again(const struct cw_policy* policy, uint32_t message, int64_t now_ns,
                       struct cw_out* out) {
  struct cw_decision* const decision = cw_decide(out, CW_DECIDE_TIMER);
  if (decision == NULL) return;
  decision->u.timer.cookie = message;
  decision->u.timer.at_ns = now_ns + policy->interval_ns;
}

static void step(struct cw_policy* policy, const struct cw_fact_step* fact, int64_t now_ns,
                 struct cw_out* out) {
  if (fact->message == CW_UNKNOWN) return;
  policy->row[fact->message % policy->rows] = (struct row){fact->message, fact->peer, 1};
  look_again(policy, fact->message, now_ns, out);
}

static void timer(struct cw_policy* policy, uint64_t cookie, int64_t now_ns, struct cw_out* out) {
  const struct row* const row = &policy->row[cookie % policy->rows];
  if (!row->is_open || row->message != cookie) return;
  struct cw_decision* const decision = cw_decide(out, CW_DECIDE_ASK);
  if (decision != NULL) {
    decision->u.ask = (struct cw_ask){.message = row->message, .peer = row->peer};
    decision->u.ask.count = CW_UNKNOWN;
  }
  look_again(policy, row->message, now_ns, out);
}

static void ended(struct cw_policy* policy, uint32_t message, void* state, int64_t now_ns) {
  (void)state, (void)now_ns;
  policy->row[message % policy->rows].is_open = 0;
}

static const struct cw_param params[] = {{.name = "interval",
                                          .unit = "ns",
                                          .sentence = "from one ask to the next",
                                          .type = CW_PARAM_DURATION,
                                          .initial = 5e6,
                                          .min = 1e5,
                                          .max = 1e9}};

const struct cw_policy_ops own_policy = {.abi = CW_POLICY_ABI,
                                         .size = sizeof(own_policy),
                                         .name = "own",
                                         .version = "1",
                                         .summary = "asks for all that is missing",
                                         .params = params,
                                         .param_count = 1,
                                         .create = create,
                                         .destroy = destroy,
                                         .timer = timer,
                                         .step = step,
                                         .ended = ended};
