/* Event channels and events. */
#include <sys/socket.h>
#include <unistd.h>

#include "cma.h"

struct rdma_event_channel *rdma_create_event_channel(void)
{
	const struct cma_device *d = cma_open();
	struct cma_channel *c = d ? calloc(1, sizeof(*c)) : NULL;
	struct gr_handle reply;
	int fd;

	if (!c)
		return NULL;
	int err = gr_request(d->engine, GR_CM_CREATE_CHANNEL, NULL, 0, -1, &reply, sizeof(reply), &fd,
			     1);
	if (!err && fd < 0)
		err = EMFILE;
	if (err) {
		free(c);
		errno = err;
		return NULL;
	}
	c->channel.fd = fd;
	c->handle = reply.handle;
	return &c->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct cma_channel *c = (struct cma_channel *)channel;
	cma_simple(GR_CM_DESTROY_CHANNEL, c->handle);
	close(channel->fd);
	free(c);
}

static void take_param(struct cma_event *e, const struct gr_cm_event *m, bool datagrams)
{
	struct rdma_cm_event *ev = &e->event;
	const void *data = m->param.private_len ? e->private_data : NULL;
	memcpy(e->private_data, m->private_data, sizeof(e->private_data));
	if (!datagrams) {
		ev->param.conn = (struct rdma_conn_param){
			.private_data = data, .private_data_len = m->param.private_len,
			.responder_resources = m->param.responder,
			.initiator_depth = m->param.initiator, .flow_control = m->param.flow_control,
			.retry_count = m->param.retry_count, .rnr_retry_count = m->param.rnr_retry,
			.srq = m->param.srq, .qp_num = m->param.qpn};
		return;
	}
	const struct gr_path *p = &m->route.path;
	ev->param.ud = (struct rdma_ud_param){
		.private_data = data, .private_data_len = m->param.private_len,
		.qp_num = m->param.qpn, .qkey = m->param.qkey,
		.ah_attr = {.is_global = p->is_global, .port_num = p->port,
			    .grh = {.flow_label = p->flow_label, .sgid_index = p->sgid_index,
				    .hop_limit = p->hop_limit, .traffic_class = p->traffic_class}}};
	memcpy(ev->param.ud.ah_attr.grh.dgid.raw, p->dgid, sizeof(p->dgid));
}

/* take_request makes the ID of a peer's request. */
static int take_request(struct cma_event *e, const struct gr_cm_event *m)
{
	struct rdma_cm_id *listener = &e->counted->id;
	struct cma_id *p = cma_new_id(listener->channel, listener->context, m->port_space, m->qp_type);
	if (!p) {
		cma_simple(GR_CM_DESTROY_ID, m->new_id);
		return ENOMEM;
	}
	p->handle = m->new_id;
	p->responder = m->param.responder;
	p->initiator = m->param.initiator;
	cma_set_route(p, &m->route);
	e->event.id = &p->id;
	e->event.listen_id = listener;
	if (e->counted->sync && rdma_migrate_id(&p->id, NULL)) {
		int err = errno;
		rdma_destroy_id(&p->id);
		return err;
	}
	return 0;
}

/* take_response brings the queue pair up and confirms, which the program does if it has its own. */
static void take_response(struct cma_event *e)
{
	struct rdma_cm_id *id = e->event.id;
	if (!id->qp)
		return;
	e->event.event = RDMA_CM_EVENT_ESTABLISHED;
	int err = cma_connect_qp(id);
	if (!err)
		err = cma_simple(GR_CM_ESTABLISH, cma_id(id)->handle);
	if (!err)
		return;
	struct gr_cm_connect reject = {.handle = cma_id(id)->handle};
	cma_call(GR_CM_REJECT, &reject, sizeof(reject), NULL, 0);
	cma_qp_error(id);
	e->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	e->event.status = -err;
}

static void acknowledge(struct cma_id *p)
{
	pthread_mutex_lock(&p->mutex);
	p->events_completed++;
	pthread_cond_signal(&p->acknowledged);
	pthread_mutex_unlock(&p->mutex);
}

/* take fills an event. It returns an errno if the program gets none. */
static int take(struct cma_event *e, const struct gr_cm_event *m)
{
	struct cma_id *p = e->counted = (struct cma_id *)(uintptr_t)m->cookie;
	e->event.id = &p->id;
	e->event.event = m->kind;
	e->event.status = m->status;
	take_param(e, m, p->id.ps != RDMA_PS_TCP);
	switch (m->kind) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cma_set_route(p, &m->route);
		if (m->kind == RDMA_CM_EVENT_ROUTE_RESOLVED) {
			p->id.route.path_rec = &p->path;
			p->id.route.num_paths = 1;
		}
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return take_request(e, m);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		take_response(e);
		break;
	case RDMA_CM_EVENT_REJECTED:
		cma_qp_error(&p->id);
		break;
	default:
		break;
	}
	return 0;
}

/*
 * wait_for_end is where a thread stays that waits for the events of a channel while another
 * destroys it. With the kernel it stays in write(2). Programs such as rping end in that state, and
 * would take an error for one of their connection.
 */
static void wait_for_end(void)
{
	for (;;)
		pause();
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cma_channel *c = (struct cma_channel *)channel;
	struct gr_handle h = {.handle = 0};
	struct gr_cm_event m;
	char byte;

	if (!event)
		return fail(EINVAL);
	struct cma_event *e = calloc(1, sizeof(*e));
	if (!e)
		return fail(ENOMEM);
	h.handle = c->handle;
	int err;
	do {
		ssize_t n = recv(channel->fd, &byte, 1, 0);
		err = n < 0 ? errno : cma_call(GR_CM_GET_EVENT, &h, sizeof(h), &m, sizeof(m));
		if (n >= 0 && err == EINVAL)
			wait_for_end();
		if (n <= 0)
			break;
		if (!err && (err = take(e, &m))) {
			acknowledge(e->counted);
			err = EAGAIN; /* the request is gone; the next event may be there */
		}
	} while (err == EAGAIN);
	if (err) {
		free(e);
		return fail(err == EIO ? ENODEV : err); /* the engine is gone */
	}
	*event = &e->event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cma_event *e = (struct cma_event *)event;
	if (!event)
		return fail(EINVAL);
	acknowledge(e->counted);
	free(e);
	return 0;
}

/* cma_complete waits for the event of a call on a synchronous ID. */
int cma_complete(struct rdma_cm_id *id)
{
	if (!cma_id(id)->sync)
		return 0;
	if (id->event) {
		rdma_ack_cm_event(id->event);
		id->event = NULL;
	}
	if (rdma_get_cm_event(id->channel, &id->event))
		return -1;
	int status = id->event->status;
	if (!status)
		return 0;
	if (id->event->event == RDMA_CM_EVENT_REJECTED)
		return fail(ECONNREFUSED);
	return fail(status < 0 ? -status : status);
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
#define NAME(e)                                                                                    \
	case e:                                                                                    \
		return #e;
	switch (event) {
		NAME(RDMA_CM_EVENT_ADDR_RESOLVED)
		NAME(RDMA_CM_EVENT_ADDR_ERROR)
		NAME(RDMA_CM_EVENT_ROUTE_RESOLVED)
		NAME(RDMA_CM_EVENT_ROUTE_ERROR)
		NAME(RDMA_CM_EVENT_CONNECT_REQUEST)
		NAME(RDMA_CM_EVENT_CONNECT_RESPONSE)
		NAME(RDMA_CM_EVENT_CONNECT_ERROR)
		NAME(RDMA_CM_EVENT_UNREACHABLE)
		NAME(RDMA_CM_EVENT_REJECTED)
		NAME(RDMA_CM_EVENT_ESTABLISHED)
		NAME(RDMA_CM_EVENT_DISCONNECTED)
		NAME(RDMA_CM_EVENT_DEVICE_REMOVAL)
		NAME(RDMA_CM_EVENT_MULTICAST_JOIN)
		NAME(RDMA_CM_EVENT_MULTICAST_ERROR)
		NAME(RDMA_CM_EVENT_ADDR_CHANGE)
		NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT)
	}
	return "UNKNOWN EVENT";
}
