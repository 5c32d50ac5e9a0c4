/* Asynchronous and completion events. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "goroce.h"

int gr_remember(struct gr_context *c, struct gr_events *e)
{
	struct gr_cookies *t = &c->cookies;
	pthread_mutex_lock(&t->mutex);
	uint32_t i = 0;
	while (i < t->count && t->slots[i])
		i++;
	if (i == t->count) {
		uint32_t count = t->count ? 2 * t->count : 16;
		struct gr_events **slots = realloc(t->slots, count * sizeof(*slots));
		if (!slots) {
			pthread_mutex_unlock(&t->mutex);
			return errno = ENOMEM;
		}
		memset(slots + t->count, 0, (count - t->count) * sizeof(*slots));
		t->slots = slots;
		t->count = count;
	}
	e->cookie = (uint64_t)++t->generation << 32 | i;
	t->slots[i] = e;
	pthread_mutex_unlock(&t->mutex);
	return 0;
}

void gr_forget(struct gr_context *c, struct gr_events *e)
{
	pthread_mutex_lock(&c->cookies.mutex);
	c->cookies.slots[(uint32_t)e->cookie] = NULL;
	pthread_mutex_unlock(&c->cookies.mutex);
}

/* fetched counts an event for the object that a cookie names, and returns it, or NULL. */
static void *fetched(struct gr_context *c, uint64_t cookie, bool completion)
{
	void *object = NULL;
	struct gr_cookies *t = &c->cookies;
	pthread_mutex_lock(&t->mutex);
	uint32_t i = (uint32_t)cookie;
	if (i < t->count && t->slots[i] && t->slots[i]->cookie == cookie) {
		struct gr_events *e = t->slots[i];
		if (completion)
			e->completions++;
		else
			e->asyncs++;
		object = e->object;
	}
	pthread_mutex_unlock(&t->mutex);
	return object;
}

/* next reads an event of the given size: 0, or -1 with errno, EIO at the end of the engine. */
static int next(int fd, void *event, size_t size)
{
	ssize_t n = read(fd, event, size);
	if (n == (ssize_t)size)
		return 0;
	if (n >= 0)
		errno = EIO;
	return -1;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct gr_completion_event e;
	do {
		if (next(channel->fd, &e, sizeof(e)))
			return -1;
		*cq = fetched(gr_context(channel->context), e.cookie, true);
	} while (!*cq);
	*cq_context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

static bool is_of_qp(enum ibv_event_type t)
{
	switch (t) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return true;
	default:
		return false;
	}
}

static bool is_of_srq(enum ibv_event_type t)
{
	return t == IBV_EVENT_SRQ_ERR || t == IBV_EVENT_SRQ_LIMIT_REACHED;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct gr_context *c = gr_context(context);
	struct gr_event e;
	for (;;) {
		if (next(context->async_fd, &e, sizeof(e))) {
			if (errno != EIO || c->reported_fatal)
				return -1;
			c->reported_fatal = true; /* once; then errors */
			event->event_type = IBV_EVENT_DEVICE_FATAL;
			event->element.port_num = 0;
			return 0;
		}
		event->event_type = e.kind;
		if (e.kind != IBV_EVENT_CQ_ERR && !is_of_qp(e.kind) && !is_of_srq(e.kind)) {
			event->element.port_num = (int)e.cookie;
			return 0;
		}
		void *object = fetched(c, e.cookie, false);
		if (!object)
			continue;
		if (is_of_qp(e.kind))
			event->element.qp = object;
		else if (is_of_srq(e.kind))
			event->element.srq = object;
		else
			event->element.cq = object;
		return 0;
	}
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(mutex);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *e)
{
	if (e->event_type == IBV_EVENT_CQ_ERR) {
		struct ibv_cq *cq = e->element.cq;
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
	} else if (is_of_qp(e->event_type)) {
		struct ibv_qp *qp = e->element.qp;
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
	} else if (is_of_srq(e->event_type)) {
		struct ibv_srq *srq = e->element.srq;
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
	}
}
