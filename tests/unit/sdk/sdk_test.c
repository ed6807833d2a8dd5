/* The paper's flow in plain C11, over two contexts and a simulated wire. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sdk/sim_pair.h"

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              cw_last_error());                                                        \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)
#define CHECK_OK(call) CHECK((call) == CW_SUCCESS)

enum { payload = 1024, chunk = 4 * payload, buffer_bytes = 1 << 20 };
static const int64_t ms = 1000000;

/* Two ends with one QP and one registered buffer each; the first sends. */
typedef struct pair {
  cw_context *sender, *receiver;
  cw_qp *to, *from;
  cw_mr *source_mr, *target_mr;
  uint8_t *source, *target;
  uint32_t lkey, rkey;
} pair;

static cw_context* new_context(const char* device, uint64_t seed) {
  cw_device_attr attr = {.size = sizeof(attr),
                         .payload_bytes = payload,
                         .key = "a shared secret of this pair",
                         .key_bytes = 28,
                         .seed = seed};
  return cw_context_create(device, &attr);
}

static cw_qp_attr small_chunks(void) {
  return (cw_qp_attr){
      .size = sizeof(cw_qp_attr), .chunk_bytes = chunk, .message_bytes_max = buffer_bytes};
}

static pair new_pair_with(double loss, cw_qp_attr qp) {
  pair p;
  sim_begin(1, loss, 5 * ms);
  CHECK((p.sender = new_context("sim:0", 7)) != NULL);
  CHECK((p.receiver = new_context("sim:1", 8)) != NULL);
  CHECK((p.to = cw_qp_create(p.sender, &qp)) != NULL);
  CHECK((p.from = cw_qp_create(p.receiver, &qp)) != NULL);
  CHECK((p.source = malloc(buffer_bytes)) != NULL);
  CHECK((p.target = malloc(buffer_bytes)) != NULL);
  for (size_t i = 0; i < buffer_bytes; ++i) p.source[i] = (uint8_t)(i * 7 + i / 251);
  memset(p.target, 0xee, buffer_bytes);
  p.source_mr = cw_mr_reg(p.sender, p.source, buffer_bytes, CW_ACCESS_LOCAL);
  p.target_mr = cw_mr_reg(p.receiver, p.target, buffer_bytes, CW_ACCESS_REMOTE_WRITE);
  CHECK((p.lkey = cw_mr_lkey_get(p.source_mr)) != 0);
  CHECK((p.rkey = cw_mr_lkey_get(p.target_mr)) != 0);
  return p;
}

static void run(pair* p, int64_t ns) { sim_run(p->sender, p->receiver, ns); }

static void come_up(pair* p) {
  for (int i = 0; i < 100; ++i) {
    if (cw_context_is_up(p->sender) && cw_context_is_up(p->receiver)) return;
    run(p, 20 * ms);
  }
  fprintf(stderr, "%s\n", cw_context_why(p->sender));
  CHECK(!"the link comes up");
}

static pair new_pair(void) { return new_pair_with(0, small_chunks()); }

static void end_pair(pair* p) {
  CHECK_OK(cw_mr_dereg(p->source_mr));
  CHECK_OK(cw_mr_dereg(p->target_mr));
  cw_context_destroy(p->sender);
  cw_context_destroy(p->receiver);
  sim_end();
  free(p->source);
  free(p->target);
}

static cw_recv_handle* post(pair* p, size_t offset, uint64_t length) {
  cw_recv_handle* handle = NULL;
  const cw_recv_wr wr = {.address = p->target + offset, .max_length = length, .lkey = p->rkey};
  CHECK_OK(cw_recv_post(p->from, &wr, &handle));
  return handle;
}

static cw_send_handle* send_at(pair* p, size_t offset, uint64_t length, const uint32_t* imm) {
  cw_send_handle* handle = NULL;
  const cw_send_wr wr = {.opcode = imm ? CW_WR_WRITE_WITH_IMM : CW_WR_WRITE,
                         .imm = imm ? *imm : 0,
                         .lkey = p->lkey,
                         .address = p->source + offset,
                         .length = length};
  CHECK_OK(cw_send_post(p->to, &wr, &handle));
  return handle;
}

static cw_send_handle* start(pair* p) {
  cw_send_handle* handle = NULL;
  const cw_send_start_wr wr = {.opcode = CW_WR_WRITE};
  CHECK_OK(cw_send_stream_start(p->to, &wr, &handle));
  return handle;
}

static void add_chunk(pair* p, cw_send_handle* handle, uint32_t index, uint64_t length) {
  const cw_send_continue_wr wr = {.lkey = p->lkey,
                                  .remote_offset = index,
                                  .address = p->source + (size_t)index * chunk,
                                  .length = length};
  CHECK_OK(cw_send_stream_continue(handle, &wr));
}

static int send_status(cw_send_handle* handle) {
  int status = -1;
  CHECK_OK(cw_send_poll(handle, &status));
  return status;
}

static cw_recv_info recv_info(cw_recv_handle* handle) {
  cw_recv_info info;
  CHECK_OK(cw_recv_poll(handle, &info));
  return info;
}

static int has_chunk(cw_recv_handle* handle, size_t index) {
  const uint8_t* bitmap;
  size_t bytes;
  CHECK_OK(cw_recv_bitmap_get(handle, &bitmap, &bytes));
  CHECK(index / 8 < bytes);
  return bitmap[index / 8] >> index % 8 & 1;
}

/* ---- the stories ---- */

static void one_shot(void) {
  pair p = new_pair();
  const uint64_t bytes = 10 * chunk + 100;
  cw_recv_handle* r = post(&p, 0, bytes); /* before the link is up */
  come_up(&p);
  cw_send_handle* s = send_at(&p, 0, bytes, NULL);
  CHECK(cw_mr_dereg(p.source_mr) == CW_RETRY);
  CHECK(cw_mr_dereg(p.target_mr) == CW_RETRY);
  run(&p, 100 * ms);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK(recv_info(r).status == CW_STATUS_DONE);
  CHECK(recv_info(r).bytes == bytes);
  CHECK(recv_info(r).slots_in_place == 41);
  CHECK(memcmp(p.source, p.target, bytes) == 0);
  CHECK(p.target[bytes] == 0xee);
  const uint8_t* bitmap;
  size_t size;
  CHECK_OK(cw_recv_bitmap_get(r, &bitmap, &size));
  CHECK(size == 2 && bitmap[0] == 0xff && bitmap[1] == 0x07); /* ten chunks and a short one */
  uint32_t imm;
  CHECK(cw_recv_imm_get(r, &imm) == CW_ERROR);
  CHECK_OK(cw_recv_complete(r));
  end_pair(&p);
}

static void streaming_out_of_order(void) {
  static const uint32_t order[] = {5, 0, 7, 2, 1, 6, 3};
  pair p = new_pair();
  come_up(&p);
  cw_recv_handle* r = post(&p, 0, 8 * chunk);
  run(&p, 20 * ms);
  cw_send_handle* s = start(&p);
  for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); ++i) {
    add_chunk(&p, s, order[i], chunk);
    run(&p, 20 * ms);
    CHECK(has_chunk(r, order[i]));
  }
  CHECK(cw_send_stream_end(s) == CW_ERROR); /* chunk 4 is missing */
  CHECK(!has_chunk(r, 4));
  CHECK(recv_info(r).bytes == UINT64_MAX);
  CHECK(send_status(s) == CW_STATUS_OPEN);
  add_chunk(&p, s, 4, chunk);
  CHECK_OK(cw_send_stream_end(s));
  run(&p, 50 * ms);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK(recv_info(r).status == CW_STATUS_DONE);
  CHECK(memcmp(p.source, p.target, 8 * chunk) == 0);
  CHECK_OK(cw_recv_complete(r));
  end_pair(&p);
}

/* Pieces that continue each other are one: a message of 256 chunks needs no 256 pieces. */
static void streaming_in_order(void) {
  pair p = new_pair();
  come_up(&p);
  cw_recv_handle* r = post(&p, 0, buffer_bytes);
  run(&p, 20 * ms);
  cw_send_handle* s = start(&p);
  for (uint32_t i = 0; i < buffer_bytes / chunk; ++i) add_chunk(&p, s, i, chunk);
  CHECK_OK(cw_send_stream_end(s));
  run(&p, 100 * ms);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK(recv_info(r).status == CW_STATUS_DONE);
  CHECK(memcmp(p.source, p.target, buffer_bytes) == 0);
  CHECK_OK(cw_recv_complete(r));
  end_pair(&p);
}

/* The immediate arrives with any message: none, one and three slots have too few for its eight
 * fragments. */
static void immediate_of_any_length(void) {
  static const uint64_t lengths[] = {0, 1, 3 * payload, 100 * payload + 5};
  pair p = new_pair();
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
    const uint32_t imm = 0xdeadbe00u + (uint32_t)i;
    cw_recv_handle* r = post(&p, 0, lengths[i]);
    uint32_t got = 0;
    CHECK(cw_recv_imm_get(r, &got) == CW_RETRY);
    come_up(&p);
    cw_send_handle* s = send_at(&p, 0, lengths[i], &imm);
    run(&p, 60 * ms);
    CHECK(send_status(s) == CW_STATUS_DONE);
    CHECK_OK(cw_recv_imm_get(r, &got));
    CHECK(got == imm);
    CHECK(recv_info(r).status == CW_STATUS_DONE && recv_info(r).bytes == lengths[i]);
    CHECK(memcmp(p.source, p.target, lengths[i]) == 0);
    CHECK_OK(cw_recv_complete(r));
  }
  end_pair(&p);
}

/* Packets of a completed receive find the buffer reused, under the same message id, and must not
 * touch it. */
static void early_completion(void) {
  cw_qp_attr attr = small_chunks();
  attr.messages = 1;
  pair p = new_pair_with(0, attr);
  come_up(&p);
  cw_recv_handle* r = post(&p, 0, buffer_bytes);
  run(&p, 20 * ms);
  cw_send_handle* s = send_at(&p, 0, buffer_bytes, NULL); /* eight milliseconds on the wire */
  run(&p, 7 * ms);
  CHECK(has_chunk(r, 0) && !has_chunk(r, 255));
  CHECK_OK(cw_recv_complete(r));
  memset(p.target, 0xcc, buffer_bytes);
  cw_recv_handle* next = post(&p, 0, buffer_bytes);
  run(&p, 20 * ms);
  CHECK(sim_late_packets(p.receiver) > 100);
  for (size_t i = 0; i < buffer_bytes; ++i) CHECK(p.target[i] == 0xcc);
  CHECK(!has_chunk(next, 0) && recv_info(next).slots_in_place == 0);
  run(&p, 20 * ms);
  CHECK(send_status(s) == CW_STATUS_DONE);
  s = send_at(&p, 0, 2 * chunk, NULL);
  run(&p, 50 * ms);
  CHECK(recv_info(next).status == CW_STATUS_DONE);
  CHECK(memcmp(p.source, p.target, 2 * chunk) == 0 && p.target[2 * chunk] == 0xcc);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK_OK(cw_recv_complete(next));
  end_pair(&p);
}

/* Without repair, holes stay: every set bit is right, and expansion agrees with the bitmap. */
static void bitmap_and_expansion_under_loss(void) {
  pair p = new_pair();
  come_up(&p);
  cw_recv_handle* r = post(&p, 0, buffer_bytes);
  run(&p, 20 * ms);
  sim_set_wire(0.05, 5 * ms);
  cw_send_handle* s = send_at(&p, 0, buffer_bytes, NULL);
  run(&p, 200 * ms);
  uint32_t whole = 0, slots = 0;
  for (uint32_t c = 0; c < buffer_bytes / chunk; ++c) {
    uint64_t bits[2] = {~0ull, ~0ull};
    CHECK_OK(cw_recv_bitmap_chunk_expand(r, c, bits, 2));
    CHECK(bits[0] < 16 && bits[1] == 0);
    CHECK(has_chunk(r, c) == (bits[0] == 15));
    for (uint32_t i = 0; i < 4; ++i) {
      const size_t at = c * chunk + i * payload;
      const int is_set = bits[0] >> i & 1;
      slots += (uint32_t)is_set;
      CHECK(is_set ? memcmp(p.source + at, p.target + at, payload) == 0 : p.target[at] == 0xee);
    }
    whole += (uint32_t)has_chunk(r, c);
  }
  CHECK(whole > 150 && whole < 256 && slots < 1024);
  CHECK(recv_info(r).slots_in_place == slots && recv_info(r).status == CW_STATUS_OPEN);
  CHECK(send_status(s) == CW_STATUS_DONE); /* passthrough: done when sent */
  CHECK_OK(cw_recv_complete(r));
  end_pair(&p);
}

static void long_message_split_and_four_channels_under_loss(void) {
  cw_qp_attr attr = small_chunks();
  attr.message_id_bits = 8, attr.slot_bits = 22, attr.user_bits = 2;
  attr.channels = 4;
  CHECK((attr.policy = cw_policy_find("selective_repeat")) != NULL);
  pair p = new_pair_with(0.02, attr);
  come_up(&p);
  for (uint32_t i = 0; i < 40; ++i) {
    memset(p.target, 0xee, buffer_bytes);
    const uint64_t bytes = 100000 + 20000 * i;
    cw_recv_handle* r = post(&p, 0, bytes);
    cw_send_handle* s = send_at(&p, i, bytes, &i);
    for (int turn = 0; turn < 200 && recv_info(r).status == CW_STATUS_OPEN; ++turn) {
      run(&p, 10 * ms);
    }
    CHECK(recv_info(r).status == CW_STATUS_DONE);
    CHECK(memcmp(p.source + i, p.target, bytes) == 0);
    uint32_t imm = ~i;
    CHECK_OK(cw_recv_imm_get(r, &imm));
    CHECK(imm == i);
    CHECK_OK(cw_recv_complete(r));
    run(&p, 100 * ms);
    CHECK(send_status(s) == CW_STATUS_DONE);
  }
  CHECK(sim_resends(p.sender) > 0);
  end_pair(&p);
}

/* Blocks as the policy's parameters say, which are k, m, m_max, rows: one block a message. */
static void losses_are_rebuilt_by_code(void) {
  const double params[] = {32, 8, 8, 32};
  cw_qp_attr attr = small_chunks();
  CHECK((attr.policy = cw_policy_find("erasure")) != NULL);
  attr.policy_params = params;
  attr.policy_param_count = 4;
  attr.coding = CW_CODING_AS_POLICY;
  pair p = new_pair_with(0.02, attr);
  come_up(&p);
  for (int i = 0; i < 10; ++i) {
    memset(p.target, 0xee, buffer_bytes);
    cw_recv_handle* r = post(&p, 0, buffer_bytes);
    cw_send_handle* s = send_at(&p, 0, buffer_bytes, NULL);
    run(&p, 100 * ms);
    CHECK(send_status(s) == CW_STATUS_DONE);
    CHECK(recv_info(r).status == CW_STATUS_DONE);
    CHECK(memcmp(p.source, p.target, buffer_bytes) == 0);
    CHECK_OK(cw_recv_complete(r));
  }
  CHECK(sim_rebuilt(p.receiver) > 100); /* of 205 lost */
  CHECK(sim_resends(p.sender) < 20);
  end_pair(&p);
}

/* A block need not wait for the end of its message. */
static void a_full_block_is_rebuilt_before_the_message_ends(void) {
  const double params[] = {16, 4, 4, 1};
  cw_qp_attr attr = small_chunks();
  CHECK((attr.policy = cw_policy_find("erasure")) != NULL);
  attr.policy_params = params;
  attr.policy_param_count = 4;
  attr.coding = CW_CODING_AS_POLICY;
  pair p = new_pair_with(0, attr);
  come_up(&p);
  cw_recv_handle* r = post(&p, 0, buffer_bytes);
  run(&p, 20 * ms);
  cw_send_handle* s = start(&p);
  sim_set_wire(0.1, 5 * ms);
  for (uint32_t i = 0; i < 40; ++i) {
    add_chunk(&p, s, i, chunk);
    run(&p, 3 * ms);
  }
  run(&p, 10 * ms);
  CHECK(sim_rebuilt(p.receiver) > 5); /* the message is open still */
  CHECK_OK(cw_send_stream_end(s));
  run(&p, 500 * ms);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK(memcmp(p.source, p.target, 40 * chunk) == 0);
  CHECK_OK(cw_recv_complete(r));
  end_pair(&p);
}

static void cancelled_message_uses_up_its_receive(void) {
  pair p = new_pair();
  come_up(&p);
  cw_recv_handle* first = post(&p, 0, 8 * chunk);
  cw_recv_handle* second = post(&p, 8 * chunk, 8 * chunk);
  run(&p, 20 * ms);
  cw_send_handle* s = start(&p);
  add_chunk(&p, s, 0, chunk);
  run(&p, 20 * ms);
  CHECK_OK(cw_send_cancel(s));
  CHECK(send_status(s) == CW_STATUS_GIVEN_UP);
  run(&p, 50 * ms);
  CHECK(recv_info(first).status == CW_STATUS_GIVEN_UP && has_chunk(first, 0));
  CHECK_OK(cw_recv_complete(first));
  s = send_at(&p, 0, 8 * chunk, NULL);
  run(&p, 50 * ms);
  CHECK(recv_info(second).status == CW_STATUS_DONE);
  CHECK(memcmp(p.source, p.target + 8 * chunk, 8 * chunk) == 0);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK_OK(cw_recv_complete(second));
  end_pair(&p);
}

/* Which messages wait for a peer that has gone, and how the two meet again. */
static void peer_restarts(void) {
  cw_qp_attr attr = small_chunks();
  attr.policy = cw_policy_find("selective_repeat");
  pair p = new_pair_with(0, attr);
  come_up(&p);
  cw_recv_handle* r = post(&p, 0, buffer_bytes);
  run(&p, 20 * ms);
  cw_send_handle* s = start(&p);
  add_chunk(&p, s, 0, chunk);
  run(&p, 20 * ms);
  cw_context_destroy(p.sender);
  run(&(pair){.receiver = p.receiver}, 20 * ms);
  CHECK(!cw_context_is_up(p.receiver));
  CHECK(recv_info(r).status == CW_STATUS_PEER_LOST);
  CHECK(p.target[0] == p.source[0]);
  CHECK_OK(cw_recv_complete(r));

  CHECK((p.sender = new_context("sim:0", 99)) != NULL);
  CHECK((p.to = cw_qp_create(p.sender, &attr)) != NULL);
  p.source_mr = cw_mr_reg(p.sender, p.source, buffer_bytes, CW_ACCESS_LOCAL);
  p.lkey = cw_mr_lkey_get(p.source_mr);
  r = post(&p, 0, buffer_bytes);
  come_up(&p);
  s = send_at(&p, 0, buffer_bytes, NULL);
  run(&p, 7 * ms);

  /* Now the other one goes, without a word. */
  sim_set_wire(1.0, 5 * ms);
  cw_context_destroy(p.receiver);
  sim_set_wire(0, 5 * ms);
  CHECK((p.receiver = new_context("sim:1", 100)) != NULL);
  CHECK((p.from = cw_qp_create(p.receiver, &attr)) != NULL);
  p.target_mr = cw_mr_reg(p.receiver, p.target, buffer_bytes, CW_ACCESS_REMOTE_WRITE);
  p.rkey = cw_mr_lkey_get(p.target_mr);
  r = post(&p, 0, buffer_bytes);
  run(&p, 3000 * ms);
  come_up(&p);
  CHECK(send_status(s) == CW_STATUS_PEER_LOST);
  memset(p.target, 0, buffer_bytes);
  s = send_at(&p, 0, buffer_bytes, NULL);
  run(&p, 200 * ms);
  CHECK(recv_info(r).status == CW_STATUS_DONE);
  CHECK(memcmp(p.source, p.target, buffer_bytes) == 0);
  CHECK(send_status(s) == CW_STATUS_DONE);
  CHECK_OK(cw_recv_complete(r));
  end_pair(&p);
}

/* All places taken, then free again: RETRY is not an error, and ids are reused many times over. */
static void places_run_out_and_come_back(void) {
  enum { messages = 4, rounds = 50 };
  cw_qp_attr attr = small_chunks();
  attr.messages = messages;
  pair p = new_pair_with(0, attr);
  cw_send_handle* s[messages + 1];
  cw_recv_handle* r[messages + 1];
  const cw_send_wr wr = {.lkey = p.lkey, .address = p.source, .length = chunk};
  const cw_recv_wr to = {.address = p.target, .max_length = chunk, .lkey = p.rkey};
  CHECK(cw_send_post(p.to, &wr, &s[0]) == CW_RETRY); /* the link is down */
  come_up(&p);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < messages; ++i) CHECK_OK(cw_recv_post(p.from, &to, &r[i]));
    CHECK(cw_recv_post(p.from, &to, &r[messages]) == CW_RETRY);
    for (int i = 0; i < messages; ++i) CHECK_OK(cw_send_post(p.to, &wr, &s[i]));
    CHECK(cw_send_post(p.to, &wr, &s[messages]) == CW_RETRY);
    run(&p, 50 * ms);
    for (int i = 0; i < messages; ++i) {
      CHECK(recv_info(r[i]).status == CW_STATUS_DONE);
      CHECK_OK(cw_recv_complete(r[i]));
      CHECK(cw_recv_complete(r[i]) == CW_ERROR);
    }
    run(&p, 20 * ms);
    for (int i = 0; i < messages; ++i) CHECK(send_status(s[i]) == CW_STATUS_DONE);
  }
  end_pair(&p);
}

#define STORY(name) {#name, name}
int main(int count, char** names) {
  static const struct {
    const char* name;
    void (*tell)(void);
  } stories[] = {
      STORY(one_shot),
      STORY(streaming_out_of_order),
      STORY(streaming_in_order),
      STORY(immediate_of_any_length),
      STORY(early_completion),
      STORY(bitmap_and_expansion_under_loss),
      STORY(long_message_split_and_four_channels_under_loss),
      STORY(losses_are_rebuilt_by_code),
      STORY(a_full_block_is_rebuilt_before_the_message_ends),
      STORY(cancelled_message_uses_up_its_receive),
      STORY(peer_restarts),
      STORY(places_run_out_and_come_back),
  };
  for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); ++i) {
    if (count > 1 && !strstr(names[1], stories[i].name)) continue;
    printf("%s\n", stories[i].name);
    fflush(stdout);
    stories[i].tell();
  }
  return 0;
}
