/* Rsockets: the queue pair. All functions are called with the socket's lock. */
#include <arpa/inet.h>
#include <byteswap.h>

#include "rsocket.h"

/* A request's ID: what its completion gives back. */
enum { OF_RECEIVE, OF_DATA, OF_CONTROL };

static uint64_t request_id(uint32_t kind, uint32_t staged) { return (uint64_t)kind << 32 | staged; }

int rs_post_receives(struct rs *s, uint32_t n)
{
	struct ibv_recv_wr wr = {.wr_id = request_id(OF_RECEIVE, 0)}, *bad;
	int err = 0;
	while (!err && n--)
		err = ibv_post_recv(s->id->qp, &wr, &bad);
	return err;
}

/* rs_post posts a WRITE, of which the given bytes of sbuf become free when it has ended. */
int rs_post(struct rs *s, struct ibv_sge *sge, int elements, uint64_t addr, uint32_t rkey,
	    enum ibv_wr_opcode op, uint32_t message, uint32_t staged)
{
	bool control = message >> 29 == RS_OP_SGL || message >> 29 == RS_OP_CTRL;
	struct ibv_send_wr *bad, wr = {
		.wr_id = request_id(control ? OF_CONTROL : OF_DATA, staged),
		.sg_list = sge, .num_sge = elements, .opcode = op, .imm_data = htonl(message),
		.send_flags = staged || !elements ? 0 : IBV_SEND_INLINE,
		.wr.rdma = {.remote_addr = addr, .rkey = rkey}};
	int err = ibv_post_send(s->id->qp, &wr, &bad);
	if (err) {
		rs_fail(s, err);
		return err;
	}
	if (control)
		s->ctrl_free--;
	else
		s->sqe_free--;
	s->unfinished++;
	return 0;
}

/* rs_write writes a small piece into the peer's tables, inline. */
int rs_write(struct rs *s, const void *data, uint32_t size, uint64_t addr, uint32_t rkey,
	     uint32_t message)
{
	struct ibv_sge sge = {.addr = (uintptr_t)data, .length = size};
	return rs_post(s, &sge, size ? 1 : 0, addr, rkey, IBV_WR_RDMA_WRITE_WITH_IMM, message, 0);
}

int rs_send_control(struct rs *s, uint32_t control)
{
	return rs_write(s, NULL, 0, 0, 0, rs_message(RS_OP_CTRL, control));
}

/* rs_stage copies bytes of the program to sbuf, whose end may split them. */
uint32_t rs_stage(struct rs *s, struct rs_cursor *from, uint32_t size, struct ibv_sge *sge,
		  int *elements)
{
	uint32_t first = s->sbuf_size - s->sbuf_tail;
	if (first > size)
		first = size;
	sge[0] = (struct ibv_sge){(uintptr_t)s->sbuf + s->sbuf_tail, first, s->smr->lkey};
	sge[1] = (struct ibv_sge){(uintptr_t)s->sbuf, size - first, s->smr->lkey};
	rs_copy(from, s->sbuf + s->sbuf_tail, first, false);
	rs_copy(from, s->sbuf, size - first, false);
	*elements = size > first ? 2 : 1;
	s->sbuf_tail = (s->sbuf_tail + size) % s->sbuf_size;
	s->sbuf_free -= size;
	return size;
}

static void grant_half(struct rs *s, uint32_t message)
{
	struct rs_sge half = {(uintptr_t)s->rbuf + s->grant_offset, s->rmr->rkey, s->rbuf_size / 2};
	if (s->swap)
		half = (struct rs_sge){bswap_64(half.addr), bswap_32(half.key), bswap_32(half.length)};
	uint64_t addr = s->remote_sgl.addr + s->remote_index * sizeof(half);
	if (rs_write(s, &half, sizeof(half), addr, s->remote_sgl.key, message))
		return;
	s->freed -= s->rbuf_size / 2;
	s->grant_offset = (s->grant_offset + s->rbuf_size / 2) % s->rbuf_size;
	s->remote_index = (s->remote_index + 1) % s->remote_sgl.length;
}

/* rs_grant grants the peer half of the buffer, or half of the receives, once they are free. */
void rs_grant(struct rs *s)
{
	while (s->state == RS_CONNECTED && s->ctrl_free > 1) { /* one is for the last message */
		bool half = s->freed >= s->rbuf_size / 2;
		if (!half && (int16_t)(s->received - s->granted) < 0)
			return;
		s->granted = (uint16_t)(s->received + s->rq_size / 2);
		uint32_t message =
			rs_message(RS_OP_SGL, (uint16_t)(s->received + s->rq_size));
		if (half)
			grant_half(s, message);
		else
			rs_write(s, NULL, 0, 0, 0, message);
	}
}

/* take_target moves on to the half that the peer has granted after the present one. */
static void take_target(struct rs *s)
{
	struct rs_sge *e = &s->sgl[s->target_index];
	if (s->target.length || !__atomic_load_n(&e->length, __ATOMIC_ACQUIRE))
		return;
	s->target = *e;
	__atomic_store_n(&e->length, 0, __ATOMIC_RELAXED);
	s->target_index = (s->target_index + 1) % RS_SGL_SIZE;
}

bool rs_can_send(const struct rs *s)
{
	return s->sqe_free && s->sbuf_free && s->sent != s->credit && s->target.length;
}

static void take_control(struct rs *s, uint32_t control)
{
	if (control == RS_CTRL_SHUTDOWN)
		s->readable = false;
	if (control == RS_CTRL_DISCONNECT || (control == RS_CTRL_SHUTDOWN && !s->writable)) {
		s->state = RS_ENDED;
		s->readable = s->writable = false;
	}
}

static void take_piece(struct rs *s, uint32_t size)
{
	if (s->piece_count == s->rq_size || size > s->rbuf_size - s->unread || !size) {
		rs_fail(s, EPROTO); /* beyond what it was granted */
		return;
	}
	s->pieces[(s->piece_head + s->piece_count++) % s->rq_size] = size;
	s->unread += size;
}

static void take_message(struct rs *s, const struct ibv_wc *wc)
{
	uint32_t message = wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data)
							   : rs_message(RS_OP_CTRL, RS_CTRL_KEEPALIVE);
	uint32_t data = message & 0x1fffffff;
	switch (message >> 29) {
	case RS_OP_SGL:
		s->credit = (uint16_t)data;
		break;
	case RS_OP_CTRL:
		take_control(s, data);
		break;
	case RS_OP_IOMAP_SGL:
		s->received++; /* it took one of the credits */
		break;
	case RS_OP_DATA:
		take_piece(s, data);
		break;
	default:
		rs_fail(s, EPROTO);
	}
}

static void take_sent(struct rs *s, const struct ibv_wc *wc)
{
	s->unfinished--;
	if (wc->wr_id >> 32 == OF_CONTROL) {
		s->ctrl_free++;
	} else {
		s->sqe_free++;
		s->sbuf_free += (uint32_t)wc->wr_id;
	}
	if (wc->status && s->state == RS_CONNECTED)
		rs_fail(s, wc->status == IBV_WC_WR_FLUSH_ERR ? ECONNRESET : EIO);
}

/* process takes the completions. */
static void process(struct rs *s)
{
	struct ibv_wc wc[16];
	uint32_t receives = 0;
	int n, all = 0;
	do {
		n = ibv_poll_cq(s->cq, 16, wc);
		for (int i = 0; i < n; i++) {
			if (wc[i].wr_id >> 32 != OF_RECEIVE) {
				take_sent(s, &wc[i]);
			} else if (!wc[i].status) {
				receives++;
				take_message(s, &wc[i]);
			} else if (s->state == RS_CONNECTED) {
				rs_fail(s, ECONNRESET); /* without a message of the peer */
			}
		}
		all += n > 0 ? n : 0;
	} while (n == 16);
	if (!all)
		return;
	if (s->state == RS_CONNECTED) {
		int err = rs_post_receives(s, receives);
		if (err)
			rs_fail(s, err);
	}
	pthread_cond_broadcast(&s->processed);
}

/* rs_advance takes what has happened, without waiting. */
void rs_advance(struct rs *s)
{
	if (rs_opening(s))
		rs_take_cm_events(s);
	if (s->cq && s->state >= RS_CONNECTED) {
		process(s);
		take_target(s);
		rs_grant(s);
	}
}

/* rs_take_events empties the completion channel. */
void rs_take_events(struct rs *s)
{
	struct ibv_cq *cq;
	void *context;
	while (s->channel && !ibv_get_cq_event(s->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/* wait_for_event sleeps without the lock. One thread of a socket polls, the others wait for it. */
static int wait_for_event(struct rs *s)
{
	if (s->polling) {
		pthread_cond_wait(&s->processed, &s->lock);
		return 0;
	}
	struct pollfd p[2] = {{.fd = s->fd, .events = POLLIN},
			      {.fd = s->channel ? s->channel->fd : -1, .events = POLLIN}};
	s->polling = true;
	pthread_mutex_unlock(&s->lock);
	int err = poll(p, 2, -1) < 0 ? errno : 0;
	pthread_mutex_lock(&s->lock);
	s->polling = false;
	rs_take_events(s);
	rs_advance(s);
	if (p[0].revents)
		rs_take_cm_events(s);
	pthread_cond_broadcast(&s->processed);
	return err;
}

/* rs_until waits until ready reports true. */
int rs_until(struct rs *s, bool (*ready)(const struct rs *), bool nonblocking)
{
	const int spins = 64;
	for (int i = 0;; i++) {
		rs_advance(s);
		if (ready(s))
			return 0;
		if (nonblocking)
			return EAGAIN;
		if (i < spins)
			continue;
		if (s->cq && !s->polling) {
			ibv_req_notify_cq(s->cq, 0);
			rs_advance(s);
			if (ready(s))
				return 0;
		}
		int err = wait_for_event(s);
		if (err)
			return err;
	}
}

static bool open_or_failed(const struct rs *s) { return !rs_opening(s); }

/* rs_until_open waits for a connection: 0, or why there is none. */
int rs_until_open(struct rs *s, bool nonblocking)
{
	if (s->state < RS_RESOLVING_ADDR)
		return ENOTCONN;
	int err = rs_until(s, open_or_failed, nonblocking);
	return err ? err : s->state == RS_FAILED ? s->error : 0;
}
