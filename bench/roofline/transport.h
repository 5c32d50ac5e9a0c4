/* transport: connections that are reliable, and nothing else. A message is one frame, a SEND into
 * the peer's oldest receive or a WRITE into its region. The receiver takes frames in order of their
 * PSN and repeats nothing; the sender goes back to the oldest unacknowledged one after a NAK or a
 * timeout. What may have to be sent again stays in the memory of the application, which must not
 * change it before the completion, as verbs have it: a retransmission copies from there, and
 * nothing is copied to keep it.
 *
 * What goroce has beyond this: messages of many frames, READs and atomics, IPv6, VLANs, neighbour
 * discovery, congestion control, selective retransmission, RNR NAKs, limited retries, states,
 * events, several classes, counters, and that connections come and go. */
#ifndef TRANSPORT_H
#define TRANSPORT_H
#include "wire.h"

static unsigned depth = 128;             /* messages outstanding on a connection; a power of two */
static double timeout_ms = 100, lose;    /* lose: part of the frames that receivers drop */

struct wqe {                             /* a message to send */
	uint64_t id;
	const uint8_t *from;
	uint64_t remote;                 /* a WRITE's address and key */
	uint32_t key, len;
	uint8_t op;
	bool signal;                     /* write a completion */
};

struct rqe { uint64_t id; uint8_t *to; uint32_t len; }; /* a buffer for a SEND */
struct cqe { uint64_t id; uint32_t qpn, len; uint8_t op; }; /* of SEND_ONLY | ACK at a receiver */

enum { ACK_NONE, ACK_DUE, NAK_DUE };
enum { CQ = 8192 }; /* a burst completes at most BURST receives, or BURST x depth sends */

/* A connection, in two cache lines. PSNs count on in 32 bits; frames have the lower 24. */
struct conn {
	uint32_t una, nxt, max, end; /* PSNs: oldest unacknowledged, next, highest sent, posted */
	struct wqe *sq;              /* a ring, by PSN */
	uint64_t deadline;           /* TSC of the timeout of una; 0: nothing is outstanding */
	uint32_t epsn, msn;          /* expected PSN; messages received */
	uint32_t posted, taken;      /* receives */
	struct rqe *rq;              /* a ring */
	uint32_t qpn;
	uint8_t ack;                 /* to send */
	bool nak_sent;               /* for epsn */
	bool sends, timed;           /* is in the queue of senders, of timers */
	struct template tmpl __rte_cache_aligned;
	uint64_t examine;            /* TSC from which on the queue of timers looks at it */
} __rte_cache_aligned;

/* A queue of connections, each at most once. */
struct queue { struct conn **at; uint32_t head, tail, mask; };

inlined bool queue_empty(const struct queue *q) { return q->head == q->tail; }
inlined struct conn *queue_first(const struct queue *q) { return q->at[q->head & q->mask]; }
inlined struct conn *queue_pop(struct queue *q) { return q->at[q->head++ & q->mask]; }
inlined void queue_push(struct queue *q, struct conn *c) { q->at[q->tail++ & q->mask] = c; }

struct side {                            /* one end of the wire */
	uint16_t port;
	struct rte_mempool *pool, *peer_pool;
	uint8_t before_ip[8];            /* source MAC's end and EtherType: what the mask covers */
	struct conn **slots;             /* by the lower bits of the queue pair's number */
	uint32_t slot_mask;
	struct queue senders, acks, timers;
	uint64_t now, timeout;           /* TSC */

	struct rte_mbuf *out[2 * BURST], *spare[BURST];
	uint16_t checksum[2 * BURST];
	unsigned built, sealed, spares;  /* built frames in out, of which sealed have their CRC */

	struct cqe *cq;
	uint32_t cq_head, cq_tail;

	uint8_t *region;                 /* what the peer may write to, with this key */
	uint64_t region_len;
	uint32_t key;

	uint64_t random;
	/* Messages posted, sent for the first time, acknowledged, received; then frames. */
	uint64_t posted, begun, done, received, sent, lost, refused, duplicates, naks, timeouts;
} __rte_cache_aligned;

inlined uint32_t random32(uint64_t *s) /* xorshift64* (Vigna, ACM TOMS 42, 2016) */
{
	*s ^= *s >> 12, *s ^= *s << 25, *s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dull >> 32;
}

/* ---- application interface ---- */
inlined bool send_room(const struct conn *c) { return c->end - c->una < depth; }

inlined void schedule(struct side *s, struct conn *c)
{
	if (!c->sends)
		c->sends = true, queue_push(&s->senders, c);
}

/* Posts a message; there must be room. */
inlined void post_send(struct side *s, struct conn *c, const struct wqe *w)
{
	c->sq[c->end++ & (depth - 1)] = *w;
	s->posted++;
	schedule(s, c);
}

inlined void post_receive(struct conn *c, const struct rqe *r)
{ c->rq[c->posted++ & (depth - 1)] = *r; }

inlined bool poll_cq(struct side *s, struct cqe *e)
{
	if (s->cq_head == s->cq_tail)
		return false;
	*e = s->cq[s->cq_head++ & (CQ - 1)];
	return true;
}

inlined void complete(struct side *s, uint64_t id, const struct conn *c, uint32_t len, uint8_t op)
{
	if (unlikely(s->cq_tail - s->cq_head == CQ))
		die("the completion queue is full");
	struct cqe *e = &s->cq[s->cq_tail++ & (CQ - 1)];
	e->id = id, e->qpn = c->qpn, e->len = len, e->op = op;
}

/* ---- sending ---- */
/* Gives the built frames their CRC and takes the mask off. */
inlined void seal(struct side *s)
{
	for (; s->sealed < s->built; s->sealed++) {
		struct rte_mbuf *m = s->out[s->sealed];
		struct headers *h = rte_pktmbuf_mtod(m, struct headers *);
		uint32_t len = m->data_len - CRC_LEN;
		word((uint8_t *)h + len) = frame_crc(h, len);
		mask_off(h, s->before_ip, s->checksum[s->sealed]);
	}
}

inlined void flush(struct side *s)
{
	if (s->built == 0)
		return;
	seal(s);
	unsigned n = rte_eth_tx_burst(s->port, 0, s->out, s->built);
	s->built -= n, s->sealed -= n, s->sent += n;
	if (unlikely(s->built > 0)) {        /* the port is full: the rest goes first next time */
		memmove(s->out, s->out + n, s->built * sizeof(s->out[0]));
		memmove(s->checksum, s->checksum + n, s->built * sizeof(s->checksum[0]));
	}
}

/* Begins a frame with body bytes after the BTH. It returns NULL when there is no mbuf. */
inlined struct headers *build(struct side *s, const struct conn *c, uint8_t op, uint32_t psn,
			      uint32_t body)
{
	if (s->spares == 0) {
		if (unlikely(rte_mempool_get_bulk(s->pool, (void **)s->spare, BURST) < 0))
			return NULL;
		s->spares = BURST;
	}
	struct rte_mbuf *m = s->spare[--s->spares];
	struct headers *h = rte_pktmbuf_mtod(m, struct headers *);
	m->pkt_len = m->data_len = HDR + body + CRC_LEN;
	s->checksum[s->built] = template_write(&c->tmpl, h, op, psn, body);
	s->out[s->built++] = m;
	return h;
}

/* All timeouts are equally long, so that the queue of timers has the order of time: it is enough to
 * look at its first connection. One whose deadline has moved meanwhile goes to the end, and is
 * looked at again no later than a timeout after its deadline. */
inlined void start_timer(struct side *s, struct conn *c)
{
	c->deadline = s->now + s->timeout;
	if (!c->timed)
		c->timed = true, c->examine = c->deadline, queue_push(&s->timers, c);
}

inlined bool send_next(struct side *s, struct conn *c)
{
	const struct wqe *w = &c->sq[c->nxt & (depth - 1)];
	uint32_t ext = w->op == WRITE_ONLY ? RETH : 0;
	struct headers *h = build(s, c, w->op, (c->nxt & MASK24) | (uint32_t)ACK_REQUEST << 24,
				  ext + w->len);
	if (unlikely(!h))
		return false;
	if (ext)
		*(struct reth *)h->ext = (struct reth){ rte_cpu_to_be_64(w->remote),
			rte_cpu_to_be_32(w->key), rte_cpu_to_be_32(w->len) };
	copy(h->ext + ext, w->from, w->len);
	if (w->len > 256)
		seal(s);                     /* while the frame is in L1 */
	if (c->deadline == 0)
		start_timer(s, c);
	if (c->nxt++ == c->max)
		c->max++, s->begun++;
	return true;
}

inlined void send_ack(struct side *s, struct conn *c)
{
	bool nak = c->ack == NAK_DUE;        /* it names the missing frame, an ACK the last one */
	struct headers *h = build(s, c, ACK, (c->epsn - !nak) & MASK24, AETH);
	if (unlikely(!h))
		return;
	uint32_t syndrome = nak ? SYNDROME_NAK : SYNDROME_ACK;
	((struct aeth *)h->ext)->syndrome_msn = rte_cpu_to_be_32(syndrome << 24 | (c->msn & MASK24));
	c->ack = ACK_NONE;
}

/* Sends what is due: requests, a burst of a connection at a time; then ACKs, for which the requests
 * leave room. */
inlined void transmit(struct side *s)
{
	while (s->built < BURST && !queue_empty(&s->senders)) {
		struct conn *c = queue_first(&s->senders);
		while (c->nxt != c->end && s->built < BURST && send_next(s, c));
		queue_pop(&s->senders), c->sends = false;
		if (c->nxt != c->end) {
			schedule(s, c);
			break;
		}
	}
	flush(s);
	while (s->built < 2 * BURST && !queue_empty(&s->acks)) {
		struct conn *c = queue_first(&s->acks);
		send_ack(s, c);
		if (c->ack != ACK_NONE)
			break;
		queue_pop(&s->acks);
	}
	flush(s);
}

/* ---- receiving ---- */
struct arrival {
	struct headers *h;
	struct conn *c;
	uint32_t len;                        /* without the CRC */
};

/* Returns the PSN near base that has the 24 bits of a frame. */
inlined uint32_t psn_of(const struct headers *h, uint32_t base)
{ return base + ((int32_t)((rte_be_to_cpu_32(h->bth.psn) - base) << 8) >> 8); }

inlined void go_back(struct side *s, struct conn *c)
{
	c->nxt = c->una;
	schedule(s, c);
}

inlined void on_ack(struct side *s, struct conn *c, const struct headers *h)
{
	uint32_t syndrome = rte_be_to_cpu_32(((const struct aeth *)h->ext)->syndrome_msn) >> 24;
	uint32_t end = psn_of(h, c->una) + (syndrome == SYNDROME_ACK);
	if ((int32_t)(end - c->una) < 0 || (int32_t)(end - c->max) > 0)
		return;                          /* an old one, or of frames that were not sent */
	if (end != c->una) {
		s->done += end - c->una;
		for (; c->una != end; c->una++) {
			const struct wqe *w = &c->sq[c->una & (depth - 1)];
			if (w->signal)
				complete(s, w->id, c, w->len, w->op);
		}
		if ((int32_t)(c->nxt - c->una) < 0)
			c->nxt = c->una;             /* the peer had more than assumed when we went back */
		c->deadline = 0;
		if (c->una != c->max)
			start_timer(s, c);
	}
	if (syndrome == SYNDROME_NAK && c->una != c->max)
		s->naks++, go_back(s, c);
}

inlined void schedule_ack(struct side *s, struct conn *c, uint8_t kind)
{
	if (c->ack == ACK_NONE)
		queue_push(&s->acks, c);
	c->ack = RTE_MAX(c->ack, kind);      /* a NAK acknowledges too */
}

/* Executes the request whose turn it is. It reports whether there was a place for it. */
inlined bool execute(struct side *s, struct conn *c, const struct arrival *a)
{
	const struct headers *h = a->h;
	if (h->bth.op == WRITE_ONLY) {
		const struct reth *r = (const struct reth *)h->ext;
		uint64_t at = rte_be_to_cpu_64(r->addr) - (uintptr_t)s->region;
		uint32_t len = rte_be_to_cpu_32(r->len);
		if (unlikely(r->key != rte_cpu_to_be_32(s->key) || len > s->region_len ||
			     at > s->region_len - len || len != a->len - HDR - RETH))
			die("a WRITE outside the region");
		copy(s->region + at, h->ext + RETH, len);
		return true;
	}
	const struct rqe *q = &c->rq[c->taken & (depth - 1)];
	uint32_t len = a->len - HDR;
	if (unlikely(c->taken == c->posted))
		return false;                    /* the sender's timer repeats it */
	if (unlikely(len > q->len))
		die("a SEND longer than its receive");
	copy(q->to, h->ext, len);
	c->taken++;
	complete(s, q->id, c, len, SEND_ONLY | ACK);
	return true;
}

inlined void on_request(struct side *s, struct conn *c, const struct arrival *a)
{
	int32_t ahead = psn_of(a->h, c->epsn) - c->epsn;
	if (likely(ahead == 0)) {
		if (!execute(s, c, a))
			return;
		c->epsn++, c->msn++, s->received++;
		c->nak_sent = false;
		if (c->ack == NAK_DUE)
			c->ack = ACK_DUE;            /* what was missing arrived before the NAK left */
		if (a->h->bth.psn & RTE_BE32((uint32_t)ACK_REQUEST << 24))
			schedule_ack(s, c, ACK_DUE);
	} else if (ahead < 0) {
		s->duplicates++;
		schedule_ack(s, c, ACK_DUE);
	} else if (!c->nak_sent) {           /* one for a gap (IB 9.7.5.2.4) */
		c->nak_sent = true;
		schedule_ack(s, c, NAK_DUE);
	}
}

/* Checks the headers, looks up the connection and puts the mask on. */
inlined struct arrival arrive(struct side *s, struct rte_mbuf *m)
{
	struct headers *h = rte_pktmbuf_mtod(m, struct headers *);
	struct arrival a = { h, NULL, m->data_len - CRC_LEN };
	if (unlikely(lose > 0) && random32(&s->random) < lose * UINT32_MAX) {
		s->lost++;
	} else if (unlikely(!headers_good(h, m->data_len))) {
		s->refused++;
	} else if (unlikely(!(a.c = s->slots[rte_be_to_cpu_32(h->bth.qpn) & s->slot_mask]))) {
		s->refused++;
	} else {
		rte_prefetch0(a.c);
		mask_on(h);
	}
	return a;
}

/* Receives a burst, in passes over it so that cache misses of its frames overlap. */
inlined void receive(struct side *s)
{
	struct rte_mbuf *b[BURST];
	struct arrival in[BURST];
	uint16_t n = rte_eth_rx_burst(s->port, 0, b, BURST);
	if (n == 0)
		return;
	for (unsigned i = 0; i < n; i++) {   /* the data's place is known without the mbuf's line */
		uint8_t *f = (uint8_t *)(b[i] + 1) + RTE_PKTMBUF_HEADROOM;
		rte_prefetch0(b[i]), rte_prefetch0(f), rte_prefetch0(f + 64);
	}
	for (unsigned i = 0; i < n; i++)
		in[i] = arrive(s, b[i]);
	for (unsigned i = 0; i < n; i++)
		if (in[i].c && in[i].c->rq)
			rte_prefetch0(&in[i].c->rq[in[i].c->taken & (depth - 1)]);
	for (unsigned i = 0; i < n; i++) {
		struct conn *c = in[i].c;
		struct headers *h = in[i].h;
		if (unlikely(!c))
			continue;
		if (unlikely((rte_be_to_cpu_32(h->bth.qpn) & MASK24) != c->qpn ||
			     word((uint8_t *)h + in[i].len) != frame_crc(h, in[i].len)))
			s->refused++;
		else if (h->bth.op == ACK)
			on_ack(s, c, h);
		else
			on_request(s, c, &in[i]);
	}
	rte_mempool_put_bulk(s->peer_pool, (void **)b, n);
}

/* ---- timers ---- */
inlined void run_timers(struct side *s)
{
	while (!queue_empty(&s->timers) && queue_first(&s->timers)->examine <= s->now) {
		struct conn *c = queue_pop(&s->timers);
		c->timed = false;
		if (c->deadline > s->now) {
			c->timed = true, c->examine = c->deadline, queue_push(&s->timers, c);
		} else if (c->deadline != 0) {
			s->timeouts++;
			start_timer(s, c);
			go_back(s, c);
		}
	}
}
#endif
