/* Receives, and shared receive queues. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "goroce.h"

static int post(struct gr_context *c, struct gr_queue *q, uint32_t max_sge, struct ibv_recv_wr *wr,
		struct ibv_recv_wr **bad)
{
	int err = 0;

	gr_acquire(&q->lock);
	uint32_t before = q->tail;
	for (; wr; wr = wr->next) {
		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
			err = EINVAL;
		else if (!gr_room(c, q))
			err = ENOMEM;
		if (err) {
			*bad = wr;
			break;
		}
		struct gr_rqe *r = gr_slot(q, q->tail);
		r->wr_id = wr->wr_id;
		r->elements = (uint32_t)wr->num_sge;
		memcpy(r + 1, wr->sg_list, (size_t)wr->num_sge * sizeof(struct ibv_sge));
		q->tail++;
	}
	if (q->tail != before)
		gr_ring_doorbell(c, q);
	gr_release(&q->lock);
	return err;
}

int gr_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct gr_qp_object *o = (struct gr_qp_object *)qp;
	if (qp->srq || qp->state == IBV_QPS_RESET) {
		*bad = wr;
		return EINVAL;
	}
	return post(gr_context(qp->context), &o->recv, o->cap.max_recv_sge, wr, bad);
}

int gr_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct gr_srq_object *o = container_of(srq, struct gr_srq_object, srq);
	return post(gr_context(srq->context), &o->recv, o->max_sge, wr, bad);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct gr_context *c = gr_context(pd->context);
	struct gr_srq r;
	int fd;
	struct gr_srq_object *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->events.object = o;
	if (gr_remember(c, &o->events)) {
		free(o);
		return NULL;
	}
	struct gr_create_srq request = {.cookie = o->events.cookie, .pd = pd->handle,
					.max_wr = a->attr.max_wr, .max_sge = a->attr.max_sge};
	int err = gr_request(&c->engine, GR_CREATE_SRQ, &request, sizeof(request), -1, &r, sizeof(r),
			     &fd, 1);
	if (!err) {
		o->size = r.ring.offset + (size_t)r.ring.entries * r.ring.stride;
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
	gr_queue_init(&o->recv, &r.ring, r.max_wr, o->memory);
	a->attr.max_wr = r.max_wr;
	a->attr.max_sge = o->max_sge = r.max_sge;
	o->srq.context = pd->context;
	o->srq.srq_context = a->srq_context;
	o->srq.pd = pd;
	o->srq.handle = r.handle;
	pthread_mutex_init(&o->srq.mutex, NULL);
	pthread_cond_init(&o->srq.cond, NULL);
	return &o->srq;
}

struct ibv_srq *gr_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *a)
{
	(void)c;
	if (a->comp_mask & ~(uint32_t)(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD) ||
	    (a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && a->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	return ibv_create_srq(a->pd, (struct ibv_srq_init_attr *)a); /* begins like it */
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask)
{
	struct gr_srq_object *o = container_of(srq, struct gr_srq_object, srq);
	struct gr_modify_srq r = {.handle = srq->handle, .mask = (uint32_t)mask,
				  .max_wr = a->max_wr, .limit = a->srq_limit};
	int err = gr_request(&gr_context(srq->context)->engine, GR_MODIFY_SRQ, &r, sizeof(r), -1,
			     NULL, 0, NULL, 0);
	if (!err && mask & IBV_SRQ_MAX_WR) {
		gr_acquire(&o->recv.lock);
		uint32_t entries = o->recv.mask + 1; /* the ring stays; the engine holds the rest */
		o->recv.limit = a->max_wr < entries ? a->max_wr : entries;
		gr_release(&o->recv.lock);
	}
	return err;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
	struct gr_handle h = {.handle = srq->handle};
	struct gr_srq r;
	int err = gr_request(&gr_context(srq->context)->engine, GR_QUERY_SRQ, &h, sizeof(h), -1, &r,
			     sizeof(r), NULL, 0);
	if (err)
		return err;
	a->max_wr = r.max_wr;
	a->max_sge = r.max_sge;
	a->srq_limit = r.limit;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct gr_srq_object *o = container_of(srq, struct gr_srq_object, srq);
	int err = gr_simple(srq->context, GR_DESTROY_SRQ, srq->handle);
	if (err)
		return err;
	gr_forget(gr_context(srq->context), &o->events);
	pthread_mutex_lock(&srq->mutex);
	while (o->events.asyncs != srq->events_completed)
		pthread_cond_wait(&srq->cond, &srq->mutex);
	pthread_mutex_unlock(&srq->mutex);
	munmap(o->memory, o->size);
	free(o);
	return 0;
}
