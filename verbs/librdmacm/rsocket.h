/*
 * Rsockets: sockets over RC queue pairs, with the protocol of rdma-core 44, so that the peer may be
 * any librdmacm.
 *
 * Each side has a receive buffer, whose halves it grants to the peer in turn: it writes the address
 * of a half into an entry of the peer's list (struct rs_sge). The peer writes its data there, with
 * a word of immediate data for each piece: an operation (RS_OP_*) and the piece's size. Each word
 * takes a receive of the queue pair, for which the receiver grants credits.
 */
#ifndef GOROCE_RSOCKET_H
#define GOROCE_RSOCKET_H

#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/uio.h>

#include "cma.h"

/* The upper three bits of the immediate data. The others are a size, credits, or RS_CTRL_*. */
enum rs_op {
	RS_OP_DATA = 0,
	RS_OP_SGL = 4,       /* the credits in all, modulo 2^16, and possibly an entry of the list */
	RS_OP_IOMAP_SGL = 6, /* an entry of the table of mapped buffers */
	RS_OP_CTRL = 7,
};

enum { RS_CTRL_DISCONNECT, RS_CTRL_KEEPALIVE, RS_CTRL_SHUTDOWN };

enum {
	RS_SGL_SIZE = 2,
	RS_CTRL_SLOTS = 4, /* of the send queue, for everything but data */
	RS_MIN_QUEUE = 16,
	RS_MAX_QUEUE = 4096,
	RS_MIN_INLINE = 32, /* an entry of either table fits */
	RS_MAX_INLINE = 256,
	RS_MAX_IOMAP = 128,
	RS_FIRST_PIECE = 2048,
	RS_MAX_PIECE = 65536,
	RS_VERSION = 1,
	RS_FLAG_BIG_ENDIAN = 1,
	RS_FLAG_IOMAP = 2,
};

struct rs_sge {
	uint64_t addr;
	uint32_t key, length;
};

struct rs_iomap {
	uint64_t offset;
	struct rs_sge sge;
};

/* The private data of the connection manager's request and reply. */
struct rs_hello {
	uint8_t version, flags;
	uint16_t credits;
	uint8_t reserved[3];
	uint8_t iomap_size;        /* see rs_scale */
	struct rs_sge sgl, data;   /* in network byte order */
};

enum rs_state {
	RS_NEW,
	RS_LISTENING,
	RS_RESOLVING_ADDR,
	RS_RESOLVING_ROUTE,
	RS_CONNECTING,
	RS_ACCEPTING,
	RS_CONNECTED,
	RS_ENDED,
	RS_FAILED,
};

/* A buffer of the program, for riowrite of the peer. */
struct rs_mapping {
	struct ibv_mr *mr;
	uint64_t offset;
	bool unsent;
};

/* A piece of the memory that a program has in an array of struct iovec. */
struct rs_cursor {
	const struct iovec *iov;
	int count;
	size_t offset; /* in the first */
};

struct rs {
	int fd; /* of the ID's channel */
	struct rdma_cm_id *id;
	pthread_mutex_t lock;
	pthread_cond_t processed; /* for the threads that wait while another polls */
	bool polling;
	enum rs_state state;
	bool readable, writable, nonblocking;
	int error; /* SO_ERROR */
	int options; /* bits by RS_REUSEADDR and others */
	struct linger linger;

	uint32_t sq_size, rq_size, inline_size, sbuf_size, rbuf_size, iomap_size;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	/* sending: sbuf is a ring */
	char *sbuf;
	struct ibv_mr *smr;
	uint32_t sbuf_tail, sbuf_free, sqe_free, ctrl_free, unfinished;
	uint16_t sent, credit; /* pieces, modulo 2^16: so far, and as far as the peer allows */
	struct rs_sge target;  /* what is left of the half that the peer has granted */
	uint32_t target_index;

	/* receiving: rbuf is a ring */
	char *rbuf;
	struct ibv_mr *rmr;
	uint32_t rbuf_head, unread, freed, grant_offset;
	uint32_t *pieces; /* their sizes, a ring of rq_size */
	uint32_t piece_head, piece_count, piece_done; /* done: bytes of the first */
	uint16_t received, granted; /* pieces, modulo 2^16 */

	/* what the peer writes: its grants, then its mappings */
	struct rs_sge *sgl;
	struct rs_iomap *iomap;
	struct ibv_mr *tmr;
	/* what we write there at the peer */
	struct rs_sge remote_sgl;
	uint64_t remote_iomap;
	uint32_t remote_index, remote_iomap_size;
	bool swap; /* the peer has the other byte order */
	struct rs_mapping *mappings; /* remote_iomap_size of them */
	bool mappings_unsent;
};

/* rsocket.c: the table of sockets, and their memory */
struct rs *rs_find(int fd); /* NULL with EBADF */
struct rs *rs_new(const struct rs *like);
int rs_add(struct rs *s);
void rs_free(struct rs *s);
int rs_open_queue_pair(struct rs *s);
void rs_fail(struct rs *s, int err);

/* rsocket_connect.c */
void rs_put_hello(const struct rs *s, struct rs_hello *h);
int rs_take_hello(struct rs *s, const struct rs_hello *h, size_t size);
bool rs_opening(const struct rs *s);
void rs_take_cm_events(struct rs *s);

/* rsocket_queue.c: under the lock */
int rs_post_receives(struct rs *s, uint32_t n);
void rs_advance(struct rs *s);
void rs_take_events(struct rs *s);
void rs_grant(struct rs *s);
bool rs_can_send(const struct rs *s);
int rs_until(struct rs *s, bool (*ready)(const struct rs *), bool nonblocking);
int rs_until_open(struct rs *s, bool nonblocking);
int rs_write(struct rs *s, const void *data, uint32_t size, uint64_t addr, uint32_t rkey,
	     uint32_t message);
int rs_send_control(struct rs *s, uint32_t control);
uint32_t rs_stage(struct rs *s, struct rs_cursor *from, uint32_t size, struct ibv_sge *sge,
		  int *elements);
int rs_post(struct rs *s, struct ibv_sge *sge, int elements, uint64_t addr, uint32_t rkey,
	    enum ibv_wr_opcode op, uint32_t message, uint32_t staged);

/* rsocket_data.c */
ssize_t rs_send_vector(int socket, const struct iovec *iov, int count, int flags);
ssize_t rs_receive_vector(int socket, const struct iovec *iov, int count, int flags);
size_t rs_copy(struct rs_cursor *c, void *memory, size_t size, bool out);

/* rsocket_iomap.c */
int rs_send_mappings(struct rs *s, bool nonblocking);

static inline uint32_t rs_message(enum rs_op op, uint32_t data)
{
	return (uint32_t)op << 29 | data;
}

#endif
