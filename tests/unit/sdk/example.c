#include <stdio.h>
#include <string.h>

#include "dataplane/sdr/sdr.h" /* installed: <causeway/sdr.h> */

static cw_context* open_end(const char* device, cw_qp** qp) {
  const char key[] = "a secret that both ends share";
  const cw_device_attr attr = {.size = sizeof(attr), .key = key, .key_bytes = sizeof(key)};
  const cw_qp_attr qp_attr = {.size = sizeof(qp_attr),
                              .policy = cw_policy_find("selective_repeat")};
  cw_context* context = cw_context_create(device, &attr);
  *qp = cw_qp_create(context, &qp_attr);
  return context;
}

int main(void) {
  static char from[1 << 20] = "hello, other side", to[1 << 20];
  cw_qp *out, *in;
  cw_context *a = open_end("sim:0", &out), *b = open_end("sim:1", &in);
  if (!out || !in) return fprintf(stderr, "%s\n", cw_last_error()), 1;
  cw_mr* source = cw_mr_reg(a, from, sizeof(from), CW_ACCESS_LOCAL);
  cw_mr* target = cw_mr_reg(b, to, sizeof(to), CW_ACCESS_REMOTE_WRITE);

  cw_recv_handle* recv;
  cw_recv_post(in, &(cw_recv_wr){to, sizeof(to), cw_mr_lkey_get(target), 0}, &recv);
  const cw_send_wr wr = {.lkey = cw_mr_lkey_get(source), .address = from, .length = sizeof(from)};
  cw_send_handle* send = NULL;
  cw_recv_info info = {0};
  while (info.status == CW_STATUS_OPEN) { /* a set bit of cw_recv_bitmap_get() may be used before */
    cw_context_turn(a), cw_context_turn(b);
    if (!send && cw_send_post(out, &wr, &send) == CW_ERROR) return puts(cw_last_error()), 1;
    cw_recv_poll(recv, &info);
  }
  const int is_same = memcmp(from, to, sizeof(to)) == 0;
  printf("%llu bytes: %s\n", (unsigned long long)info.bytes, is_same ? to : "something else");
  cw_recv_complete(recv);
  cw_context_destroy(a), cw_context_destroy(b);
  return !is_same;
}
