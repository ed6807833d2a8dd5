#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/collective/sdk/collective.h" /* installed: <causeway/collective.h> */

enum { part = 1 << 20 };

/* Turns the group, and waits while there is nothing to do, until it is done or time is over. */
static int turn_until(cw_group* group, int (*is_over)(void*), void* what, int most_ms) {
  for (int waited_ms = 0; waited_ms < most_ms; ++waited_ms) {
    for (int turns = 0; turns < 1000; ++turns) {
      if (is_over(what)) return 1;
      if (cw_group_turn(group) == 0 && cw_group_idle_ns(group) > 100000) break;
    }
    struct pollfd ready = {cw_group_fd(group), POLLIN, 0};
    if (cw_group_idle_ns(group) > 100000) poll(&ready, 1, 1);
  }
  return 0;
}

static int is_up(void* group) { return cw_group_is_up(group); }
static int is_done(void* request) {
  cw_request_info info;
  return cw_request_poll(request, &info) != CW_SUCCESS || info.status >= CW_REQUEST_DONE;
}
static int never(void* nothing) { return nothing != NULL; }

/* Of each member: example DEVICE RANK ADDRESS... , as in
 * example udp:239.7.7.7,interface=eth0 0 192.0.2.1 192.0.2.2 192.0.2.3 */
int main(int count, char** arguments) {
  if (count < 5) return fprintf(stderr, "example DEVICE RANK ADDRESS ADDRESS...\n"), 2;
  const uint32_t members = (uint32_t)count - 3, rank = (uint32_t)atoi(arguments[2]);
  const char key[] = "a secret that all members share";
  const cw_group_attr attr = {.size = sizeof(attr),
                              .rank = rank,
                              .members = members,
                              .addresses = (const char* const*)arguments + 3,
                              .key = key,
                              .key_bytes = sizeof(key),
                              .bytes_max = (uint64_t)members * part,
                              .rate_bps = 1000000000};
  cw_group* group = cw_group_create(arguments[1], &attr);
  if (!group) return fprintf(stderr, "%s\n", cw_last_error()), 1;
  if (!turn_until(group, is_up, group, 30000))
    return fprintf(stderr, "%s\n", cw_group_why(group)), 1;

  uint8_t* all = malloc((size_t)members * part);
  memset(all + (size_t)rank * part, (int)rank + 1, part);
  const cw_coll_wr wr = {.size = sizeof(wr), .address = all, .bytes = part};
  cw_request* request;
  if (cw_allgather(group, &wr, &request)) return fprintf(stderr, "%s\n", cw_last_error()), 1;
  turn_until(group, is_done, request, 30000);
  size_t right = 0;
  for (size_t i = 0; i < (size_t)members * part; ++i) right += all[i] == i / part + 1;
  printf("rank %u has %zu bytes of %u members %s\n", rank, right, members, cw_group_why(group));
  turn_until(group, never, NULL, 500); /* others may not have heard that all is done */
  while (cw_request_release(request) == CW_RETRY) cw_group_turn(group);
  cw_group_destroy(group);
  free(all);
  return right != (size_t)members * part;
}
