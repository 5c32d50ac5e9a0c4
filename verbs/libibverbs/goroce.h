/*
 * What the files of libibverbs.so.1 share. librdmacm.so.1 uses gr_request and the accessors, which
 * are exported as GOROCE_1.
 */
#ifndef GOROCE_H
#define GOROCE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "protocol.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

/* A spin lock of the data path. It gives the core away when its holder may not be running. */
typedef atomic_uint gr_lock;
void gr_lock_slow(gr_lock *lock);

static inline void gr_acquire(gr_lock *lock)
{
	if (__builtin_expect(atomic_exchange_explicit(lock, 1, memory_order_acquire), 0))
		gr_lock_slow(lock);
}

static inline void gr_release(gr_lock *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

/* A connection with the engine. */
struct gr_engine {
	int fd;
	bool daemon; /* in another process */
	int errnum;  /* not 0: the engine is gone */
	pthread_mutex_t mutex;
};

struct gr_device_node {
	struct ibv_device device; /* first: providers find their own part behind it */
	char provider[256];       /* what libmlx5 and others look at: zeros, so that it is not theirs */
	atomic_int refs;
};

/*
 * What events name. They carry a cookie instead of an address: an event of an object that is
 * destroyed meanwhile is skipped. The counts are of events that the program has fetched.
 */
struct gr_events {
	uint64_t cookie;
	void *object;
	uint32_t completions, asyncs;
};

struct gr_cookies {
	pthread_mutex_t mutex;
	struct gr_events **slots;
	uint32_t count, generation;
};

struct gr_context {
	struct gr_engine engine;
	struct gr_cookies cookies;
	bool reported_fatal;
	struct gr_device attr;
	atomic_uint *tails, *heads; /* of the queues */
	atomic_uint *asleep;
	struct verbs_context verbs; /* last: it ends in struct ibv_context */
};

struct gr_queue {
	gr_lock lock;
	uint32_t id, mask, limit, stride;
	uint32_t tail, head; /* head as last read */
	char *slots;
};

struct gr_cq_object {
	struct ibv_cq_ex ex; /* first; begins like struct ibv_cq */
	gr_lock lock;
	uint32_t head, mask;
	uint32_t idle; /* polls in a row that found nothing */
	struct gr_cq_head *memory;
	struct gr_cqe *ring;
	size_t size; /* of the mapping */
	struct gr_cqe *current; /* of the extended interface */
	struct gr_events events;
};

struct gr_qp_object {
	struct ibv_qp_ex ex; /* first; begins with struct ibv_qp */
	struct gr_queue send, recv;
	struct gr_events events;
	void *memory;
	size_t size;
	struct ibv_qp_cap cap;
	bool signal_all;
	/* the extended interface: requests between wr_start and wr_complete */
	uint32_t first;    /* tail at wr_start */
	uint32_t building; /* slots since */
	int build_error;
	struct gr_wqe *wqe; /* the newest, whose data are still to be set */
};

struct gr_srq_object {
	struct ibv_srq srq; /* first */
	struct gr_queue recv;
	void *memory;
	size_t size;
	uint32_t max_sge;
	struct gr_events events;
};

struct gr_ah_object {
	struct ibv_ah ah; /* first */
};

struct gr_channel_object {
	struct ibv_comp_channel channel; /* first */
	uint32_t handle;
};

static inline struct gr_context *gr_context(struct ibv_context *c)
{
	return container_of(c, struct gr_context, verbs.context);
}

/* engine.c */
int gr_connect(struct gr_engine *engine);
void gr_disconnect(struct gr_engine *engine);

/*
 * gr_request sends a request and waits for its reply. It returns 0 or an errno. fds_out are passed
 * on; up to n_in descriptors of the reply come in fds_in, -1 where there is none.
 */
int gr_request(struct gr_engine *engine, uint32_t op, const void *body, size_t size, int fd_out,
	       void *reply, size_t reply_size, int *fds_in, int n_in);
void *gr_map(int fd, size_t size);

/* daemon.c */
int gr_connect_daemon(struct gr_engine *engine, const char *path);
int gr_share_memory(struct gr_engine *engine);
/* gr_populate makes the pages of a region present: EFAULT if there are none, or not writable. */
int gr_populate(const void *addr, size_t length, bool write);
/* gr_is_gone reports whether the daemon has ended. */
bool gr_is_gone(struct gr_engine *engine);

/* For requests with a handle, and no more. */
int gr_simple(struct ibv_context *c, uint32_t op, uint32_t handle);

/* librdmacm's way to the engine of a context. */
struct gr_engine *goroce_engine(struct ibv_context *c);

/* queue.c */
void gr_queue_init(struct gr_queue *q, const struct gr_ring *ring, uint32_t limit, void *memory);
void gr_wake(struct gr_context *c);
bool gr_cores_are_scarce(void);

static inline void gr_ring_doorbell(struct gr_context *c, struct gr_queue *q)
{
	atomic_store_explicit(&c->tails[q->id], q->tail, memory_order_release);
	if (__builtin_expect(atomic_load_explicit(c->asleep, memory_order_relaxed) == 1, 0))
		gr_wake(c);
}

/* gr_room reports how many more slots the queue has. */
static inline uint32_t gr_room(struct gr_context *c, struct gr_queue *q)
{
	uint32_t used = q->tail - q->head;
	if (used >= q->limit) {
		q->head = atomic_load_explicit(&c->heads[q->id], memory_order_acquire);
		used = q->tail - q->head;
		if (used > q->limit) /* only a broken engine */
			used = q->limit;
	}
	return q->limit - used;
}

static inline void *gr_slot(struct gr_queue *q, uint32_t i)
{
	return q->slots + (size_t)(i & q->mask) * q->stride;
}

/* events.c */
int gr_remember(struct gr_context *c, struct gr_events *e);
void gr_forget(struct gr_context *c, struct gr_events *e);

/* data path */
int gr_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int gr_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int gr_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int gr_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int gr_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int gr_check_send(struct gr_qp_object *qp, enum ibv_wr_opcode op, unsigned int flags, int elements);
void gr_init_wr(struct ibv_qp_ex *qp);

/* extended verbs */
int gr_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t size);
int gr_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size);
struct ibv_cq_ex *gr_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
struct ibv_qp *gr_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
struct ibv_srq *gr_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr);
void gr_put_path(struct gr_path *to, const struct ibv_ah_attr *from);
void gr_get_path(struct ibv_ah_attr *to, const struct gr_path *from);

/* device.c */
void gr_device_get(struct ibv_device *d);
void gr_device_put(struct ibv_device *d);

/* sysfs.c */
int gr_sysfs(const char *dir, const char *file, char *buf, size_t size);

#endif
