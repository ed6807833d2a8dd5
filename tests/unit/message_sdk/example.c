#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dataplane/message/sdk/messages.h" /* installed: <causeway/messages.h> */

enum { part = 1 << 20, step = 1 };
static const char key[] = "a secret that all members share";

/* Gives the mesh its turn, and waits for at most a millisecond while there is nothing to do. */
static void turn(cw_mesh* mesh) {
  struct pollfd ready = {cw_mesh_fd(mesh), POLLIN, 0};
  if (cw_mesh_turn(mesh) == 0 && cw_mesh_idle_ns(mesh) > 100000) poll(&ready, 1, 1);
}

/* Of each member: example DEVICE RANK ADDRESS... , as in
 * example udp:239.7.7.7,interface=eth0 0 192.0.2.1 192.0.2.2 192.0.2.3 */
int main(int count, char** arguments) {
  if (count < 5) return fprintf(stderr, "example DEVICE RANK ADDRESS ADDRESS...\n"), 2;
  const uint32_t members = (uint32_t)count - 3, rank = (uint32_t)atoi(arguments[2]);
  cw_mesh_attr attr = {.size = sizeof(attr), .rank = rank, .members = members, .key = key};
  attr.addresses = (const char* const*)arguments + 3;
  attr.key_bytes = sizeof(key), attr.bytes_max = part, attr.rate_bps = 1000000000;
  attr.sends_max = attr.receives_max = members;
  cw_mesh* mesh = cw_mesh_create(arguments[1], &attr);
  if (!mesh) return fprintf(stderr, "%s\n", cw_last_error()), 1;
  uint8_t *ours = malloc((size_t)members * part), *theirs = calloc(members, part);
  memset(ours, (int)rank + 1, (size_t)members * part);
  for (const time_t end = time(NULL) + 30; !cw_mesh_is_up(mesh); turn(mesh))
    if (time(NULL) > end) return fprintf(stderr, "%s\n", cw_mesh_why(mesh)), 1;

  /* First what is to come, then what goes; each member begins with another one. */
  for (uint32_t i = 1; i < members; ++i) {
    cw_mesh_recv_wr wr = {.size = sizeof(wr), .from = (rank + i) % members, .step = step};
    wr.address = theirs + (size_t)wr.from * part, wr.bytes = part;
    if (cw_mesh_recv(mesh, &wr, NULL)) return fprintf(stderr, "%s\n", cw_last_error()), 1;
  }
  for (uint32_t i = 1; i < members; ++i) {
    cw_mesh_send_wr wr = {.size = sizeof(wr), .to = (rank + i) % members, .step = step};
    wr.address = ours + (size_t)wr.to * part, wr.bytes = part;
    wr.step_bytes = part, wr.flags = CW_MESH_LAST; /* there is no more for this one */
    if (cw_mesh_send(mesh, &wr, NULL)) return fprintf(stderr, "%s\n", cw_last_error()), 1;
  }
  cw_mesh_completion ended;
  for (uint32_t open = 2 * (members - 1); open > 0; turn(mesh))
    for (; cw_mesh_poll(mesh, &ended, 1) == 1; --open)
      if (ended.status) printf("rank %u: %s\n", ended.peer, cw_mesh_status_text(ended.status));

  size_t right = 0;
  for (size_t i = 0; i < (size_t)members * part; ++i) right += theirs[i] == i / part + 1;
  printf("rank %u has %zu bytes of %u members\n", rank, right, members);
  for (const time_t end = time(NULL) + 1; time(NULL) <= end;) turn(mesh); /* others may ask */
  cw_mesh_destroy(mesh);
  free(ours), free(theirs);
  return right != (size_t)(members - 1) * part;
}
