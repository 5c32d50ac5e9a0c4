/* Completion channels and queues. */
#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "goroce.h"

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	struct gr_handle h;
	int ends[2];
	struct gr_channel_object *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(o);
		return NULL;
	}
	int err = gr_request(&gr_context(c)->engine, GR_CREATE_CHANNEL, NULL, 0, ends[1], &h,
			     sizeof(h), NULL, 0);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		free(o);
		errno = err;
		return NULL;
	}
	o->handle = h.handle;
	o->channel.context = c;
	o->channel.fd = ends[0];
	return &o->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct gr_channel_object *o = container_of(channel, struct gr_channel_object, channel);
	struct ibv_context *c = channel->context;

	pthread_mutex_lock(&c->mutex);
	int users = channel->refcnt;
	pthread_mutex_unlock(&c->mutex);
	if (users)
		return EBUSY;
	gr_simple(c, GR_DESTROY_CHANNEL, o->handle);
	close(channel->fd);
	free(o);
	return 0;
}

static size_t cq_size(uint32_t entries)
{
	return sizeof(struct gr_cq_head) + (size_t)entries * sizeof(struct gr_cqe);
}

static void use_memory(struct gr_cq_object *o, void *memory, uint32_t entries, uint32_t depth)
{
	o->size = cq_size(entries);
	o->memory = memory;
	o->ring = (void *)((char *)memory + sizeof(struct gr_cq_head));
	o->mask = entries - 1;
	o->ex.cqe = (int)depth;
}

static struct gr_cq_object *create(struct ibv_context *c, int cqe, void *cq_context,
				   struct ibv_comp_channel *channel, int vector)
{
	struct gr_cq reply;
	int fd;

	if (cqe <= 0 || (uint32_t)cqe > gr_context(c)->attr.max_cqe || vector < 0 ||
	    vector >= c->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	struct gr_cq_object *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->events.object = o;
	if (gr_remember(gr_context(c), &o->events)) {
		free(o);
		return NULL;
	}
	struct gr_create_cq r = {.cookie = o->events.cookie, .depth = (uint32_t)cqe};
	if (channel)
		r.channel = container_of(channel, struct gr_channel_object, channel)->handle;
	int err = gr_request(&gr_context(c)->engine, GR_CREATE_CQ, &r, sizeof(r), -1, &reply,
			     sizeof(reply), &fd, 1);
	void *memory = err ? NULL : gr_map(fd, cq_size(reply.entries));
	if (!memory) {
		gr_forget(gr_context(c), &o->events);
		free(o);
		errno = err ? err : ENOMEM;
		return NULL;
	}
	use_memory(o, memory, reply.entries, reply.depth);
	o->ex.context = c;
	o->ex.channel = channel;
	o->ex.cq_context = cq_context;
	o->ex.handle = reply.handle;
	pthread_mutex_init(&o->ex.mutex, NULL);
	pthread_cond_init(&o->ex.cond, NULL);
	if (channel) {
		pthread_mutex_lock(&c->mutex);
		channel->refcnt++;
		pthread_mutex_unlock(&c->mutex);
	}
	return o;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct gr_cq_object *o = create(c, cqe, cq_context, channel, vector);
	return o ? ibv_cq_ex_to_cq(&o->ex) : NULL;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct gr_cq_object *o = (struct gr_cq_object *)cq;
	struct gr_create_cq r = {.handle = cq->handle, .depth = (uint32_t)cqe};
	struct gr_cq reply;
	int fd;

	if (cqe <= 0)
		return EINVAL;
	gr_acquire(&o->lock); /* nobody polls while the completions move */
	o->memory->head = o->head;
	int err = gr_request(&gr_context(cq->context)->engine, GR_RESIZE_CQ, &r, sizeof(r), -1,
			     &reply, sizeof(reply), &fd, 1);
	void *memory = err ? NULL : gr_map(fd, cq_size(reply.entries));
	if (memory) {
		munmap(o->memory, o->size);
		use_memory(o, memory, reply.entries, reply.depth);
		o->head = 0;
	} else if (!err) {
		err = ENOMEM;
	}
	gr_release(&o->lock);
	return err;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct gr_cq_object *o = (struct gr_cq_object *)cq;
	struct gr_context *c = gr_context(cq->context);

	int err = gr_simple(cq->context, GR_DESTROY_CQ, cq->handle);
	if (err)
		return err;
	gr_forget(c, &o->events);
	pthread_mutex_lock(&cq->mutex); /* events that the program has must be acknowledged */
	while (o->events.completions != cq->comp_events_completed ||
	       o->events.asyncs != cq->async_events_completed)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
	if (cq->channel) {
		pthread_mutex_lock(&cq->context->mutex);
		cq->channel->refcnt--;
		pthread_mutex_unlock(&cq->context->mutex);
	}
	munmap(o->memory, o->size);
	free(o);
	return 0;
}
