/* Rsockets: addresses and connections. */
#include <arpa/inet.h>
#include <endian.h>

#include "rsocket.h"

enum { RESOLVE_MS = 2000 };

static const bool big_endian = __BYTE_ORDER == __BIG_ENDIAN;

/* Sizes of tables from 128 on are multiples of 256, with bit 7 set. */
static uint8_t rs_scale(uint32_t n)
{
	return (uint8_t)(n < 128 ? n : 128 | n >> 8);
}

static uint32_t rs_unscale(uint8_t n) { return n < 128 ? n : (n & 127U) << 8; }

void rs_put_hello(const struct rs *s, struct rs_hello *h)
{
	*h = (struct rs_hello){
		.version = RS_VERSION,
		.flags = (uint8_t)(RS_FLAG_IOMAP | (big_endian ? RS_FLAG_BIG_ENDIAN : 0)),
		.credits = htobe16((uint16_t)s->rq_size),
		.iomap_size = rs_scale(s->iomap_size),
		.sgl = {htobe64((uintptr_t)s->sgl), htobe32(s->tmr->rkey), htobe32(RS_SGL_SIZE)},
		.data = {htobe64((uintptr_t)s->rbuf), htobe32(s->rmr->rkey),
			 htobe32(s->rbuf_size / 2)}};
}

static struct rs_sge from_network(const struct rs_sge *e)
{
	return (struct rs_sge){be64toh(e->addr), be32toh(e->key), be32toh(e->length)};
}

int rs_take_hello(struct rs *s, const struct rs_hello *h, size_t size)
{
	if (!h || size < sizeof(*h) || h->version != RS_VERSION)
		return EPROTO;
	s->remote_sgl = from_network(&h->sgl);
	if (!s->remote_sgl.length)
		return EPROTO;
	/* the first entry is the half that comes with the private data */
	s->remote_index = 1 % s->remote_sgl.length;
	s->target = from_network(&h->data);
	s->target_index = 1;
	s->credit = be16toh(h->credits);
	s->swap = big_endian != !!(h->flags & RS_FLAG_BIG_ENDIAN);
	if (!(h->flags & RS_FLAG_IOMAP) || !h->iomap_size)
		return 0;
	s->remote_iomap = s->remote_sgl.addr + sizeof(struct rs_sge) * s->remote_sgl.length;
	s->mappings = calloc(rs_unscale(h->iomap_size), sizeof(*s->mappings));
	if (!s->mappings)
		return ENOMEM;
	s->remote_iomap_size = rs_unscale(h->iomap_size);
	return 0;
}

bool rs_opening(const struct rs *s)
{
	return s->state >= RS_RESOLVING_ADDR && s->state <= RS_ACCEPTING;
}

static int request(struct rs *s)
{
	struct rs_hello h;
	int err = rs_open_queue_pair(s);
	if (err)
		return fail(err);
	rs_put_hello(s, &h);
	struct rdma_conn_param param = {.private_data = &h, .private_data_len = sizeof(h),
					.flow_control = 1, .retry_count = 7, .rnr_retry_count = 7};
	return rdma_connect(s->id, &param);
}

static void established(struct rs *s)
{
	s->state = RS_CONNECTED;
	s->readable = s->writable = true;
	rs_grant(s);
}

/* next_step begins what follows after a step has ended: 0 if that has ended, too, or -1. */
static int next_step(struct rs *s)
{
	const struct rdma_conn_param *p;
	int err;

	switch (s->state) {
	case RS_RESOLVING_ADDR:
		s->state = RS_RESOLVING_ROUTE;
		return rdma_resolve_route(s->id, RESOLVE_MS);
	case RS_RESOLVING_ROUTE:
		s->state = RS_CONNECTING;
		return request(s);
	case RS_CONNECTING:
		p = &s->id->event->param.conn;
		err = rs_take_hello(s, p->private_data, p->private_data_len);
		if (!err)
			established(s);
		return fail(err);
	default:
		established(s);
		return 0;
	}
}

static void go_on(struct rs *s, int result)
{
	while (!result && rs_opening(s))
		result = next_step(s);
	if (result && errno != EAGAIN)
		rs_fail(s, errno);
}

/* rs_take_cm_events takes what the connection manager has reported, without waiting for it. */
void rs_take_cm_events(struct rs *s)
{
	struct rdma_cm_event *event;
	if (rs_opening(s)) {
		go_on(s, cma_complete(s->id));
		return;
	}
	while (!rdma_get_cm_event(s->id->channel, &event)) {
		bool end = event->event == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(event);
		if (end && s->state == RS_CONNECTED) {
			s->state = RS_ENDED;
			s->readable = s->writable = false;
		}
	}
	if (errno != EAGAIN && s->state == RS_CONNECTED)
		rs_fail(s, errno); /* the engine is gone */
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t len)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	if (!addr || len < sizeof(struct sockaddr_in))
		return fail(EINVAL);
	pthread_mutex_lock(&s->lock);
	int err = 0;
	if (rs_opening(s)) {
		rs_take_cm_events(s);
		err = rs_opening(s) ? EALREADY : 0;
	} else if (s->state != RS_NEW) {
		err = EISCONN;
	} else {
		s->state = RS_RESOLVING_ADDR;
		go_on(s, rdma_resolve_addr(s->id, NULL, (struct sockaddr *)addr, RESOLVE_MS));
	}
	if (!err)
		err = rs_until_open(s, s->nonblocking);
	pthread_mutex_unlock(&s->lock);
	return fail(err == EAGAIN ? EINPROGRESS : err);
}

int rbind(int socket, const struct sockaddr *addr, socklen_t len)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	if (!addr || len < sizeof(struct sockaddr_in))
		return fail(EINVAL);
	return rdma_bind_addr(s->id, (struct sockaddr *)addr);
}

int rlisten(int socket, int backlog)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	pthread_mutex_lock(&s->lock);
	int err = 0;
	if (s->state == RS_NEW)
		err = rdma_listen(s->id, backlog) ? errno : 0;
	else if (s->state != RS_LISTENING)
		err = EINVAL;
	if (!err)
		s->state = RS_LISTENING;
	pthread_mutex_unlock(&s->lock);
	return fail(err);
}

/* accept_id makes a socket of a peer's request. */
static int accept_id(struct rs *s)
{
	const struct rdma_conn_param *p = &s->id->event->param.conn;
	struct rs_hello h;
	int err = rs_take_hello(s, p->private_data, p->private_data_len);
	if (!err)
		err = rs_add(s);
	if (!err)
		err = rs_open_queue_pair(s);
	if (err) {
		rdma_reject(s->id, NULL, 0);
		return err;
	}
	rs_put_hello(s, &h);
	struct rdma_conn_param param = {.private_data = &h, .private_data_len = sizeof(h),
					.flow_control = 1, .retry_count = 7, .rnr_retry_count = 7};
	s->state = RS_ACCEPTING;
	go_on(s, rdma_accept(s->id, &param));
	return s->state == RS_FAILED ? s->error : 0;
}

/* wait_for_request returns the ID of the next request. */
static int wait_for_request(struct rs *listener, struct rdma_cm_id **id)
{
	while (rdma_get_request(listener->id, id)) {
		if (errno != EAGAIN || listener->nonblocking)
			return errno;
		struct pollfd p = {.fd = listener->fd, .events = POLLIN};
		if (poll(&p, 1, -1) < 0)
			return errno;
	}
	return 0;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *len)
{
	struct rs *listener = rs_find(socket);
	if (!listener)
		return -1;
	if (listener->state != RS_LISTENING)
		return fail(EINVAL);
	struct rs *s = rs_new(listener);
	if (!s)
		return fail(ENOMEM);
	int err = wait_for_request(listener, &s->id);
	if (!err)
		err = accept_id(s);
	if (err) {
		rs_free(s);
		return fail(err);
	}
	if (addr && len)
		rgetpeername(s->fd, addr, len);
	return s->fd;
}

static int get_name(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *len)
{
	socklen_t size = from->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_in);
	if (!to || !len)
		return fail(EFAULT);
	memcpy(to, from, *len < size ? *len : size);
	*len = size;
	return 0;
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *len)
{
	struct rs *s = rs_find(socket);
	return s ? get_name(&s->id->route.addr.src_storage, addr, len) : -1;
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *len)
{
	struct rs *s = rs_find(socket);
	return s ? get_name(&s->id->route.addr.dst_storage, addr, len) : -1;
}
