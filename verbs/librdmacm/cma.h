/* What the files of librdmacm.so.1 share. */
#ifndef GOROCE_CMA_H
#define GOROCE_CMA_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "cm_protocol.h"

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

/* Of our libibverbs.so.1 (version GOROCE_1; see verbs/libibverbs/goroce.h). */
struct gr_engine;
struct gr_engine *goroce_engine(struct ibv_context *context);
int gr_request(struct gr_engine *engine, uint32_t op, const void *body, size_t size, int fd_out,
	       void *reply, size_t reply_size, int *fds_in, int n_in);

/* The device, which is opened once and stays open. */
struct cma_device {
	struct ibv_context *verbs;
	struct gr_engine *engine;
	uint8_t max_responder, max_initiator;
};

struct cma_channel {
	struct rdma_event_channel channel; /* first */
	uint32_t handle;
};

struct cma_id {
	struct rdma_cm_id id; /* first */
	uint32_t handle;
	bool sync; /* has a channel of its own: calls wait for their event */
	uint8_t responder, initiator;

	pthread_mutex_t mutex;
	pthread_cond_t acknowledged;
	uint32_t events_completed;

	/* rdma_create_ep: what the requests of a listener, and rdma_connect, get */
	struct ibv_pd *ep_pd;
	struct ibv_qp_init_attr *ep_attr;
	void *connect_data;
	size_t connect_len;

	struct ibv_sa_path_rec path;
};

struct cma_event {
	struct rdma_cm_event event; /* first */
	struct cma_id *counted; /* whose acknowledgements it counts among */
	uint8_t private_data[GR_MAX_PRIVATE];
};

static inline struct cma_id *cma_id(struct rdma_cm_id *id) { return (struct cma_id *)id; }

/* fail sets errno, unless err is 0, and returns what librdmacm's functions return. */
static inline int fail(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

/* device.c */
const struct cma_device *cma_open(void); /* NULL with errno */
int cma_call(uint32_t op, const void *body, size_t size, void *reply, size_t reply_size);
int cma_simple(uint32_t op, uint32_t handle);
struct ibv_pd *cma_default_pd(void);

/* channel.c */
int cma_complete(struct rdma_cm_id *id);

/* id.c */
struct cma_id *cma_new_id(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps, enum ibv_qp_type type);
void cma_free_id(struct cma_id *p);
void cma_set_route(struct cma_id *p, const struct gr_cm_route *route);
int cma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		  enum rdma_port_space ps, enum ibv_qp_type type);
int cma_put_addr(struct gr_cm_addr *to, const struct sockaddr *from);

/* qp.c */
int cma_connect_qp(struct rdma_cm_id *id);
int cma_qp_error(struct rdma_cm_id *id);
int cma_init_qp(struct rdma_cm_id *id, struct ibv_qp *qp);

#endif
