/* Messages between any two members of a group, over one queue pair at each, for C programs. Their
 * packets are datagrams that lie where they belong as they come, by several paths; which of them
 * are lost is said at the receiver, by a policy that knows how far the step has come of which the
 * message is a part. After CSA-UD (arXiv 2606.20582), of which the abstract is public: what is here
 * is the project's own, and so is the wire (SPEC.md 18.15).
 *
 *   each member
 *   cw_mesh_create("udp:239.7.7.7", &attr)   turn until cw_mesh_is_up()
 *   cw_mesh_recv(mesh, &recv_wr, NULL)       for what another one is to send
 *   cw_mesh_send(mesh, &send_wr, NULL)
 *   cw_mesh_poll(mesh, completions, count)   one for each post; its memory is the program's again
 *
 * Matching is by order: what a member sends another as the i-th message lands in the i-th receive
 * that this one posts for it. Both say the same step and the same number of bytes; what differs is
 * over at both ends, with a status that says so. Those with CW_MESH_FOR_POOL take memory of a pool
 * as they come, and count apart. A receive is best posted before its message comes: what comes
 * earlier is thrown away, and sent again once the policy has found out.
 *
 * Progress is the caller's: nothing moves but inside cw_mesh_turn(). Everything that belongs to one
 * mesh is used by one thread at a time. Calls never wait. Memory is allocated when a mesh is
 * created, for each receive a bit a slot of bytes_max; never while messages travel.
 *
 * A member that is silent ends its own messages, by their deadlines, and nothing else. That one has
 * begun anew is seen by rank 0, whose mesh is over then: what is open there ends, later posts are
 * errors with the same sentence (cw_mesh_why()), and members make another one. Who goes right after
 * its last completion may leave some behind that have not heard that theirs is whole, so turn for a
 * while.
 *
 * Returns, attribute structs: as sdr.h has them. */
#ifndef CW_MESSAGES_H
#define CW_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As sdr.h has it. */
#ifndef CW_API
#define CW_API __attribute__((visibility("default")))
enum { CW_SUCCESS = 0, CW_ERROR = 1, CW_RETRY = 2 };
/* The sentence that goes with the last CW_ERROR (or null) of this thread; never null. */
CW_API const char* cw_last_error(void);
#endif

typedef struct cw_mesh cw_mesh;
struct cw_policy_ops; /* policy.h */

enum { CW_MESH_PAIR_OPEN = 64 /* messages from one member to another, for the pool or not */ };

typedef struct cw_mesh_attr {
  uint32_t size;                /* sizeof(cw_mesh_attr) */
  uint32_t rank;                /* ours, below members */
  uint32_t members;             /* 1 to 16384 */
  uint32_t payload_bytes;       /* of one slot, the lowest of all members holds; 0: the most that
                                   the device takes */
  const char* const* addresses; /* of all members by rank, as the device has them; null: their
                                   ranks in decimal, for devices that number members */
  const uint16_t* sites;        /* by rank, from 0 on: who is near whom; null: all are */
  const void* key;              /* shared secret of the group, at least 16 bytes */
  size_t key_bytes;
  uint64_t seed;         /* 0: keys that nobody can guess; else as cw_device_attr has it */
  uint64_t rate_bps;     /* that this member can send and receive; the lowest of all members holds.
                            0: the device's own */
  uint64_t bytes_max;    /* of a message, at most; not 0 */
  uint64_t pool_bytes;   /* of each memory that is posted for whoever comes; 0: there is no pool */
  uint32_t sends_max;    /* posted and not yet polled, at most 65534; 0: 256 */
  uint32_t receives_max; /* likewise, memory in the pool included */
  uint64_t deadline_ns;  /* of a message that is posted without one; 0: 10 s */
  uint64_t reorder_ns;   /* by how much a packet may overtake another, at most a second;
                            0: 100 us */
  uint32_t paths;        /* that packets take in turn, at most; 0: all that the device has */
  uint32_t policy_param_count;        /* how many policy_params there are */
  const struct cw_policy_ops* policy; /* one that serves endpoints, cw_policy_find() of sdr.h; null:
                                         "csa_ud", or where there is none what asks for nothing */
  const double* policy_params;        /* in the order declared; those left out are the defaults */
} cw_mesh_attr;

/* Opens `device` ("kind:rest", of those for groups) as one member. Addresses, sites and bytes_max
 * must be the same at all members. Returns null on error. */
CW_API cw_mesh* cw_mesh_create(const char* device, const cw_mesh_attr* attr);
/* Frees it at once, and all memory that was posted is the program's; others find it silent. Null is
 * fine. */
CW_API void cw_mesh_destroy(cw_mesh*);

/* As cw_context_turn(), cw_context_idle_ns() and cw_context_fd(). */
CW_API int cw_mesh_turn(cw_mesh*);
CW_API int64_t cw_mesh_idle_ns(cw_mesh*);
CW_API int cw_mesh_fd(const cw_mesh*);
/* 1 once all members have joined, until it is over; else 0, and cw_mesh_why() says what is missing
 * or has happened. The sentence stays until the next call; empty: it is up. */
CW_API int cw_mesh_is_up(const cw_mesh*);
CW_API const char* cw_mesh_why(cw_mesh*);
/* Of a full slot, once it is up; before that 0. */
CW_API uint32_t cw_mesh_payload_bytes(const cw_mesh*);

/* ---- posts ---- */

/* Names a post until its completion; never 0. */
typedef uint64_t cw_mesh_ticket;

enum {
  CW_MESH_LAST = 1,    /* the last message of its step for this receiver */
  CW_MESH_FOR_POOL = 2 /* its receiver has posted memory for whoever comes */
};

typedef struct cw_mesh_send_wr {
  uint32_t size;  /* sizeof(cw_mesh_send_wr) */
  uint32_t to;    /* the rank of its receiver, not our own */
  uint32_t step;  /* of a collective operation, by any number of the program's */
  uint32_t flags; /* of CW_MESH_ */
  const void* address;
  uint64_t bytes;       /* at least one */
  uint64_t step_bytes;  /* for this receiver in the step, in all messages; 0: not known */
  uint64_t deadline_ns; /* from now on, by when it is given up, at most a day; 0: the mesh's */
  uint64_t cookie;      /* the program's own, back with the completion */
} cw_mesh_send_wr;

typedef struct cw_mesh_recv_wr {
  uint32_t size;     /* sizeof(cw_mesh_recv_wr) */
  uint32_t from;     /* the rank of its sender, not our own */
  uint32_t step;     /* as the sender says */
  uint32_t reserved; /* 0 */
  void* address;
  uint64_t bytes;       /* exactly those of the message */
  uint64_t deadline_ns; /* as of a send */
  uint64_t cookie;
} cw_mesh_recv_wr;

/* The memory is the mesh's until the completion. `ticket` may be null. CW_RETRY before the mesh is
 * up, while as many are posted and not polled as there may be, and while CW_MESH_PAIR_OPEN between
 * both members are open. */
CW_API int cw_mesh_send(cw_mesh*, const cw_mesh_send_wr*, cw_mesh_ticket* ticket);
CW_API int cw_mesh_recv(cw_mesh*, const cw_mesh_recv_wr*, cw_mesh_ticket* ticket);
/* pool_bytes of memory for a message of whoever sends one with CW_MESH_FOR_POOL; which one takes
 * what memory is not said before the completion. What has been taken has the mesh's deadline; what
 * nobody takes stays until cw_mesh_destroy(). CW_RETRY while receives_max are posted. */
CW_API int cw_mesh_post_pool(cw_mesh*, void* address, uint64_t cookie);
/* Gives a post up; its completion comes. Of one that is over already this does nothing. The other
 * end is told, and has perhaps got all of it by then. */
CW_API int cw_mesh_cancel(cw_mesh*, cw_mesh_ticket ticket);

/* ---- ends ---- */

enum cw_mesh_status {
  CW_MESH_WHOLE = 0,       /* every byte lies at the receiver */
  CW_MESH_CANCELLED = 1,   /* given up by cw_mesh_cancel() */
  CW_MESH_LATE = 2,        /* its deadline is over, or its policy has given it up */
  CW_MESH_UNKNOWN = 3,     /* one end does not know any more what has become of it */
  CW_MESH_UNLIKE_STEP = 4, /* both ends have posted it, in different steps */
  CW_MESH_UNLIKE_SIZE = 5  /* or with different numbers of bytes */
};

/* Keeps its size for as long as the library keeps its number, since it travels in arrays. */
typedef struct cw_mesh_completion {
  uint64_t cookie;
  uint64_t bytes; /* of the message */
  uint32_t peer;  /* the rank at the other end */
  uint32_t step;
  uint32_t message;         /* which one of its sender's to its receiver, from 1 on */
  int32_t status;           /* enum cw_mesh_status */
  uint32_t is_send;         /* 1: of a send */
  uint32_t is_of_pool;      /* 1: of those with CW_MESH_FOR_POOL, which count apart */
  uint32_t is_of_other_end; /* 1: that one has given it up */
  uint32_t reserved;
} cw_mesh_completion;

/* Fills in at most `capacity` of those that have ended, the oldest first. Returns how many; -1 for
 * misuse. */
CW_API int cw_mesh_poll(cw_mesh*, cw_mesh_completion* out, int capacity);
/* A sentence for a person; never null. */
CW_API const char* cw_mesh_status_text(int status);

#ifdef __cplusplus
}
#endif

#endif
