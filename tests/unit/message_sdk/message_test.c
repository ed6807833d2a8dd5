/* Messages in plain C11, over a simulated fabric. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/sdr/sdr.h"
#include "tests/unit/group_sdk/group_sim.h"
#include "tests/unit/message_sdk/own_policy.h"

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              cw_last_error());                                                        \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)
#define CHECK_OK(call) CHECK((call) == CW_SUCCESS)

enum {
  members = 4,
  part_max = 50000,
  large = 4 << 20,
  pool_bytes = 20000,
  all_posts = 8 * members
};
static const int64_t ms = 1000000;

typedef struct world {
  cw_mesh* mesh[members];
  uint8_t* sent[members];     /* a part for each member */
  uint8_t* received[members]; /* and one of each */
} world;

/* Of a policy that asks for nothing, for stories in which nothing is lost. */
static cw_mesh_attr attr_of(uint32_t rank) {
  return (cw_mesh_attr){.size = sizeof(cw_mesh_attr),
                        .rank = rank,
                        .members = members,
                        .payload_bytes = 1024,
                        .key = "a secret of this mesh",
                        .key_bytes = 21,
                        .seed = 7 + rank,
                        .bytes_max = large,
                        .pool_bytes = pool_bytes};
}

static uint8_t byte_of(size_t index, uint32_t from, uint32_t to) {
  return (uint8_t)(index * 7 + index / 251 + (size_t)from * 31 + (size_t)to * 97);
}

static world new_world_of(const struct cw_policy_ops* policy, const double* params) {
  world w = {0};
  group_sim_begin(members, 1);
  for (uint32_t rank = 0; rank < members; ++rank) {
    cw_mesh_attr attr = attr_of(rank);
    attr.policy = policy, attr.policy_params = params, attr.policy_param_count = params != NULL;
    CHECK((w.mesh[rank] = cw_mesh_create("sim:", &attr)) != NULL);
    CHECK((w.sent[rank] = malloc(members * part_max)) != NULL);
    CHECK((w.received[rank] = calloc(members, part_max)) != NULL);
    for (uint32_t to = 0; to < members; ++to) {
      for (size_t i = 0; i < part_max; ++i) w.sent[rank][to * part_max + i] = byte_of(i, rank, to);
    }
  }
  return w;
}

static world new_world(void) { return new_world_of(cw_policy_find("passthrough"), NULL); }

static void end_world(world* w) {
  for (int rank = 0; rank < members; ++rank) {
    cw_mesh_destroy(w->mesh[rank]);
    free(w->sent[rank]);
    free(w->received[rank]);
  }
  group_sim_end();
}

static void run(world* w, int64_t ns) { mesh_sim_run(w->mesh, members, ns); }

static world with_all_up(world w) {
  for (int i = 0; i < 100; ++i) {
    int up = 0;
    for (int rank = 0; rank < members; ++rank) up += cw_mesh_is_up(w.mesh[rank]);
    if (up == members) return w;
    run(&w, 20 * ms);
  }
  fprintf(stderr, "%s\n", cw_mesh_why(w.mesh[0]));
  CHECK(!"the members come together");
  return w;
}

static world new_world_that_is_up(void) { return with_all_up(new_world()); }

/* Of the memory that two members have for each other. */
static cw_mesh_send_wr sending(const world* w, uint32_t from, uint32_t to, uint64_t bytes) {
  return (cw_mesh_send_wr){.size = sizeof(cw_mesh_send_wr),
                           .to = to,
                           .step = 1,
                           .address = w->sent[from] + (size_t)to * part_max,
                           .bytes = bytes,
                           .cookie = 100 + to};
}

static cw_mesh_recv_wr receiving(const world* w, uint32_t at, uint32_t from, uint64_t bytes) {
  return (cw_mesh_recv_wr){.size = sizeof(cw_mesh_recv_wr),
                           .from = from,
                           .step = 1,
                           .address = w->received[at] + (size_t)from * part_max,
                           .bytes = bytes,
                           .cookie = 200 + from};
}

static int is_of(const uint8_t* memory, size_t bytes, uint32_t from, uint32_t to) {
  for (size_t i = 0; i < bytes; ++i) {
    if (memory[i] != byte_of(i, from, to)) return 0;
  }
  return 1;
}

/* The only one that has ended there since the last look. */
static cw_mesh_completion the_completion(const world* w, uint32_t rank) {
  cw_mesh_completion out[2];
  CHECK(cw_mesh_poll(w->mesh[rank], out, 2) == 1);
  return out[0];
}

static void expect_none(const world* w, uint32_t rank) {
  cw_mesh_completion out;
  CHECK(cw_mesh_poll(w->mesh[rank], &out, 1) == 0);
}

/* ---- the stories ---- */

static void posts_are_for_later_before_all_have_joined(void) {
  world w = new_world();
  const cw_mesh_send_wr send = sending(&w, 0, 1, 10);
  const cw_mesh_recv_wr recv = receiving(&w, 1, 0, 10);
  CHECK(cw_mesh_send(w.mesh[0], &send, NULL) == CW_RETRY);
  CHECK(cw_mesh_recv(w.mesh[1], &recv, NULL) == CW_RETRY);
  CHECK(!cw_mesh_is_up(w.mesh[0]) && cw_mesh_payload_bytes(w.mesh[0]) == 0);
  CHECK(strstr(cw_mesh_why(w.mesh[0]), "not all members have joined") != NULL);
  run(&w, 500 * ms);
  CHECK(cw_mesh_is_up(w.mesh[0]) && cw_mesh_payload_bytes(w.mesh[0]) == 1024);
  CHECK(strcmp(cw_mesh_why(w.mesh[0]), "") == 0);
  CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, NULL));
  CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
  end_world(&w);
}

static void what_is_sent_at_once_waits_for_members_that_are_up_later(void) {
  world w = new_world();
  while (!cw_mesh_is_up(w.mesh[0])) run(&w, ms / 1000);
  int posted[members] = {1};
  for (uint32_t to = 1; to < members; ++to) {
    const cw_mesh_send_wr send = sending(&w, 0, to, 10000);
    CHECK(!cw_mesh_is_up(w.mesh[to]));
    CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
  }
  for (int i = 0; i < 4000; ++i) {
    for (uint32_t at = 1; at < members; ++at) {
      const cw_mesh_recv_wr recv = receiving(&w, at, 0, 10000);
      if (!posted[at]) posted[at] = cw_mesh_recv(w.mesh[at], &recv, NULL) == CW_SUCCESS;
    }
    run(&w, ms / 200); /* so late programs look, which is less than a round trip */
  }
  for (uint32_t at = 1; at < members; ++at) {
    CHECK(the_completion(&w, at).status == CW_MESH_WHOLE);
    CHECK(is_of(w.received[at], 10000, 0, at));
  }
  end_world(&w);
}

static uint64_t part_of(uint32_t from, uint32_t to) { return 1 + 11000u * from + 5000u * to; }

/* Of a step: the first kilobyte or less by itself, then the rest. */
static void post_step(const world* w, uint32_t rank, uint32_t step) {
  for (uint32_t peer = 0; peer < members; ++peer) {
    if (peer == rank) continue;
    const uint64_t bytes[2] = {part_of(peer, rank), part_of(rank, peer)};
    for (int i = 0; i < 2; ++i) {
      const uint64_t head = bytes[i] < 1000 ? bytes[i] : 1000;
      for (int is_rest = 0; is_rest < 2 && is_rest * head < bytes[i]; ++is_rest) {
        const uint64_t count = is_rest ? bytes[i] - head : head;
        const int is_last = head + (uint64_t)is_rest * count == bytes[i];
        cw_mesh_recv_wr recv = receiving(w, rank, peer, count);
        cw_mesh_send_wr send = sending(w, rank, peer, count);
        recv.step = send.step = step;
        recv.address = (uint8_t*)recv.address + is_rest * head;
        send.address = (const uint8_t*)send.address + is_rest * head;
        send.step_bytes = bytes[i];
        send.flags = is_last ? CW_MESH_LAST : 0;
        if (i == 0) CHECK_OK(cw_mesh_recv(w->mesh[rank], &recv, NULL));
        if (i == 1) CHECK_OK(cw_mesh_send(w->mesh[rank], &send, NULL));
      }
    }
  }
}

static void expect_steps(world* w, int64_t step_ns) {
  for (uint32_t step = 1; step <= 3; ++step) {
    for (uint32_t rank = 0; rank < members; ++rank) {
      memset(w->received[rank], 0, members * part_max);
      post_step(w, rank, 70 + step);
    }
    run(w, step_ns);
    for (uint32_t rank = 0; rank < members; ++rank) {
      cw_mesh_completion ended[all_posts];
      const int count = cw_mesh_poll(w->mesh[rank], ended, all_posts);
      uint64_t sent = 0, received = 0, wanted[2] = {0};
      for (int i = 0; i < count; ++i) {
        CHECK(ended[i].status == CW_MESH_WHOLE && !ended[i].is_of_other_end);
        CHECK(ended[i].step == 70 + step && !ended[i].is_of_pool);
        CHECK(ended[i].message <= 2 * step && ended[i].message > step - 1);
        CHECK(ended[i].cookie == (ended[i].is_send ? 100 : 200) + ended[i].peer);
        *(ended[i].is_send ? &sent : &received) += ended[i].bytes;
      }
      for (uint32_t peer = 0; peer < members; ++peer) {
        if (peer == rank) continue;
        wanted[0] += part_of(rank, peer), wanted[1] += part_of(peer, rank);
        CHECK(is_of(w->received[rank] + peer * part_max, part_of(peer, rank), peer, rank));
        CHECK(w->received[rank][peer * part_max + part_of(peer, rank)] == 0);
      }
      CHECK(sent == wanted[0] && received == wanted[1]);
      expect_none(w, rank);
    }
  }
}

static void an_all_to_all_comes_whole_step_by_step(void) {
  world w = new_world_that_is_up();
  expect_steps(&w, 20 * ms);
  end_world(&w);
}

static void what_is_lost_is_asked_for_by_the_programs_own_policy(void) {
  const double interval_ns = 500000;
  world w = with_all_up(new_world_of(&own_policy, &interval_ns));
  group_sim_lose(0.02);
  expect_steps(&w, 1000 * ms);
  end_world(&w);
}

static void a_receive_may_be_posted_after_its_message_has_come(void) {
  world w = with_all_up(new_world_of(&own_policy, NULL));
  const cw_mesh_send_wr send = sending(&w, 0, 1, 30000);
  const cw_mesh_recv_wr recv = receiving(&w, 1, 0, 30000);
  CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
  run(&w, 10 * ms);
  CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, NULL));
  run(&w, 4 * ms);
  expect_none(&w, 1);
  run(&w, 2 * ms); /* that policy asks after five milliseconds, where it is not told otherwise */
  CHECK(the_completion(&w, 1).status == CW_MESH_WHOLE);
  CHECK(the_completion(&w, 0).status == CW_MESH_WHOLE);
  CHECK(is_of(w.received[1], 30000, 0, 1));
  end_world(&w);
}

static void a_pool_gives_memory_to_whoever_comes(void) {
  world w = new_world_that_is_up();
  uint8_t* pool[6];
  for (uint64_t i = 0; i < 6; ++i) {
    CHECK((pool[i] = calloc(1, pool_bytes)) != NULL);
    CHECK_OK(cw_mesh_post_pool(w.mesh[0], pool[i], i));
  }
  for (uint32_t from = 1; from < 3; ++from) {
    for (int i = 0; i < 3; ++i) {
      cw_mesh_send_wr send = sending(&w, from, 0, i == 0 ? 1 : i == 1 ? 5000 : pool_bytes);
      send.flags = CW_MESH_FOR_POOL;
      CHECK_OK(cw_mesh_send(w.mesh[from], &send, NULL));
    }
  }
  /* A receive beside it counts by itself. */
  const cw_mesh_recv_wr recv = receiving(&w, 0, 1, 300);
  const cw_mesh_send_wr send = sending(&w, 1, 0, 300);
  CHECK_OK(cw_mesh_recv(w.mesh[0], &recv, NULL));
  CHECK_OK(cw_mesh_send(w.mesh[1], &send, NULL));
  run(&w, 20 * ms);
  cw_mesh_completion ended[8];
  CHECK(cw_mesh_poll(w.mesh[0], ended, 8) == 7);
  uint64_t bytes = 0;
  for (int i = 0; i < 7; ++i) {
    CHECK(ended[i].status == CW_MESH_WHOLE && !ended[i].is_send && ended[i].step == 1);
    CHECK(ended[i].message >= 1 && ended[i].message <= 3);
    const uint8_t* memory = ended[i].is_of_pool ? pool[ended[i].cookie] : recv.address;
    CHECK(is_of(memory, ended[i].bytes, ended[i].peer, 0));
    CHECK(ended[i].is_of_pool || (ended[i].cookie == 201 && ended[i].message == 1));
    bytes += ended[i].bytes;
  }
  CHECK(bytes == 2 * (1 + 5000 + pool_bytes) + 300);
  CHECK(cw_mesh_poll(w.mesh[1], ended, 8) == 4);
  cw_mesh_destroy(w.mesh[0]);
  w.mesh[0] = NULL;
  for (int i = 0; i < 6; ++i) free(pool[i]);
  end_world(&w);
}

static void what_one_end_cancels_is_over_at_both(void) {
  world w = new_world_that_is_up();
  cw_mesh_ticket ticket;
  cw_mesh_recv_wr recv = receiving(&w, 1, 0, large);
  cw_mesh_send_wr send = sending(&w, 0, 1, large);
  uint8_t* const ours = malloc(large);
  uint8_t* const theirs = malloc(large);
  CHECK(ours != NULL && theirs != NULL);
  memset(ours, 1, large);
  send.address = ours, recv.address = theirs;
  for (int is_receiver = 0; is_receiver < 2; ++is_receiver) {
    memset(theirs, 0, large);
    CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, is_receiver ? &ticket : NULL));
    CHECK_OK(cw_mesh_send(w.mesh[0], &send, is_receiver ? NULL : &ticket));
    run(&w, ms);
    CHECK(theirs[0] == 1 && theirs[large - 1] == 0); /* some of it is there */
    CHECK_OK(cw_mesh_cancel(w.mesh[is_receiver], ticket));
    run(&w, 5 * ms);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const cw_mesh_completion ended = the_completion(&w, rank);
      CHECK(ended.status == CW_MESH_CANCELLED && ended.bytes == large);
      CHECK(ended.is_send == (rank == 0));
      CHECK(ended.is_of_other_end == (rank != (uint32_t)is_receiver));
    }
    CHECK_OK(cw_mesh_cancel(w.mesh[is_receiver], ticket)); /* is over: nothing */
    expect_none(&w, (uint32_t)is_receiver);
  }
  free(ours);
  free(theirs);
  end_world(&w);
}

static void what_the_other_end_does_not_post_ends_by_its_deadline(void) {
  world w = new_world_that_is_up();
  cw_mesh_send_wr send = sending(&w, 0, 1, 1000);
  cw_mesh_recv_wr recv = receiving(&w, 0, 1, 1000);
  send.deadline_ns = 30 * (uint64_t)ms;
  recv.deadline_ns = 60 * (uint64_t)ms;
  CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
  CHECK_OK(cw_mesh_recv(w.mesh[0], &recv, NULL));
  run(&w, 29 * ms);
  expect_none(&w, 0);
  run(&w, 2 * ms);
  cw_mesh_completion ended = the_completion(&w, 0);
  CHECK(ended.status == CW_MESH_LATE && ended.is_send && !ended.is_of_other_end);
  run(&w, 30 * ms);
  ended = the_completion(&w, 0);
  CHECK(ended.status == CW_MESH_LATE && !ended.is_send && ended.cookie == 201);
  send.deadline_ns = 0; /* the mesh's own */
  CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
  run(&w, 9990 * ms);
  expect_none(&w, 0);
  run(&w, 20 * ms);
  CHECK(the_completion(&w, 0).status == CW_MESH_LATE);
  end_world(&w);
}

static void unlike_posts_end_at_both_and_say_how(void) {
  world w = new_world_that_is_up();
  for (int status = CW_MESH_UNLIKE_STEP; status <= CW_MESH_UNLIKE_SIZE; ++status) {
    const int is_step = status == CW_MESH_UNLIKE_STEP;
    cw_mesh_recv_wr recv = receiving(&w, 1, 0, is_step ? 3000 : 2999);
    cw_mesh_send_wr send = sending(&w, 0, 1, 3000);
    if (is_step) recv.step = 2;
    CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, NULL));
    CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
    run(&w, 20 * ms);
    const cw_mesh_completion there = the_completion(&w, 1), here = the_completion(&w, 0);
    CHECK(here.status == status && there.status == status);
    CHECK(here.step == 1 && there.step == (is_step ? 2 : 1));
    CHECK(here.bytes == 3000 && there.bytes == recv.bytes);
    CHECK(here.is_of_other_end && !there.is_of_other_end);
  }
  /* Those after them match again. */
  const cw_mesh_recv_wr recv = receiving(&w, 1, 0, 3000);
  const cw_mesh_send_wr send = sending(&w, 0, 1, 3000);
  CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, NULL));
  CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
  run(&w, 5 * ms);
  CHECK(the_completion(&w, 1).status == CW_MESH_WHOLE);
  CHECK(the_completion(&w, 0).message == 3);
  end_world(&w);
}

static void a_pair_has_only_so_many_open(void) {
  world w = new_world_that_is_up();
  const cw_mesh_recv_wr recv = receiving(&w, 1, 0, 10);
  const cw_mesh_send_wr send = sending(&w, 0, 1, 10), to_another = sending(&w, 0, 2, 10);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < CW_MESH_PAIR_OPEN; ++i) {
      CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, NULL));
      CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
    }
    CHECK(cw_mesh_recv(w.mesh[1], &recv, NULL) == CW_RETRY);
    CHECK(cw_mesh_send(w.mesh[0], &send, NULL) == CW_RETRY);
    if (round == 0) CHECK_OK(cw_mesh_send(w.mesh[0], &to_another, NULL));
    run(&w, 10 * ms);
    for (int rank = 0; rank < 2; ++rank) {
      cw_mesh_completion ended[CW_MESH_PAIR_OPEN];
      CHECK(cw_mesh_poll(w.mesh[rank], ended, CW_MESH_PAIR_OPEN) == CW_MESH_PAIR_OPEN);
      for (int i = 0; i < CW_MESH_PAIR_OPEN; ++i) CHECK(ended[i].status == CW_MESH_WHOLE);
    }
  }
  end_world(&w);
}

static void posts_run_out_and_come_back_as_they_are_polled(void) {
  enum { few = 3 };
  world w = new_world();
  for (uint32_t rank = 0; rank < members; ++rank) {
    cw_mesh_destroy(w.mesh[rank]);
    cw_mesh_attr attr = attr_of(rank);
    attr.sends_max = attr.receives_max = few;
    CHECK((w.mesh[rank] = cw_mesh_create("sim:", &attr)) != NULL);
  }
  run(&w, 500 * ms);
  const cw_mesh_recv_wr recv = receiving(&w, 1, 0, 10);
  const cw_mesh_send_wr send = sending(&w, 0, 1, 10);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < few; ++i) {
      CHECK_OK(cw_mesh_recv(w.mesh[1], &recv, NULL));
      CHECK_OK(cw_mesh_send(w.mesh[0], &send, NULL));
    }
    for (int is_over = 0; is_over < 2; ++is_over) {
      CHECK(cw_mesh_recv(w.mesh[1], &recv, NULL) == CW_RETRY);
      CHECK(cw_mesh_post_pool(w.mesh[1], w.received[1], 0) == CW_RETRY);
      CHECK(cw_mesh_send(w.mesh[0], &send, NULL) == CW_RETRY);
      run(&w, 10 * ms);
    }
    cw_mesh_completion ended[few];
    for (int rank = 0; rank < 2; ++rank) {
      CHECK(cw_mesh_poll(w.mesh[rank], ended, 1) == 1); /* the oldest first */
      CHECK(cw_mesh_poll(w.mesh[rank], ended + 1, few) == few - 1);
      for (int i = 0; i < few; ++i) CHECK(ended[i].message == (uint32_t)(round * few + i + 1));
    }
  }
  for (int i = 0; i < few; ++i) CHECK_OK(cw_mesh_post_pool(w.mesh[1], w.received[1], 0));
  CHECK(cw_mesh_post_pool(w.mesh[1], w.received[1], 0) == CW_RETRY);
  end_world(&w);
}

static void a_mesh_is_over_where_a_member_is_seen_to_begin_anew(void) {
  world w = new_world_that_is_up();
  const cw_mesh_recv_wr recv = receiving(&w, 0, 2, 10);
  const cw_mesh_send_wr send = sending(&w, 0, 2, 10);
  CHECK_OK(cw_mesh_recv(w.mesh[0], &recv, NULL));
  cw_mesh_destroy(w.mesh[1]);
  cw_mesh_attr attr = attr_of(1);
  attr.seed = 77;
  CHECK((w.mesh[1] = cw_mesh_create("sim:", &attr)) != NULL);
  run(&w, 500 * ms);
  const cw_mesh_completion ended = the_completion(&w, 0);
  CHECK(ended.status == CW_MESH_UNKNOWN && ended.peer == 2 && !ended.is_of_other_end);
  CHECK(!cw_mesh_is_up(w.mesh[0]));
  CHECK(strstr(cw_mesh_why(w.mesh[0]), "rank 1 has begun anew") != NULL);
  CHECK(cw_mesh_send(w.mesh[0], &send, NULL) == CW_ERROR);
  CHECK(strcmp(cw_last_error(), cw_mesh_why(w.mesh[0])) == 0);
  CHECK(cw_mesh_recv(w.mesh[0], &recv, NULL) == CW_ERROR);
  CHECK(cw_mesh_post_pool(w.mesh[0], w.received[0], 0) == CW_ERROR);
  CHECK(strstr(cw_last_error(), "rank 1 has begun anew") != NULL);
  end_world(&w);
}

#define STORY(name) {#name, name}
int main(int count, char** names) {
  static const struct {
    const char* name;
    void (*tell)(void);
  } stories[] = {
      STORY(posts_are_for_later_before_all_have_joined),
      STORY(what_is_sent_at_once_waits_for_members_that_are_up_later),
      STORY(an_all_to_all_comes_whole_step_by_step),
      STORY(what_is_lost_is_asked_for_by_the_programs_own_policy),
      STORY(a_receive_may_be_posted_after_its_message_has_come),
      STORY(a_pool_gives_memory_to_whoever_comes),
      STORY(what_one_end_cancels_is_over_at_both),
      STORY(what_the_other_end_does_not_post_ends_by_its_deadline),
      STORY(unlike_posts_end_at_both_and_say_how),
      STORY(a_pair_has_only_so_many_open),
      STORY(posts_run_out_and_come_back_as_they_are_polled),
      STORY(a_mesh_is_over_where_a_member_is_seen_to_begin_anew),
  };
  for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); ++i) {
    if (count > 1 && !strstr(names[1], stories[i].name)) continue;
    printf("%s\n", stories[i].name);
    fflush(stdout);
    stories[i].tell();
  }
  return 0;
}
