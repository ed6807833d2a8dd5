/* The SDK: unreliable RDMA writes whose receive buffer carries a bitmap of what has arrived, with
 * reliability as a policy on top. Plain C. After Table 1 of SDR-RDMA (arXiv 2505.05366); the prefix
 * sdr_ of the paper's calls is cw_ here. The paper's qp_info_get and qp_connect have no
 * counterpart: the two ends exchange what they must know by themselves.
 *
 *   receiver                                     sender
 *   cw_recv_post(qp, wr, &r)   -- credit -->     cw_send_post(qp, wr, &s)      one shot, or
 *   cw_recv_bitmap_get(r, ...)                   cw_send_stream_start / _continue / _end
 *   ... a set bit: that chunk is in place        cw_send_poll(s, ...)
 *   cw_recv_complete(r)
 *
 * Matching is by order: the i-th send of a QP lands in the i-th posted receive. A receive may be
 * completed early, with holes; what arrives for it later is counted and thrown away.
 *
 * Progress is the caller's: nothing moves but inside cw_context_turn(). Everything that belongs to
 * one context is used by one thread at a time. Calls never wait. Memory is allocated when contexts
 * and QPs are created, and when a link comes up; never while messages travel.
 *
 * Returns: CW_SUCCESS; CW_RETRY when something is short just now (try again after a turn); CW_ERROR
 * for misuse, and cw_last_error() then says what was wrong, in a sentence. A handle that was given
 * back is told from a living one and is misuse too; nothing of a context may be used after
 * cw_context_destroy().
 *
 * Every attribute struct begins with its size, so that a program may be older than its library;
 * fields that it does not know count as zero. */
#ifndef CW_SDR_H
#define CW_SDR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As collective.h has it. */
#ifndef CW_API
#define CW_API __attribute__((visibility("default")))
enum { CW_SUCCESS = 0, CW_ERROR = 1, CW_RETRY = 2 };
/* The sentence that goes with the last CW_ERROR (or null) of this thread; never null. */
CW_API const char* cw_last_error(void);
#endif

typedef struct cw_context cw_context;
typedef struct cw_qp cw_qp;
typedef struct cw_mr cw_mr;
typedef struct cw_send_handle cw_send_handle;
typedef struct cw_recv_handle cw_recv_handle;
struct cw_policy_ops; /* policy.h */

/* ---- set-up ---- */

typedef struct cw_device_attr {
  uint32_t size;          /* sizeof(cw_device_attr) */
  uint32_t qps_max;       /* QPs of this context, at most 64; 0: 8 */
  uint32_t regions_max;   /* memory regions registered at once, at most 65536; 0: 256 */
  uint32_t payload_bytes; /* of one packet, equal at both ends; 0: the most the device takes */
  uint64_t rate_bps;      /* what the pacer keeps to; 0: the device's own */
  const void* key;        /* shared secret of the pair, at least 16 bytes */
  size_t key_bytes;
  uint64_t seed; /* 0: keys that nobody can guess; else reproducible, for simulation only, and
                    different at the two ends */

  /* Behind here since version 2 of this struct. */
  uint32_t offload;          /* enum cw_offload */
  uint32_t offload_count;    /* cores, or threads of the DPA, at most 16; 0: 1 */
  const int* offload_cores;  /* offload_count of them, by number; null: wherever the system likes */
  uint64_t offload_stall_ns; /* who takes nothing for so long is left; 0: 50 ms */
} cw_device_attr;

/* Who turns packets that the device has placed into bits. Packets go by their channel: a QP needs
 * as many as there are cores or threads. Where the turn copies payload it has the bits as well, and
 * anything but CW_OFFLOAD_TURN is an error. */
enum cw_offload {
  CW_OFFLOAD_TURN = 0,  /* cw_context_turn() itself */
  CW_OFFLOAD_CORES = 1, /* threads, each on a core of its own */
  CW_OFFLOAD_DPA = 2    /* the threads of a DPA, if the program or the library has one */
};

/* Opens `device` ("kind:rest"; which kinds there are is the program's or the library's choice). One
 * context is one end of one link. Returns null on error. */
CW_API cw_context* cw_context_create(const char* device, const cw_device_attr* attr);
/* Frees everything of the context, its QPs and handles included, and tells the other end if a
 * packet can leave at once; otherwise it learns when a successor appears. Null is fine. */
CW_API void cw_context_destroy(cw_context*);

/* Runs one turn: takes what has arrived, gives every policy its facts, sends what the pacer lets
 * go. Returns 1 if anything moved, 0 if not, -1 for a null context. */
CW_API int cw_context_turn(cw_context*);
/* How long the caller may wait before the next turn if nothing arrives: 0 not at all, INT64_MAX for
 * ever. The caller is then expected to wait; a longer absence counts as a pause of the machine, for
 * which no timer of a message runs. */
CW_API int64_t cw_context_idle_ns(cw_context*);
/* Readable when something has arrived; -1: the device has no such thing, so turn often. */
CW_API int cw_context_fd(const cw_context*);
/* 1 once both ends have proven themselves and agree; else 0, and cw_context_why() says what is
 * missing (a sentence that names a differing setting on both sides). */
CW_API int cw_context_is_up(const cw_context*);
CW_API const char* cw_context_why(cw_context*);

/* Empty as long as those who were asked for turn packets into bits. Else a sentence for each that
 * stood still or told what cannot be: the turn does its work from then on, and nothing is lost. */
CW_API const char* cw_context_offload_why(cw_context*);

/* A policy by its name, as the program or the library comes with; null when there is none. */
CW_API const struct cw_policy_ops* cw_policy_find(const char* name);

typedef struct cw_qp_attr {
  uint32_t size;              /* sizeof(cw_qp_attr) */
  uint32_t number;            /* which QP of the link; the same at both ends, below qps_max */
  uint32_t messages;          /* posted or in flight at once, a power of two; 0: 16 */
  uint32_t chunk_bytes;       /* one bit of the bitmap; a multiple of the payload; 0: 16 payloads */
  uint64_t message_bytes_max; /* 0: 8 MiB */
  uint8_t message_id_bits;    /* the split of the 32-bit immediate; 0/0/0: 10, 18, 4 */
  uint8_t slot_bits;
  uint8_t user_bits;
  uint8_t channels;                   /* transport QPs side by side, at most 16; 0: 1 */
  uint8_t generations;                /* lives of a message id told apart: 1, 2 or 4; 0: 4 */
  uint8_t send_enable, recv_enable;   /* both 0: both on */
  uint8_t reserved;                   /* 0 */
  uint32_t pieces_max;                /* of a streamed message, see below; 0: 64 */
  uint32_t policy_param_count;        /* how many policy_params there are */
  const struct cw_policy_ops* policy; /* null: the fallback, which repairs nothing */
  const double* policy_params;        /* in the order declared; those left out are the defaults */

  /* Behind here since version 2 of this struct. */
  uint32_t coding;       /* enum cw_coding */
  uint32_t reserved_2;   /* 0 */
  uint64_t block_age_ns; /* a block of a streamed message that has waited so long is closed as it
                            is; 0: when it is full, or its message ends */
} cw_qp_attr;

/* Without blocks a policy that codes only resends. With them its parameters say what blocks look
 * like (k, m, rows, codec), and so must be the same at both ends, and a message must be able to
 * hold one block. Repair slots take memory and slot bits besides the data's. */
enum cw_coding {
  CW_CODING_NONE = 0,
  CW_CODING_AS_POLICY = 1 /* as the policy asks; an error under one that does not code */
};

/* Both ends create their QPs before they turn for the first time, with the same attributes save for
 * send_enable, recv_enable, pieces_max and the policy's parameters. A QP lives as long as its
 * context. Returns null on error. */
CW_API cw_qp* cw_qp_create(cw_context*, const cw_qp_attr*);
CW_API uint32_t cw_qp_payload_bytes(const cw_qp*);
CW_API uint32_t cw_qp_chunk_bytes(const cw_qp*);

/* ---- memory ---- */

enum { CW_ACCESS_LOCAL = 0, CW_ACCESS_REMOTE_WRITE = 1 };

/* The memory stays the caller's and must live until cw_mr_dereg(). Returns null on error. */
CW_API cw_mr* cw_mr_reg(cw_context*, void* address, size_t bytes, uint32_t access);
/* The same of a device's memory, such as a GPU's: `bytes` of a dmabuf from `offset` on, which the
 * program has mapped at `address`, where policies that code read and write it. Both lie at the same
 * place in their pages of 4096 bytes. The descriptor may be closed afterwards. Null on error, also
 * where the device takes no dmabufs. */
CW_API cw_mr* cw_mr_reg_dmabuf(cw_context*, int fd, uint64_t offset, void* address, size_t bytes,
                               uint32_t access);
/* CW_RETRY while a message still uses the region. */
CW_API int cw_mr_dereg(cw_mr*);
/* The key that work requests name the region by; 0, which is never a key, on error. */
CW_API uint32_t cw_mr_lkey_get(const cw_mr*);

/* ---- send ---- */

/* CW_WR_HINT is added to either: the request has a hint, which is not looked at else. */
enum { CW_WR_WRITE = 0, CW_WR_WRITE_WITH_IMM = 1, CW_WR_HINT = 0x100 };

/* What a program may say of a message in advance. All but the deadline is for its policy, which may
 * make nothing of it. */
typedef struct cw_send_hint {
  uint32_t kind;        /* enum cw_hint_kind of policy.h */
  uint32_t step;        /* of a collective operation, where it is one's */
  uint64_t bytes;       /* expected in this step */
  uint32_t is_last;     /* 1: the last message of its step */
  uint32_t reserved;    /* 0 */
  uint64_t deadline_ns; /* from the latest turn of the context on: what has not left by then does
                           not leave, and what is not settled is given up; 0: none */
} cw_send_hint;

typedef struct cw_send_wr {
  uint32_t opcode;
  uint32_t imm;
  uint32_t lkey;
  uint32_t reserved; /* 0 */
  const void* address;
  uint64_t length; /* bytes; 0 is a message without payload, and names no memory */
  cw_send_hint hint;
} cw_send_wr;

typedef struct cw_send_start_wr {
  uint32_t opcode;
  uint32_t imm;
  cw_send_hint hint;
} cw_send_start_wr;

typedef struct cw_send_continue_wr {
  uint32_t lkey;
  uint32_t remote_offset; /* in chunks of the receive buffer */
  const void* address;
  uint64_t length; /* a multiple of the payload size, except at the end of the message */
} cw_send_continue_wr;

/* One message from one piece of memory. The memory must stay as it is until cw_send_poll() says
 * that the message is over. All sends give CW_RETRY while the link is not up. */
CW_API int cw_send_post(cw_qp*, const cw_send_wr*, cw_send_handle**);
/* A message piece by piece, in any order, each chunk once (what is sent again is the policy's
 * business). At its end it must be whole from chunk 0 on. A piece that continues another, in the
 * message and in memory, becomes one with it; there may be pieces_max that do not. Adding to a
 * message that is over already does nothing: cw_send_poll() says how it ended. */
CW_API int cw_send_stream_start(cw_qp*, const cw_send_start_wr*, cw_send_handle**);
CW_API int cw_send_stream_continue(cw_send_handle*, const cw_send_continue_wr*);
CW_API int cw_send_stream_end(cw_send_handle*);
/* Gives up a message, ended or not; it is over then, and still to be polled. The other end is told,
 * and its receive is used up. */
CW_API int cw_send_cancel(cw_send_handle*);

enum cw_status {
  CW_STATUS_OPEN = 0,     /* on its way */
  CW_STATUS_DONE = 1,     /* sender: settled by the policy, or completed by the receiver */
  CW_STATUS_GIVEN_UP = 2, /* over, with holes */
  CW_STATUS_PEER_LOST = 3 /* the other end left or restarted meanwhile */
};

/* Sets *status (enum cw_status). Once it is not CW_STATUS_OPEN the memory may be reused and the
 * handle is gone. */
CW_API int cw_send_poll(cw_send_handle*, int* status);

/* ---- receive ---- */

typedef struct cw_recv_wr {
  void* address;
  uint64_t max_length; /* 0: takes a message without payload, and names no memory */
  uint32_t lkey;       /* of a region with CW_ACCESS_REMOTE_WRITE */
  uint32_t reserved;   /* 0 */
} cw_recv_wr;

/* May be called before the link is up. */
CW_API int cw_recv_post(cw_qp*, const cw_recv_wr*, cw_recv_handle**);

/* The chunk bitmap: bit c of byte c / 8 (lowest first) is set when chunk c is in place, with
 * everything written to it visible. *bytes is its size for max_length. Live: it may change with
 * every turn until cw_recv_complete(). A short final chunk is set once the sender has said where
 * the message ends. */
CW_API int cw_recv_bitmap_get(cw_recv_handle*, const uint8_t** bitmap, size_t* bytes);
/* One chunk packet by packet: bit i of slots[w] is the chunk's slot 64 * w + i. `words` must be
 * enough for all slots of a chunk. */
CW_API int cw_recv_bitmap_chunk_expand(cw_recv_handle*, uint64_t chunk, uint64_t* slots,
                                       size_t words);
/* CW_RETRY until the whole immediate is known; CW_ERROR when the message has none. */
CW_API int cw_recv_imm_get(cw_recv_handle*, uint32_t* imm);

typedef struct cw_recv_info {
  int32_t status; /* enum cw_status: DONE when every byte is in place */
  uint32_t slots_in_place;
  uint64_t bytes; /* the message's length; UINT64_MAX: not known yet */
} cw_recv_info;
CW_API int cw_recv_poll(cw_recv_handle*, cw_recv_info*);

/* Gives the receive back, finished or not; required once for every posted receive. The handle, the
 * bitmap and the buffer are the caller's own again when it returns. */
CW_API int cw_recv_complete(cw_recv_handle*);

#ifdef __cplusplus
}
#endif

#endif
