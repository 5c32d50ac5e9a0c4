/* protocol: what a reliable protocol costs at least, over the rings of roofline.c. Frames are
 * RoCEv2 with IPv4 (wire.h); a transport builds and parses them, looks up one of N connections,
 * checks the PSN, copies, computes the invariant CRC, acknowledges, completes, keeps a timer and
 * goes back after a loss, and does nothing else (transport.h). Two applications on it, on a core
 * each, post work requests and poll completions:
 *   messages     A sends 32 bytes to B, which posts each receive again
 *   goodput      A writes 4096 bytes into a 64 KiB region of B, 16 in a row on a connection
 *   latency      ping-pong of 8-byte WRITEs, seen in memory; half the round trip
 *   connections  A sends 64 bytes, each on a connection that it draws
 * Every mode takes --connections N; the first, second and fourth then draw the connection. There is
 * one ACK a connection and received burst, and a completion of every 64th message sent and of every
 * SEND received. At most --depth messages of a connection are outstanding.
 *
 * After each run both ends are compared: every message was acknowledged and executed once, and what
 * was sent is in the receiver's memory. With --check each SEND also has its number on its
 * connection, which the receiver compares. --lose P drops a part P of the frames that either side
 * receives. Ports, cores, and which runs count: see roofline.c. */
#include "transport.h"

enum {
	SIGNAL = 64,                 /* messages of a connection of which one has a completion */
	BACKLOG = 2 * BURST,         /* messages posted that have not been sent, at most */
	TRIES = 4,                   /* connections to draw before all are taken as full */
};

static unsigned connections = 1;
static bool check;

static const struct mode {
	const char *name, *metric, *unit;
	uint8_t op;
	uint32_t payload, region;    /* bytes of a message; at most, of a connection's memory */
	unsigned turn;               /* messages in a row on a connection */
} modes[] = {
	{ "messages", "messages", "msg/s", SEND_ONLY, 32, 1 << 16, 1 },
	{ "goodput", "goodput", "Gb/s", WRITE_ONLY, MTU, 1 << 16, 16 },
	{ "latency", "latency.p50", "ns", WRITE_ONLY, 8, 8, 1 },
	{ "connections", "connections", "msg/s", SEND_ONLY, 64, 1 << 16, 1 },
};
enum { GOODPUT = 1, LATENCY = 2 };

/* An end: its side of the transport, and the application's memory and state. */
static struct end {
	struct side s;
	struct conn *conns;
	uint8_t *out, *in;           /* connections x slots messages to send, and received ones */
	uint32_t *numbers;           /* messages of each connection so far, with --check */
	struct wqe *sq;
	struct rqe *rq;
	uint64_t draw;
	uint32_t chosen, left;       /* connection, and how many messages more go there in a row */
} A, B;

static const struct mode *m;
static uint32_t slots;               /* messages in a connection's memory; a power of two */
static double rate;                  /* of the last run */
/* TSC at which measuring starts and ends, 0 before the first poll; where B's count started. */
static uint64_t from, to, t0, received0;
static uint64_t hz;                  /* of the TSC */

static volatile bool stop __rte_cache_aligned;    /* the time is over */
static volatile bool stopped __rte_cache_aligned; /* A to B: all is acknowledged */

/* The place of a connection's message in the memory of either end. */
inlined uint64_t offset(uint32_t conn, uint32_t psn, uint32_t payload)
{ return ((uint64_t)conn * slots + (psn & (slots - 1))) * payload; }

/* ---- applications ---- */
inlined void post(struct end *e, uint32_t i, uint8_t op, uint32_t payload, const uint8_t *peer,
		  uint32_t peer_key)
{
	struct conn *c = &e->conns[i];
	uint64_t at = offset(i, c->end, payload);
	struct wqe w = { .id = i, .from = e->out + at, .len = payload, .op = op,
		.signal = c->end % SIGNAL == 0 };
	if (op == WRITE_ONLY)
		w.remote = (uintptr_t)peer + at, w.key = peer_key;
	else if (check)
		memcpy(e->out + at, &e->numbers[i], 4), e->numbers[i]++;
	post_send(&e->s, c, &w);
}

/* Posts messages while some of the last ones have not been sent. It reports whether A goes on. */
inlined bool source(uint8_t op, uint32_t payload, unsigned turn)
{
	struct cqe done;
	while (poll_cq(&A.s, &done));
	if (stop)
		return A.s.done != A.s.posted;
	for (unsigned tries = TRIES; tries > 0 && A.s.posted - A.s.begun < BACKLOG;) {
		if (A.left == 0)
			A.left = turn, A.chosen = (uint64_t)random32(&A.draw) * connections >> 32;
		if (!send_room(&A.conns[A.chosen])) {
			A.left = 0, tries--;
			continue;
		}
		post(&A, A.chosen, op, payload, B.in, B.s.key);
		A.left--;
	}
	return true;
}

/* Posts the receives again and measures from the warm-up on. It reports whether B goes on. */
inlined bool sink(uint32_t payload)
{
	struct cqe e;
	while (poll_cq(&B.s, &e)) {
		uint32_t i = e.id >> 32;
		uint64_t at = offset(i, e.id, payload);
		if (check && (load32(B.in + at) != B.numbers[i]++ || e.len != payload))
			die("a message arrived twice, not at all or out of order");
		post_receive(&B.conns[i], &(struct rqe){ e.id, B.in + at, payload });
	}
	uint64_t now = B.s.now;
	if (unlikely(from == 0)) {
		from = now + warmup * hz, to = UINT64_MAX;
	} else if (unlikely(now >= from)) {
		t0 = now, received0 = B.s.received, from = UINT64_MAX, to = now + seconds * hz;
	} else if (unlikely(now >= to) && !stop) {
		rate = (B.s.received - received0) * (double)hz / (now - t0);
		stop = true;
	}
	return !stopped;
}

/* Sends round after round when the last one has come back. It reports whether A goes on. */
inlined bool ping(void)
{
	static uint64_t round, sent;
	uint64_t now;
	struct cqe done;
	while (poll_cq(&A.s, &done));
	if (stop)
		return A.s.done != A.s.posted;
	if (*(volatile uint64_t *)A.in != A.s.posted)
		return true;
	now = rte_rdtsc();
	if (A.s.posted == 0)
		round = 0, from = now + warmup * hz, to = from + seconds * hz;
	else if (sent >= from)
		record(now - sent);
	if (now >= to)
		return stop = true, A.s.done != A.s.posted;
	memcpy(A.out, &(uint64_t){ ++round }, 8);
	post(&A, 0, WRITE_ONLY, 8, B.in, B.s.key);
	sent = rte_rdtsc();
	return true;
}

/* Sends each round back. It reports whether B goes on. */
inlined bool pong(void)
{
	struct cqe done;
	while (poll_cq(&B.s, &done));
	uint64_t round = *(volatile uint64_t *)B.in;
	if (round != B.s.posted) {
		memcpy(B.out, &round, 8);
		post(&B, 0, WRITE_ONLY, 8, A.in, A.s.key);
	}
	return !stopped;
}

/* Polls a side for its application. */
#define POLL(name, end, step) \
	static int name(void *_ __rte_unused) \
	{ \
		bool more = true; \
		while (more) { \
			(end)->s.now = rte_rdtsc(); \
			receive(&(end)->s); \
			more = step; \
			transmit(&(end)->s); \
			run_timers(&(end)->s); \
		} \
		stopped = true; \
		return 0; \
	}
/* Constants, so that each shape has its own straight code. */
POLL(messages_from, &A, source(SEND_ONLY, 32, 1))
POLL(messages_to, &B, sink(32))
POLL(goodput_from, &A, source(WRITE_ONLY, MTU, 16))
POLL(goodput_to, &B, sink(MTU))
POLL(latency_from, &A, ping())
POLL(latency_to, &B, pong())
POLL(connections_from, &A, source(SEND_ONLY, 64, 1))
POLL(connections_to, &B, sink(64))
static lcore_function_t *const loops[][2] = {
	{ messages_from, messages_to }, { goodput_from, goodput_to },
	{ latency_from, latency_to }, { connections_from, connections_to },
};

/* ---- runs ---- */
static void *need(size_t n)
{
	void *p = aligned_alloc(4096, RTE_ALIGN_CEIL(RTE_MAX(n, (size_t)1), 4096));
	if (!p)
		die("no memory");
	return memset(p, 0, n);
}

static struct queue queue_new(void)
{
	uint32_t n = rte_align32pow2(connections);
	return (struct queue){ .at = need(n * sizeof(struct conn *)), .mask = n - 1 };
}

/* Allocates what an end needs for its connections in this mode. */
static void end_create(struct end *e, uint32_t key)
{
	struct side *s = &e->s;
	uint32_t n = rte_align32pow2(connections);
	uint64_t bytes = (uint64_t)connections * slots * m->payload;
	s->slots = need(n * sizeof(*s->slots)), s->slot_mask = n - 1;
	s->senders = queue_new(), s->acks = queue_new(), s->timers = queue_new();
	s->cq = need(CQ * sizeof(*s->cq));
	e->conns = need(connections * sizeof(*e->conns));
	e->numbers = need(connections * sizeof(*e->numbers));
	e->sq = need((size_t)connections * depth * sizeof(*e->sq));
	e->rq = m->op == SEND_ONLY ? need((size_t)connections * depth * sizeof(*e->rq)) : NULL;
	e->out = need(bytes), e->in = need(bytes);
	s->region = e->in, s->region_len = bytes, s->key = key;
	s->timeout = timeout_ms * 1e-3 * hz;
	s->random = e->draw = key;
	for (uint64_t i = 0; i < bytes; i += m->payload)
		fill_pattern(e->out + i, m->payload, i);
}

static void end_free(struct end *e)
{
	struct side *s = &e->s;
	void *all[] = { s->slots, s->senders.at, s->acks.at, s->timers.at, s->cq, e->conns, e->numbers,
		e->sq, e->rq, e->out, e->in };
	for (unsigned i = 0; i < RTE_DIM(all); i++)
		free(all[i]);
}

/* Connects connection i of an end, which sends from PSN first on and receives from PSN expected. */
static void conn_reset(struct end *e, uint32_t i, uint32_t first, uint32_t expected, uint32_t qpn,
		       uint32_t peer_qpn, const struct end *peer, uint32_t ip, uint32_t peer_ip)
{
	struct conn *c = &e->conns[i];
	struct rte_ether_addr from, to;
	*c = (struct conn){ .una = first, .nxt = first, .max = first, .end = first,
		.epsn = expected, .qpn = qpn, .sq = e->sq + (size_t)i * depth,
		.rq = e->rq ? e->rq + (size_t)i * depth : NULL };
	rte_eth_macaddr_get(e->s.port, &from), rte_eth_macaddr_get(peer->s.port, &to);
	template_set(&c->tmpl, &from, &to, ip, peer_ip, 0xc000 | (qpn & 0x3fff), peer_qpn);
	memcpy(e->s.before_ip, from.addr_bytes, 6), memcpy(e->s.before_ip + 6, "\x08\0", 2);
	e->s.slots[qpn & e->s.slot_mask] = c;
	for (uint32_t k = 0; c->rq && k < depth; k++) { /* message by message, the place it came from */
		uint32_t psn = expected + k;
		post_receive(c, &(struct rqe){ (uint64_t)i << 32 | (psn & (slots - 1)),
			e->in + offset(i, psn, m->payload), m->payload });
	}
	e->numbers[i] = 0;
}

static void end_reset(struct end *e)
{
	struct side *s = &e->s;
	s->senders.head = s->senders.tail = s->acks.head = s->acks.tail = 0;
	s->timers.head = s->timers.tail = s->cq_head = s->cq_tail = 0;
	s->posted = s->begun = s->done = s->received = s->sent = 0;
	s->lost = s->refused = s->duplicates = s->naks = s->timeouts = 0;
	e->left = 0;
	memset(e->in, 0, s->region_len);
}

/* Connects all connections anew: random PSNs, and numbers whose lower bits are the slot. */
static void connect_all(void)
{
	end_reset(&A), end_reset(&B);
	for (uint32_t i = 0; i < connections; i++) {
		uint32_t n[2], psn[2], mask = A.s.slot_mask;
		for (unsigned k = 0; k < 2; k++) {
			n[k] = ((random32(&A.draw) & ~mask) | i) & MASK24;
			psn[k] = random32(&A.draw) & MASK24;
		}
		conn_reset(&A, i, psn[0], psn[1], n[0], n[1], &B, RTE_IPV4(10, 0, 0, 1),
			   RTE_IPV4(10, 0, 0, 2));
		conn_reset(&B, i, psn[1], psn[0], n[1], n[0], &A, RTE_IPV4(10, 0, 0, 2),
			   RTE_IPV4(10, 0, 0, 1));
	}
}

/* Compares the ends: everything posted was executed, once and in order, and acknowledged. */
static void verify(void)
{
	if (A.s.refused + B.s.refused > 0)
		die("frames were refused");
	if (A.s.done != A.s.posted || B.s.received != A.s.posted || A.s.received != B.s.posted)
		die("messages were lost, or executed twice");
	for (uint32_t i = 0; i < connections; i++) {
		const struct conn *a = &A.conns[i], *b = &B.conns[i];
		if (a->una != a->end || b->epsn != a->end || a->epsn != b->end)
			die("a connection's ends differ");
		for (uint32_t k = 0; k < RTE_MIN(slots, b->msn); k++) {
			uint64_t at = offset(i, a->end - 1 - k, m->payload);
			if (memcmp(A.out + at, B.in + at, m->payload))
				die("what arrived is not what was sent");
		}
	}
}

/* Removes what is left in the rings and in the sides between two runs. */
static void drain(struct end *e, struct end *peer)
{
	struct rte_mbuf *b[BURST];
	for (uint16_t n; (n = rte_eth_rx_burst(e->s.port, 0, b, BURST)) > 0;)
		rte_mempool_put_bulk(peer->s.pool, (void **)b, n);
	rte_mempool_put_bulk(e->s.pool, (void **)e->s.out, e->s.built);
	e->s.built = e->s.sealed = 0;
}

static void mode_run(unsigned k)
{
	double run[MAX_RUNS], p999[MAX_RUNS];
	m = &modes[k];
	unsigned hdr = HDR + (m->op == WRITE_ONLY ? RETH : 0), tries = 4 * repeat;
	const char *alg = crc_choose();
	slots = RTE_MIN(depth, m->region / m->payload);
	rte_mempool_obj_iter(A.s.pool, set_data_off, &hdr);
	rte_mempool_obj_iter(B.s.pool, set_data_off, &hdr);
	end_create(&A, 0x2545f491), end_create(&B, 0x9e3779b9);
	for (unsigned r = 0; r < repeat; tries--) {
		stop = stopped = false;
		from = 0;
		hist_n = hist_max = 0;
		memset(hist, 0, sizeof(hist));
		connect_all();
		double had = run_both(loops[k][0], loops[k][1]);
		drain(&A, &B), drain(&B, &A);
		verify();
		run[r] = k == LATENCY ? percentile(0.5) : k == GOODPUT ? rate * MTU * 8e-9 : rate;
		p999[r] = percentile(0.999);
		bool keep = had >= 0.98 || tries <= repeat - r;
		if (!json)
			printf("%s %u B, %u connections, crc %s: %.5g %s (had %.1f %% of two CPUs%s)\n",
			       m->name, m->payload, connections, alg, run[r], m->unit, had * 100,
			       keep ? "" : ": again");
		if (!json && lose > 0)
			printf("%s: %lu messages all arrived once and in order; %lu frames lost, %lu "
			       "duplicates, %lu NAKs, %lu timeouts\n", m->name, A.s.posted,
			       A.s.lost + B.s.lost, A.s.duplicates + B.s.duplicates,
			       A.s.naks + B.s.naks, A.s.timeouts + B.s.timeouts);
		r += keep;
	}
	end_free(&A), end_free(&B);
	report(m->metric, m->unit, run);
	if (k == LATENCY)
		report("latency.p99.9", m->unit, p999);
}

int main(int argc, char **argv)
{
	static const struct option opts[] = { COMMON_OPTIONS,
		{ "--connections", "%u", &connections }, { "--depth", "%u", &depth },
		{ "--timeout", "%lf", &timeout_ms }, { "--lose", "%lf", &lose },
		{ "--check", NULL, &check } };
	bool good = parse(argc, argv, opts, RTE_DIM(opts)), any = false;
	for (unsigned k = 0; k < RTE_DIM(modes); k++)
		any |= !strcmp(mode, "all") || !strcmp(mode, modes[k].name);
	if (!good || !any || connections < 1 || connections > 1 << 20 || depth < 1 || depth > 1024 ||
	    !rte_is_power_of_2(depth) || !(lose >= 0 && lose < 1) || !(timeout_ms > 0))
		return fprintf(stderr,
			"protocol [--mode all|messages|goodput|latency|connections] [--seconds 2] "
			"[--warmup 0.3] [--repeat 5]\n"
			"  [--connections 1] up to 1048576  [--depth 128] messages of each, 1, 2, 4 .. 1024\n"
			"  [--check] numbers in SENDs  [--lose 0] part of frames  [--timeout 100] ms\n"
			"  [--lcores 0,1] the CPUs of A and B  [--crc auto|none|scalar|sse42|avx512]\n"
			"  [--ring 1024] [--pool 2047] [--cache 256]\n"
			"  [--json] one object per metric and line\n"), 2;
	setlinebuf(stdout);
	eal_start(argv[0]);
	crc_on = strcmp(crc, "none") != 0;
	hz = rte_get_tsc_hz();
	unsigned one = RING_F_SP_ENQ | RING_F_SC_DEQ;
	struct rte_ring *r0 = rte_ring_create("r0", ring, 0, one);
	struct rte_ring *r1 = rte_ring_create("r1", ring, 0, one);
	A.s.port = port_start("A", r0, r1, &A.s.pool);
	B.s.port = port_start("B", r1, r0, &B.s.pool);
	A.s.peer_pool = B.s.pool, B.s.peer_pool = A.s.pool;
	for (unsigned k = 0; k < RTE_DIM(modes); k++)
		if (!strcmp(mode, "all") || !strcmp(mode, modes[k].name))
			mode_run(k);
	return rte_eal_cleanup();
}
