/* Groups: operations that many members do together over multicast, for C programs. What one member
 * sends leaves it once, and what another one lacks it fetches from any that has it. After
 * arXiv 2408.13356; the wire is the project's own (SPEC.md 18).
 *
 *   each member
 *   cw_group_create("udp:239.7.7.7", &attr)     turn until cw_group_is_up()
 *   cw_broadcast(group, &wr, &request)          all post the same, in the same order
 *   cw_request_poll(request, &info)             readable: all is here; done: all have all
 *   cw_request_release(request)                 the memory is the program's again
 *
 * Progress is the caller's: nothing moves but inside cw_group_turn(). Everything that belongs to
 * one group is used by one thread at a time. Calls never wait. Memory is allocated when a group is
 * created; never while operations run.
 *
 * A group that has failed is over: every open and later operation fails with the same sentence
 * (cw_group_why()), at all members; those that are left make another one (cw_group_shrink()). A
 * member that is asked by others answers inside its turns: one that goes right after its last
 * operation may leave some behind that have not heard that it is done, so turn for a while.
 *
 * Returns, handles, attribute structs: as sdr.h has them. */
#ifndef CW_COLLECTIVE_H
#define CW_COLLECTIVE_H

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

typedef struct cw_group cw_group;
typedef struct cw_request cw_request;

enum { CW_GROUP_OPERATIONS = 4 /* posted and not yet released, at most */ };

typedef struct cw_group_attr {
  uint32_t size;    /* sizeof(cw_group_attr) */
  uint32_t rank;    /* ours, below members */
  uint32_t members; /* 1 to 16384 */
  uint32_t chains;  /* members that send at the same time in an allgather, at most 8; 0: as many
                       as hide what it takes to hand over the turn */
  const char* const* addresses; /* of all members by rank, as the device has them; null: their
                                   ranks in decimal, for devices that number members */
  const uint16_t* sites;        /* by rank, from 0 on: who is near whom; null: all are */
  const void* key;              /* shared secret of the group, at least 16 bytes */
  size_t key_bytes;
  uint64_t bytes_max;     /* of the memory that one operation fills, at most; not 0 */
  uint64_t rate_bps;      /* that this member can send and receive; the lowest of all members
                             holds. 0: the device's own */
  uint64_t deadline_ns;   /* by when what one member posts is posted by all; 0: 30 s */
  uint64_t seed;          /* 0: keys that nobody can guess; else as cw_device_attr has it */
  uint64_t sum_bytes_max; /* of a part that is added up; 0: no operation adds up */
  uint32_t payload_bytes; /* of one slot, the lowest of all members holds; 0: the most that the
                             device takes */
  uint32_t algorithm;     /* enum cw_group_algorithm */
} cw_group_attr;

/* How what all come to have spreads. All but multicast are for networks without it. */
enum cw_group_algorithm {
  CW_GROUP_MULTICAST = 0,
  CW_GROUP_UNICAST = 1, /* a tree for a broadcast of 64 KiB at most, else what a ring is */
  CW_GROUP_RING = 2,    /* each to the next rank */
  CW_GROUP_TREE = 3     /* binomial, of a broadcast */
};

/* Opens `device` ("kind:rest") as one member of a group. Addresses, sites, chains, algorithm and
 * both bounds of bytes must be the same at all members. Returns null on error. */
CW_API cw_group* cw_group_create(const char* device, const cw_group_attr* attr);
/* Frees the group and its requests at once; others find it silent. Null is fine. */
CW_API void cw_group_destroy(cw_group*);
/* For those that are left of a group that has failed: destroys it and returns one without the
 * member `rank`, for which all of them call this. Who stood behind it is one rank lower. Null on
 * error; the old group is then still there if the rank was none, else it is gone. */
CW_API cw_group* cw_group_shrink(cw_group*, uint32_t rank);

/* As cw_context_turn(), cw_context_idle_ns() and cw_context_fd(). */
CW_API int cw_group_turn(cw_group*);
CW_API int64_t cw_group_idle_ns(cw_group*);
CW_API int cw_group_fd(const cw_group*);
/* 1 once all members have joined, until the group fails; else 0, and cw_group_why() says what is
 * missing or has happened. Of a group that is up it says what a person should look after, such as
 * that nothing comes by multicast; empty: nothing. The sentence stays until the next call. */
CW_API int cw_group_is_up(const cw_group*);
CW_API const char* cw_group_why(cw_group*);
/* Of a full slot, once the group is up; before that 0. */
CW_API uint32_t cw_group_payload_bytes(const cw_group*);

enum cw_element { CW_ELEMENT_NONE = 0, CW_ELEMENT_F32 = 1, CW_ELEMENT_BF16 = 2 };

typedef struct cw_coll_wr {
  uint32_t size;     /* sizeof(cw_coll_wr) */
  uint32_t root;     /* the source of a broadcast; else 0 */
  uint32_t element;  /* enum cw_element, of what is added up; else none */
  uint32_t reserved; /* 0 */
  uint64_t bytes;    /* of one part; 0: nothing is sent, and all wait for each other */
  void* address;     /* the memory that comes to be the same at all members */
  const void* input; /* what we have for each member, by rank; of what is added up */
  void* output;      /* where the sum of what all have for us comes to lie */
} cw_coll_wr;

/* All members post the same operations in the same order; what differs fails at both ends, with a
 * sentence. The memory is the group's until the request has been released. CW_RETRY before the
 * group is up and while CW_GROUP_OPERATIONS are posted.
 *
 * broadcast       address: `bytes`, the root's at all members
 * allgather       address: members x `bytes`, each one's part by rank; the own one is there
 * reduce-scatter  input: members x `bytes`; output: `bytes`. Sums are made in f32 and in one order,
 *                 so that they are the same to the bit in every run; bf16 is rounded once
 * both at once    all of these, as sharded training does them side by side
 * barrier         nothing: over when all have posted it */
CW_API int cw_broadcast(cw_group*, const cw_coll_wr*, cw_request**);
CW_API int cw_allgather(cw_group*, const cw_coll_wr*, cw_request**);
CW_API int cw_reduce_scatter(cw_group*, const cw_coll_wr*, cw_request**);
CW_API int cw_allgather_reduce_scatter(cw_group*, const cw_coll_wr*, cw_request**);
CW_API int cw_barrier(cw_group*, cw_request**);

enum cw_request_status {
  CW_REQUEST_OPEN = 0,
  CW_REQUEST_READABLE = 1, /* all is here, and others may still fetch it from here */
  CW_REQUEST_DONE = 2,     /* all members have all */
  CW_REQUEST_FAILED = 3    /* cw_group_why() */
};

typedef struct cw_request_info {
  int32_t status;       /* enum cw_request_status */
  uint32_t is_readable; /* 1: all is here, whatever became of others */
  uint32_t slots;       /* of all parts */
  uint32_t in_place;    /* of these, here */
  uint32_t fetched;     /* of those, because they had been missing */
  uint32_t reserved;
} cw_request_info;
CW_API int cw_request_poll(cw_request*, cw_request_info*);

/* Bit s of byte s / 8 (lowest first) is set when slot s is in place. A part has ceil(bytes /
 * payload) slots, parts follow each other by rank. Live until the request is released; empty where
 * nothing comes to be the same at all members. */
CW_API int cw_request_bitmap_get(cw_request*, const uint8_t** bitmap, size_t* bytes);

/* Gives the request back once it is done or has failed, and its memory with it: CW_RETRY before
 * that, and as long as packets still name the memory. Required for every request. */
CW_API int cw_request_release(cw_request*);

#ifdef __cplusplus
}
#endif

#endif
