/* Queue pairs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "goroce.h"

#define SEND_OPS                                                                                   \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                                 \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |                 \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV)

static size_t ring_end(const struct gr_ring *r)
{
	return r->offset + (size_t)r->entries * r->stride;
}

static void use(struct gr_qp_object *o, const struct gr_qp *r)
{
	struct ibv_qp *qp = &o->ex.qp_base;
	qp->handle = r->handle;
	qp->qp_num = r->number;
	qp->state = IBV_QPS_RESET;
	o->cap.max_send_wr = r->max_send_wr;
	o->cap.max_recv_wr = r->max_recv_wr;
	o->cap.max_send_sge = r->max_send_sge;
	o->cap.max_recv_sge = r->max_recv_sge;
	o->cap.max_inline_data = r->max_inline;
	gr_queue_init(&o->send, &r->send, r->max_send_wr, o->memory);
	if (!qp->srq)
		gr_queue_init(&o->recv, &r->recv, r->max_recv_wr, o->memory);
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
	gr_init_wr(&o->ex);
}

static struct gr_qp_object *make(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct gr_context *c = gr_context(pd->context);
	struct gr_qp reply;
	int fd;

	if (!a->send_cq || !a->recv_cq) {
		errno = EINVAL;
		return NULL;
	}
	struct gr_qp_object *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->events.object = o;
	if (gr_remember(c, &o->events)) {
		free(o);
		return NULL;
	}
	struct gr_create_qp r = {
		.cookie = o->events.cookie, .type = a->qp_type, .pd = pd->handle,
		.send_cq = a->send_cq->handle, .recv_cq = a->recv_cq->handle,
		.srq = a->srq ? a->srq->handle : 0, .max_send_wr = a->cap.max_send_wr,
		.max_recv_wr = a->cap.max_recv_wr, .max_send_sge = a->cap.max_send_sge,
		.max_recv_sge = a->cap.max_recv_sge, .max_inline = a->cap.max_inline_data,
		.signal_all = a->sq_sig_all != 0};
	int err = gr_request(&c->engine, GR_CREATE_QP, &r, sizeof(r), -1, &reply, sizeof(reply), &fd,
			     1);
	if (!err) {
		size_t send = ring_end(&reply.send), recv = ring_end(&reply.recv);
		o->size = send > recv ? send : recv;
		o->memory = gr_map(fd, o->size);
		if (!o->memory)
			err = ENOMEM;
	}
	if (err) {
		gr_forget(c, &o->events);
		free(o);
		errno = err;
		return NULL;
	}
	struct ibv_qp *qp = &o->ex.qp_base;
	qp->context = pd->context;
	qp->qp_context = a->qp_context;
	qp->pd = pd;
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->qp_type = a->qp_type;
	o->signal_all = a->sq_sig_all != 0;
	use(o, &reply);
	a->cap = o->cap;
	return o;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct gr_qp_object *o = make(pd, attr);
	return o ? &o->ex.qp_base : NULL;
}

struct ibv_qp *gr_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS;
	(void)c;
	if (a->comp_mask & ~known ||
	    (a->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && a->create_flags) ||
	    (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	     a->send_ops_flags & ~(uint64_t)SEND_OPS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(a->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	/* it begins like struct ibv_qp_init_attr */
	struct gr_qp_object *o = make(a->pd, (struct ibv_qp_init_attr *)a);
	if (!o)
		return NULL;
	if (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		o->ex.comp_mask = 1;
	return &o->ex.qp_base;
}

/* A queue pair has the ibv_wr_* functions when it was created with flags for them. */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct gr_qp_object *o = (struct gr_qp_object *)qp;
	return o->ex.comp_mask ? &o->ex : NULL;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	struct gr_qp_attr r = {
		.handle = qp->handle, .mask = (uint32_t)mask, .state = a->qp_state,
		.cur_state = a->cur_qp_state, .mtu = a->path_mtu, .qkey = a->qkey,
		.rq_psn = a->rq_psn, .sq_psn = a->sq_psn, .dest_qpn = a->dest_qp_num,
		.access = a->qp_access_flags, .pkey_index = a->pkey_index,
		.sqd_notify = a->en_sqd_async_notify, .max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic, .min_rnr_timer = a->min_rnr_timer,
		.port = a->port_num, .timeout = a->timeout, .retry_count = a->retry_cnt,
		.rnr_retry = a->rnr_retry};
	gr_put_path(&r.path, &a->ah_attr);
	int err = gr_request(&gr_context(qp->context)->engine, GR_MODIFY_QP, &r, sizeof(r), -1, NULL,
			     0, NULL, 0);
	if (err)
		return err;
	if (mask & IBV_QP_STATE)
		qp->state = a->qp_state;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct gr_qp_object *o = (struct gr_qp_object *)qp;
	struct gr_handle h = {.handle = qp->handle};
	struct gr_qp_attr r;
	(void)mask;
	int err = gr_request(&gr_context(qp->context)->engine, GR_QUERY_QP, &h, sizeof(h), -1, &r,
			     sizeof(r), NULL, 0);
	if (err)
		return err;
	memset(a, 0, sizeof(*a));
	a->qp_state = a->cur_qp_state = r.state;
	a->path_mtu = r.mtu;
	a->path_mig_state = IBV_MIG_MIGRATED;
	a->qkey = r.qkey;
	a->rq_psn = r.rq_psn;
	a->sq_psn = r.sq_psn;
	a->dest_qp_num = r.dest_qpn;
	a->qp_access_flags = r.access;
	a->cap = o->cap;
	gr_get_path(&a->ah_attr, &r.path);
	a->pkey_index = r.pkey_index;
	a->en_sqd_async_notify = r.sqd_notify;
	a->sq_draining = r.sq_draining;
	a->max_rd_atomic = r.max_rd_atomic;
	a->max_dest_rd_atomic = r.max_dest_rd_atomic;
	a->min_rnr_timer = r.min_rnr_timer;
	a->port_num = r.port;
	a->timeout = r.timeout;
	a->retry_cnt = r.retry_count;
	a->rnr_retry = r.rnr_retry;
	qp->state = r.state;
	if (!init)
		return 0;
	memset(init, 0, sizeof(*init));
	init->qp_context = qp->qp_context;
	init->send_cq = qp->send_cq;
	init->recv_cq = qp->recv_cq;
	init->srq = qp->srq;
	init->cap = o->cap;
	init->qp_type = qp->qp_type;
	init->sq_sig_all = o->signal_all;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct gr_qp_object *o = (struct gr_qp_object *)qp;
	int err = gr_simple(qp->context, GR_DESTROY_QP, qp->handle);
	if (err)
		return err;
	gr_forget(gr_context(qp->context), &o->events);
	pthread_mutex_lock(&qp->mutex);
	while (o->events.asyncs != qp->events_completed)
		pthread_cond_wait(&qp->cond, &qp->mutex);
	pthread_mutex_unlock(&qp->mutex);
	munmap(o->memory, o->size);
	free(o);
	return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0; /* a retransmitted packet may be written again */
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}
