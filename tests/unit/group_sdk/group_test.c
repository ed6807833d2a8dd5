/* Groups in plain C11, over a simulated fabric. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/group_sdk/group_sim.h"

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              cw_last_error());                                                        \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)
#define CHECK_OK(call) CHECK((call) == CW_SUCCESS)

enum { members = 4, part = 100001, all = members * part };
static const int64_t ms = 1000000;

typedef int post_call(cw_group*, const cw_coll_wr*, cw_request**);

typedef struct world {
  cw_group* group[members];
  uint8_t* memory[members];
  cw_request* request[members];
} world;

static cw_group_attr attr_of(uint32_t rank) {
  return (cw_group_attr){.size = sizeof(cw_group_attr),
                         .rank = rank,
                         .members = members,
                         .key = "a secret of this group",
                         .key_bytes = 22,
                         .bytes_max = all,
                         .sum_bytes_max = part - 1,
                         .seed = 7 + rank,
                         .payload_bytes = 1024};
}

static world new_world(void) {
  world w = {0};
  group_sim_begin(members, 1);
  for (uint32_t rank = 0; rank < members; ++rank) {
    const cw_group_attr attr = attr_of(rank);
    CHECK((w.group[rank] = cw_group_create("sim:", &attr)) != NULL);
    CHECK((w.memory[rank] = calloc(all, 1)) != NULL);
  }
  return w;
}

static void end_world(world* w) {
  for (int rank = 0; rank < members; ++rank) {
    cw_group_destroy(w->group[rank]);
    free(w->memory[rank]);
  }
  group_sim_end();
}

static void run(world* w, int64_t ns) { group_sim_run(w->group, members, ns); }

static void come_up(world* w) {
  for (int i = 0; i < 100; ++i) {
    int up = 0, there = 0;
    for (int rank = 0; rank < members; ++rank) {
      if (w->group[rank] == NULL) continue;
      ++there;
      up += cw_group_is_up(w->group[rank]);
    }
    if (up == there) return;
    run(w, 20 * ms);
  }
  fprintf(stderr, "%s\n", cw_group_why(w->group[0]));
  CHECK(!"the members come together");
}

static uint8_t byte_of(size_t index, int source) {
  return (uint8_t)(index * 7 + index / 251 + (size_t)source * 31);
}

static void fill(uint8_t* memory, size_t bytes, int source) {
  for (size_t i = 0; i < bytes; ++i) memory[i] = byte_of(i, source);
}

static int is_of(const uint8_t* memory, size_t bytes, int source) {
  for (size_t i = 0; i < bytes; ++i) {
    if (memory[i] != byte_of(i, source)) return 0;
  }
  return 1;
}

static void post_all(world* w, post_call* call, uint32_t root, uint64_t bytes) {
  for (int rank = 0; rank < members; ++rank) {
    const cw_coll_wr wr = {
        .size = sizeof(wr), .root = root, .address = w->memory[rank], .bytes = bytes};
    if (w->group[rank] != NULL) CHECK_OK(call(w->group[rank], &wr, &w->request[rank]));
  }
}

static cw_request_info info_of(cw_request* request) {
  cw_request_info info;
  CHECK_OK(cw_request_poll(request, &info));
  return info;
}

static void finish(world* w) {
  run(w, 300 * ms);
  for (int rank = 0; rank < members; ++rank) {
    if (w->group[rank] == NULL) continue;
    CHECK(info_of(w->request[rank]).status == CW_REQUEST_DONE);
    CHECK_OK(cw_request_release(w->request[rank]));
  }
}

/* ---- the stories ---- */

static void a_broadcast_reaches_all_from_any_root(void) {
  world w = new_world();
  cw_request* early;
  const cw_coll_wr wr = {.size = sizeof(wr), .address = w.memory[0], .bytes = part};
  CHECK(cw_broadcast(w.group[0], &wr, &early) == CW_RETRY);
  CHECK(cw_group_payload_bytes(w.group[0]) == 0);
  CHECK(strstr(cw_group_why(w.group[0]), "not all members have joined") != NULL);
  come_up(&w);
  CHECK(cw_group_payload_bytes(w.group[3]) == 1024);
  CHECK(strcmp(cw_group_why(w.group[0]), "") == 0);
  for (int root = 0; root < members; ++root) {
    fill(w.memory[root], part, root);
    post_all(&w, cw_broadcast, (uint32_t)root, part);
    CHECK(cw_request_release(w.request[0]) == CW_RETRY);
    finish(&w);
    for (int rank = 0; rank < members; ++rank) CHECK(is_of(w.memory[rank], part, root));
    CHECK(w.memory[0][part] == 0);
  }
  end_world(&w);
}

static void an_allgather_gathers_while_packets_are_lost(void) {
  world w = new_world();
  come_up(&w);
  group_sim_lose(0.02);
  uint32_t fetched = 0;
  for (int round = 0; round < 5; ++round) {
    for (int rank = 0; rank < members; ++rank) {
      memset(w.memory[rank], 0, all);
      fill(w.memory[rank] + rank * part, part, rank + round);
    }
    post_all(&w, cw_allgather, 0, part);
    run(&w, 1000 * ms);
    for (int rank = 0; rank < members; ++rank) {
      const cw_request_info info = info_of(w.request[rank]);
      CHECK(info.status == CW_REQUEST_DONE && info.is_readable);
      CHECK(info.slots == members * 98 && info.in_place == info.slots);
      fetched += info.fetched;
      for (int source = 0; source < members; ++source) {
        CHECK(is_of(w.memory[rank] + source * part, part, source + round));
      }
      CHECK_OK(cw_request_release(w.request[rank]));
    }
  }
  CHECK(fetched > 0);
  end_world(&w);
}

static void a_bitmap_tells_slot_by_slot(void) {
  world w = new_world();
  come_up(&w);
  fill(w.memory[0], part, 5);
  post_all(&w, cw_broadcast, 0, part);
  const uint8_t* bitmap;
  size_t bytes;
  CHECK_OK(cw_request_bitmap_get(w.request[2], &bitmap, &bytes));
  CHECK(bytes == 13 && bitmap[0] == 0); /* 98 slots */
  CHECK(info_of(w.request[2]).status == CW_REQUEST_OPEN);
  int seen_part = 0;
  for (int i = 0; i < 1000 && info_of(w.request[2]).in_place < 98; ++i) {
    run(&w, ms / 100);
    for (uint32_t slot = 0; slot < 98; ++slot) {
      const uint32_t end = (slot + 1) * 1024 > part ? part : (slot + 1) * 1024;
      if (!(bitmap[slot / 8] >> slot % 8 & 1)) continue;
      for (uint32_t at = slot * 1024; at < end; ++at) CHECK(w.memory[2][at] == byte_of(at, 5));
    }
    seen_part += bitmap[0] == 0xff && bitmap[12] == 0;
  }
  CHECK(seen_part > 0);
  CHECK(bitmap[0] == 0xff && bitmap[11] == 0xff && bitmap[12] == 0x03);
  const cw_request_info info = info_of(w.request[2]);
  CHECK(info.status == CW_REQUEST_READABLE || info.status == CW_REQUEST_DONE);
  finish(&w);
  end_world(&w);
}

static void sums_are_right_beside_a_gathering(void) {
  enum { numbers = 5000 };
  static float input[members][members][numbers], output[members][numbers];
  world w = new_world();
  come_up(&w);
  group_sim_lose(0.01);
  for (int is_pair = 0; is_pair < 2; ++is_pair) {
    for (int rank = 0; rank < members; ++rank) {
      for (int to = 0; to < members; ++to) {
        for (int i = 0; i < numbers; ++i) input[rank][to][i] = (float)(i % 97 + rank + 10 * to);
      }
      fill(w.memory[rank] + rank * sizeof(output[0]), sizeof(output[0]), rank);
    }
    memset(output, 0, sizeof(output));
    for (int rank = 0; rank < members; ++rank) {
      const cw_coll_wr wr = {.size = sizeof(wr),
                             .element = CW_ELEMENT_F32,
                             .bytes = sizeof(output[0]),
                             .address = is_pair ? w.memory[rank] : NULL,
                             .input = input[rank],
                             .output = output[rank]};
      post_call* const call = is_pair ? cw_allgather_reduce_scatter : cw_reduce_scatter;
      CHECK_OK(call(w.group[rank], &wr, &w.request[rank]));
    }
    run(&w, 700 * ms);
    finish(&w);
    for (int rank = 0; rank < members; ++rank) {
      for (int i = 0; i < numbers; ++i) {
        CHECK(output[rank][i] == (float)(members * (i % 97 + 10 * rank) + 0 + 1 + 2 + 3));
      }
      for (int source = 0; source < members * is_pair; ++source) {
        CHECK(is_of(w.memory[rank] + source * sizeof(output[0]), sizeof(output[0]), source));
      }
    }
  }
  end_world(&w);
}

static void a_barrier_waits_for_the_last(void) {
  world w = new_world();
  come_up(&w);
  for (int rank = 0; rank + 1 < members; ++rank)
    CHECK_OK(cw_barrier(w.group[rank], &w.request[rank]));
  run(&w, 500 * ms);
  for (int rank = 0; rank + 1 < members; ++rank)
    CHECK(info_of(w.request[rank]).status == CW_REQUEST_OPEN);
  CHECK_OK(cw_barrier(w.group[members - 1], &w.request[members - 1]));
  const uint8_t* bitmap;
  size_t bytes;
  CHECK_OK(cw_request_bitmap_get(w.request[0], &bitmap, &bytes));
  CHECK(bytes == 0);
  finish(&w);
  end_world(&w);
}

static void requests_run_out_and_come_back(void) {
  world w = new_world();
  cw_request* request[members][CW_GROUP_OPERATIONS + 1];
  come_up(&w);
  for (int round = 0; round < 50; ++round) {
    for (int rank = 0; rank < members; ++rank) {
      for (int i = 0; i < CW_GROUP_OPERATIONS; ++i)
        CHECK_OK(cw_barrier(w.group[rank], &request[rank][i]));
      CHECK(cw_barrier(w.group[rank], &request[rank][CW_GROUP_OPERATIONS]) == CW_RETRY);
    }
    run(&w, 20 * ms);
    for (int rank = 0; rank < members; ++rank) {
      for (int i = 0; i < CW_GROUP_OPERATIONS; ++i) {
        CHECK_OK(cw_request_release(request[rank][i]));
        CHECK(cw_request_release(request[rank][i]) == CW_ERROR);
      }
    }
  }
  end_world(&w);
}

static void unlike_posts_fail_everywhere_with_a_sentence(void) {
  world w = new_world();
  come_up(&w);
  for (int rank = 0; rank < members; ++rank) {
    const cw_coll_wr wr = {
        .size = sizeof(wr), .address = w.memory[rank], .bytes = rank == 2 ? part - 1 : part};
    CHECK_OK(cw_broadcast(w.group[rank], &wr, &w.request[rank]));
  }
  run(&w, 500 * ms);
  for (int rank = 0; rank < members; ++rank) {
    CHECK(info_of(w.request[rank]).status == CW_REQUEST_FAILED);
    CHECK(!cw_group_is_up(w.group[rank]));
    CHECK(strstr(cw_group_why(w.group[rank]), "100000") != NULL);
    CHECK(strcmp(cw_group_why(w.group[rank]), cw_group_why(w.group[0])) == 0);
    cw_request* later;
    CHECK(cw_barrier(w.group[rank], &later) == CW_ERROR);
    CHECK(strcmp(cw_last_error(), cw_group_why(w.group[0])) == 0);
    CHECK_OK(cw_request_release(w.request[rank]));
  }
  end_world(&w);
}

static void those_that_are_left_go_on_without_the_dead(void) {
  world w = new_world();
  come_up(&w);
  cw_group_destroy(w.group[1]);
  w.group[1] = NULL;
  post_all(&w, cw_allgather, 0, part);
  run(&w, 40000 * ms); /* the deadline for posting */
  for (int rank = 0; rank < members; ++rank) {
    if (w.group[rank] == NULL) continue;
    CHECK(info_of(w.request[rank]).status == CW_REQUEST_FAILED);
    CHECK(cw_group_shrink(w.group[rank], rank == 0 ? 0 : (uint32_t)rank) == NULL); /* itself */
    CHECK((w.group[rank] = cw_group_shrink(w.group[rank], 1)) != NULL);
  }
  come_up(&w);
  for (int rank = 0; rank < members; ++rank)
    fill(w.memory[rank] + (rank > 1 ? rank - 1 : rank) * part, part, rank);
  post_all(&w, cw_allgather, 0, part);
  finish(&w);
  for (int rank = 0; rank < members; ++rank) {
    if (w.group[rank] == NULL) continue;
    CHECK(is_of(w.memory[rank], part, 0));
    CHECK(is_of(w.memory[rank] + part, part, 2));
    CHECK(is_of(w.memory[rank] + 2 * part, part, 3));
  }
  end_world(&w);
}

#define STORY(name) {#name, name}
int main(int count, char** names) {
  static const struct {
    const char* name;
    void (*tell)(void);
  } stories[] = {
      STORY(a_broadcast_reaches_all_from_any_root),
      STORY(an_allgather_gathers_while_packets_are_lost),
      STORY(a_bitmap_tells_slot_by_slot),
      STORY(sums_are_right_beside_a_gathering),
      STORY(a_barrier_waits_for_the_last),
      STORY(requests_run_out_and_come_back),
      STORY(unlike_posts_fail_everywhere_with_a_sentence),
      STORY(those_that_are_left_go_on_without_the_dead),
  };
  for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); ++i) {
    if (count > 1 && !strstr(names[1], stories[i].name)) continue;
    printf("%s\n", stories[i].name);
    fflush(stdout);
    stories[i].tell();
  }
  return 0;
}
