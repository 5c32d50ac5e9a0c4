/*
 * The protocol between the verbs libraries and the engine (package verbs/protocol mirrors this
 * file; its test compares the layouts).
 *
 * Control: one request and one reply at a time on a SOCK_SEQPACKET socket, each a header and a
 * body of fixed size. Numbers are in the machine's byte order; no struct has padding.
 * Data: rings in shared memory, whose file descriptors come with replies.
 */
#ifndef GOROCE_PROTOCOL_H
#define GOROCE_PROTOCOL_H

#include <stdint.h>

#define GR_VERSION 1
#define GR_MAX_MESSAGE 512
#define GR_MAX_GIDS 8
#define GR_ENGINE_GONE 0xffff /* an event kind that the library itself makes */

/* Operations of requests. */
enum gr_op {
	GR_HELLO = 1,
	GR_QUERY_PORT,
	GR_ALLOC_PD,
	GR_DEALLOC_PD,
	GR_REG_MR,
	GR_REREG_MR,
	GR_DEREG_MR,
	GR_CREATE_CHANNEL,
	GR_DESTROY_CHANNEL,
	GR_CREATE_CQ,
	GR_RESIZE_CQ,
	GR_DESTROY_CQ,
	GR_CREATE_SRQ,
	GR_MODIFY_SRQ,
	GR_QUERY_SRQ,
	GR_DESTROY_SRQ,
	GR_CREATE_QP,
	GR_MODIFY_QP,
	GR_QUERY_QP,
	GR_DESTROY_QP,
	GR_CREATE_AH,
	GR_DESTROY_AH,
	GR_SHARE_MEMORY, /* to a daemon, with a descriptor of /proc/self/mem */
	GR_FIRST_CM_OP = 0x100, /* those of the connection manager follow */
};

struct gr_header {
	uint32_t op;
	uint32_t error; /* of a reply: an errno, 0 in requests */
};

/* GR_HELLO: with the descriptor to which the engine sends struct gr_event. The reply has that of
 * the session's memory. */
struct gr_hello {
	uint32_t version;
	uint32_t reserved;
};

struct gr_device {
	uint64_t link_bps; /* 0: unknown */
	uint32_t max_qp, max_qp_wr, max_sge, max_inline;
	uint32_t max_cq, max_cqe, max_mr, max_pd;
	uint32_t max_srq, max_srq_wr, max_ah, max_rd_atomic;
	uint32_t max_mtu; /* enum ibv_mtu */
	uint32_t gid_count;
	uint8_t mac[8];
	uint8_t gids[GR_MAX_GIDS][16];
};

struct gr_port {
	uint64_t link_bps;
	uint32_t active;
	uint32_t reserved;
};

/* Requests and replies that carry a handle and nothing else. */
struct gr_handle {
	uint32_t handle;
	uint32_t reserved;
};

/* GR_REG_MR and GR_REREG_MR; the latter with handle and flags (IBV_REREG_MR_*). */
struct gr_reg_mr {
	uint64_t addr;
	uint64_t length;
	uint64_t iova;
	uint32_t pd;
	uint32_t access;
	uint32_t handle;
	uint32_t flags;
};

struct gr_mr {
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t reserved;
};

/* GR_CREATE_CQ, GR_RESIZE_CQ. Cookies come back in events. */
struct gr_create_cq {
	uint64_t cookie;
	uint32_t depth;
	uint32_t channel; /* 0: none */
	uint32_t handle;  /* GR_RESIZE_CQ */
	uint32_t reserved;
};

/* The reply comes with the descriptor of the queue's memory. */
struct gr_cq {
	uint32_t handle;
	uint32_t depth;   /* what the program may count on */
	uint32_t entries; /* of the ring, a power of two */
	uint32_t reserved;
};

struct gr_create_srq {
	uint64_t cookie;
	uint32_t pd;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t reserved;
};

/* A ring of work requests in the memory of its queue. */
struct gr_ring {
	uint32_t queue;   /* its index in the session's arrays */
	uint32_t offset;  /* of the first slot */
	uint32_t entries; /* a power of two */
	uint32_t stride;
};

struct gr_srq {
	uint32_t handle;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	struct gr_ring ring;
};

struct gr_modify_srq {
	uint32_t handle;
	uint32_t mask; /* IBV_SRQ_* */
	uint32_t max_wr;
	uint32_t limit;
};

struct gr_create_qp {
	uint64_t cookie;
	uint32_t type; /* enum ibv_qp_type */
	uint32_t pd, send_cq, recv_cq;
	uint32_t srq; /* 0: none */
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	uint32_t signal_all;
	uint32_t reserved;
};

struct gr_qp {
	uint32_t handle;
	uint32_t number;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	uint32_t reserved;
	struct gr_ring send;
	struct gr_ring recv; /* without a shared receive queue */
};

/* An address vector, as of struct ibv_ah_attr. */
struct gr_path {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index, hop_limit, traffic_class, sl;
	uint8_t static_rate, is_global, port, reserved;
};

/* The attributes of struct ibv_qp_attr. */
struct gr_qp_attr {
	uint32_t handle;
	uint32_t mask;
	uint32_t state, cur_state, mtu, qkey;
	uint32_t rq_psn, sq_psn, dest_qpn, access;
	struct gr_path path;
	uint16_t pkey_index;
	uint8_t sqd_notify, sq_draining;
	uint8_t max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port;
	uint8_t timeout, retry_count, rnr_retry, reserved;
};

struct gr_create_ah {
	uint32_t pd;
	uint32_t reserved;
	struct gr_path path;
};

/* On the event socket. */
struct gr_event {
	uint32_t kind; /* enum ibv_event_type */
	uint32_t reserved;
	uint64_t cookie; /* of the queue; of port events the port's number */
};

/* On the socket of a completion channel. */
struct gr_completion_event {
	uint64_t cookie;
};

/*
 * The session's memory. The library writes a queue's tail when it has filled slots; the engine
 * writes its head when it has taken them. asleep is 1 while the polling core sleeps: after
 * writing a tail the library then wakes it (sets 0 and wakes the futex). It is in a page of its
 * own, which all sessions share.
 */
#define GR_QUEUES 16384
#define GR_TAILS 0
#define GR_HEADS (4 * GR_QUEUES)
#define GR_SESSION_SIZE (8 * GR_QUEUES)
#define GR_WAKE_SIZE 4096

/* The head of a completion queue's memory. */
struct gr_cq_head {
	uint32_t head;  /* the library: polled so far */
	uint32_t armed; /* the library sets, the engine clears: enum gr_armed */
	uint32_t waiting; /* 1: a thread waits on this futex for a completion */
	uint32_t reserved[29];
};

enum gr_armed { GR_NOT_ARMED, GR_ARMED_SOLICITED, GR_ARMED };

/* In the flags of a completion of a datagram: the GRH is an IPv6 header. */
#define GR_CQE_V6 0x8000

#define GR_VOID 255

/* A completion. It is there when sequence is its index plus 1. */
struct gr_cqe {
	uint64_t wr_id;
	uint32_t byte_len;
	uint32_t imm; /* host order, or the invalidated key */
	uint32_t qp_num;
	uint32_t src_qp;
	uint8_t status; /* enum ibv_wc_status */
	uint8_t opcode; /* enum ibv_wc_opcode, or GR_VOID: to be skipped */
	uint16_t flags; /* enum ibv_wc_flags, and GR_CQE_V6 */
	uint32_t sequence;
};

/*
 * A send request: this, and from GR_WQE_BODY on its elements or inline data; an atomic's operands
 * are at GR_WQE_ATOMIC, behind its one element.
 */
struct gr_wqe {
	uint64_t wr_id;
	uint64_t remote_addr; /* UD: handle of the address, and the peer's number << 32 */
	uint32_t rkey;        /* UD: Q_Key */
	uint32_t imm;         /* host order, or the key to invalidate */
	uint32_t length;      /* of inline data */
	uint16_t elements;
	uint8_t opcode; /* enum ibv_wr_opcode */
	uint8_t flags;  /* enum ibv_send_flags */
};

#define GR_WQE_BODY 32
#define GR_WQE_ATOMIC 48
#define GR_WQE_SIZE 64 /* the least stride, of which larger ones are multiples */

struct gr_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* A receive request; its elements follow. */
struct gr_rqe {
	uint64_t wr_id;
	uint32_t elements;
	uint32_t reserved;
};

#endif
