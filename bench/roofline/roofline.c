/* roofline: what a RoCEv2 transport between two crossed ring ports could reach on this machine: the
 * same copies, CRCs and ring hops, and no protocol (no queue pairs, timers, completions; the CRC
 * runs over the frame as it lies there, without the invariant CRC's masks).
 *   messages  A streams 32-byte messages to B, a frame each (90 bytes): template, payload and CRC
 *             by A; CRC checked and payload copied out by B; one 62-byte ACK back per burst
 *   goodput   the same with 4096 bytes per frame (4170), out of and into a 64 KiB region
 *   latency   ping-pong of 8 bytes, one frame in flight; half the round trip
 *   crc       DPDK's CRC-32 alone, by each algorithm
 * Two lcores; net_ring ports, A's transmit ring B's receive ring and the reverse; a mempool per
 * port, into which the other side's core frees. A run whose threads had less than 98 % of their
 * CPUs measured something else: it is shown, thrown away and repeated, up to 4 x --repeat runs in
 * all. A shared host also moves virtual CPUs, near each other or far; latency.p50 shows which
 * (150 or 650 ns on a Turin, the other two modes then differ by a factor of 3), so compare with
 * what was measured in the same minute.
 *
 *   gcc -O3 $(pkg-config --cflags libdpdk) -march=native roofline.c -o roofline \
 *       $(pkg-config --libs libdpdk) -lrte_net_ring
 * pkg-config says -march=corei7; the last -march applies. */
#include "setup.h"

enum {
	REGION = 64 << 10,
	HDR = 54, PSN = HDR - 4,     /* Ethernet 14, IPv4 20, UDP 8, BTH 12 */
	HDR_RETH = HDR + 16,         /* and the RETH of an RDMA WRITE */
	HDR_ACK = HDR + 4,           /* and the AETH of an acknowledgement */
	CRC_FROM = 6, CRC_LEN = 4,   /* 8 bytes before the IP header stand for the masked LRH */
};

static struct side {             /* one end of the wire */
	uint8_t app[REGION];         /* application memory: A sends from it, B receives into it */
	uint8_t tmpl[128];           /* header template */
	struct rte_mempool *pool;
	uint16_t port;
	uint64_t frames __rte_cache_aligned; /* received */
} __attribute__((aligned(4096))) A, B;

/* Each on a line of its own, apart from what the other core reads. */
static volatile bool stop __rte_cache_aligned;    /* the time is over */
static volatile bool stopped __rte_cache_aligned; /* A to B: nothing more comes */
/* By B, over the timed part of a run: frames, TSC. */
static uint64_t counted __rte_cache_aligned, ticks;

/* The proof by the clock: frames that lie in L1, calls independent of each other as in a burst. */
static void crc_bench(uint32_t len)
{
	static uint8_t buf[8][MTU + 256] __rte_cache_aligned;
	unsigned calls = 4000000 / (len + 200);
	for (unsigned i = 0; i < RTE_DIM(algs); i++) {
		double ns = 1e9;
		rte_net_crc_set_alg(algs[i].alg);
		for (unsigned round = 0; round < 9; round++) {
			uint64_t t = rte_rdtsc_precise();
			for (unsigned n = 0; n < calls; n++)
				buf[n & 7][MTU + 200] ^= rte_net_crc_calc(buf[n & 7], len, RTE_NET_CRC32_ETH);
			ns = RTE_MIN(ns, (rte_rdtsc_precise() - t) * 1e9 / rte_get_tsc_hz() / calls);
		}
		printf("crc %-7s %5u bytes %9.1f ns %7.2f GB/s\n", algs[i].name, len, ns, len / ns);
	}
}
/* ---- frames ---- */
#define data(m) rte_pktmbuf_mtod(m, uint8_t *)

inlined uint32_t crc_of(const uint8_t *f, uint32_t len)
{ return crc_on ? rte_net_crc_calc(f + CRC_FROM, len - CRC_FROM, RTE_NET_CRC32_ETH) : 0; }
#define seal(f, len) (word((f) + (len)) = crc_of(f, len))
#define sound(f, len) (word((f) + (len)) == crc_of(f, len))
#define check(good) do if (unlikely(!(good))) die("a frame arrived with a wrong CRC"); while (0)

inlined uint8_t *fill(struct rte_mbuf *m, const struct side *s, uint32_t hdr,
					 const uint8_t *from, uint32_t payload)
{
	m->pkt_len = m->data_len = hdr + payload + CRC_LEN;
	memcpy(data(m), s->tmpl, hdr);
	copy(data(m) + hdr, from, payload);
	return data(m);
}
/* ---- streaming ---- */
/* Takes in the acknowledgements that wait. Each says, in its PSN, how many frames B has seen. */
inlined uint32_t take_acks(uint32_t acked)
{
	struct rte_mbuf *b[BURST];
	uint16_t n = rte_eth_rx_burst(A.port, 0, b, BURST);
	for (unsigned i = 0; i < n; i++) {
		check(sound(data(b[i]), HDR_ACK));
		acked = word(data(b[i]) + PSN);
	}
	if (n)
		rte_mempool_put_bulk(B.pool, (void **)b, n), A.frames += n;
	return acked;
}

inlined void stream_from(uint32_t hdr, uint32_t payload)
{
	struct rte_mbuf *b[BURST];
	uint32_t at = 0, sent = 0, acked = 0;
	while (!stop) {
		acked = take_acks(acked);
		if (rte_mempool_get_bulk(A.pool, (void **)b, BURST) < 0)
			continue;
		for (unsigned i = 0; i < BURST; i++) {
			uint8_t *f = fill(b[i], &A, hdr, A.app + at, payload);
			at = (at + payload) % REGION;
			if (payload > 256)           /* while the frame is in L1 */
				seal(f, hdr + payload);
		}
		for (unsigned i = 0; i < BURST && payload <= 256; i++)
			seal(data(b[i]), hdr + payload); /* once the stores have left the store queue */
		for (unsigned out = 0; (out += rte_eth_tx_burst(A.port, 0, b + out, BURST - out)) < BURST;)
			acked = take_acks(acked);
		sent += BURST;
	}
	stopped = true;
	while (acked != sent)
		acked = take_acks(acked);
}

inlined void stream_to(uint32_t hdr, uint32_t payload)
{
	struct rte_mbuf *b[BURST], *ack;
	uint64_t hz = rte_get_tsc_hz(), now = rte_rdtsc(), from = now + warmup * hz, to = UINT64_MAX;
	uint64_t frames = 0, frames0 = 0, t0 = 0;
	uint32_t at = 0;
	for (;;) {
		bool last = stopped;                 /* read before the ring: what it holds then is all */
		uint16_t n = rte_eth_rx_burst(B.port, 0, b, BURST);
		now = rte_rdtsc();
		if (unlikely(now >= from))
			t0 = now, frames0 = frames, from = UINT64_MAX, to = now + seconds * hz;
		else if (unlikely(now >= to) && !stop)
			counted = frames - frames0, ticks = now - t0, stop = true;
		if (n == 0 && last)
			break;
		if (n == 0)
			continue;
		for (unsigned i = 0; i < n; i++) {   /* the data's place is known without the mbuf's line */
			uint8_t *f = (uint8_t *)(b[i] + 1) + RTE_PKTMBUF_HEADROOM;
			rte_prefetch0(b[i]), rte_prefetch0(f), rte_prefetch0(f + 64);
		}
		for (unsigned i = 0; i < n; i++) {
			check(sound(data(b[i]), hdr + payload));
			copy(B.app + at, data(b[i]) + hdr, payload);
			at = (at + payload) % REGION;
		}
		frames += n;
		rte_mempool_put_bulk(A.pool, (void **)b, n);
		while (unlikely(rte_mempool_get(B.pool, (void **)&ack) < 0));
		uint8_t *f = fill(ack, &B, HDR_ACK, NULL, 0);
		word(f + PSN) = frames;
		seal(f, HDR_ACK);
		while (unlikely(rte_eth_tx_burst(B.port, 0, &ack, 1) == 0));
	}
	B.frames = frames;
}

/* Constants, so that each shape has its own straight code. */
#define SHAPE(name, hdr, payload) \
	static int name##_from(void *_ __rte_unused) { stream_from(hdr, payload); return 0; } \
	static int name##_to(void *_ __rte_unused) { stream_to(hdr, payload); return 0; }
SHAPE(messages, HDR, 32)
SHAPE(goodput, HDR_RETH, MTU)

/* ---- ping-pong ---- */
inlined void post(struct side *s)
{
	struct rte_mbuf *m = NULL;
	rte_mempool_get(s->pool, (void **)&m);       /* one frame in flight: there is an mbuf */
	uint8_t *f = fill(m, s, HDR, s->app, 8);
	seal(f, HDR + 8);
	rte_eth_tx_burst(s->port, 0, &m, 1);         /* and room */
}

inlined struct rte_mbuf *await(struct side *s)
{
	struct rte_mbuf *m;
	while (rte_eth_rx_burst(s->port, 0, &m, 1) == 0)
		if (unlikely(stop))
			return NULL;
	check(sound(data(m), HDR + 8));
	copy(s->app + REGION / 2, data(m) + HDR, 8);
	return m;
}

static int ping(void *_ __rte_unused)
{
	uint64_t hz = rte_get_tsc_hz(), t = rte_rdtsc(), from = t + warmup * hz;
	uint64_t to = from + seconds * hz;
	while (t < to) {
		post(&A);
		struct rte_mbuf *m = await(&A);
		uint64_t now = rte_rdtsc();          /* the payload is in application memory */
		rte_mempool_put(B.pool, m);
		if (t >= from)
			record(now - t);
		t = rte_rdtsc();
	}
	stop = true;
	return 0;
}

static int pong(void *_ __rte_unused)
{
	for (struct rte_mbuf *m; (m = await(&B)) != NULL; rte_mempool_put(A.pool, m))
		post(&B);
	return 0;
}

/* ---- runs ---- */
static struct { const char *name, *unit; double run[MAX_RUNS]; } ms[] = {
	{ "messages", "msg/s", {0} }, { "goodput", "Gb/s", {0} }, { "latency.p50", "ns", {0} },
	{ "latency.p99", "ns", {0} }, { "latency.p99.9", "ns", {0} }, { "latency.max", "ns", {0} },
};
static const struct {
	const char *name;
	unsigned hdr, payload, ack;
	lcore_function_t *from, *to;
} modes[] = {
	{ "messages", HDR, 32, HDR_ACK, messages_from, messages_to },
	{ "goodput", HDR_RETH, MTU, HDR_ACK, goodput_from, goodput_to },
	{ "latency", HDR, 8, HDR, ping, pong },
};

/* Runs mode k; its first metric is ms[k]. */
static void mode_run(unsigned k)
{
	unsigned hdr = modes[k].hdr, ack = modes[k].ack, payload = modes[k].payload, tries = 4 * repeat;
	const char *alg = crc_choose();
	rte_mempool_obj_iter(A.pool, set_data_off, &hdr);
	rte_mempool_obj_iter(B.pool, set_data_off, &ack);
	for (unsigned r = 0; r < repeat; tries--) {
		stop = stopped = false;
		A.frames = B.frames = hist_n = hist_max = 0;
		memset(hist, 0, sizeof(hist));
		memset(B.app, 0, REGION);
		double had = run_both(modes[k].from, modes[k].to);
		/* in order and nothing lost: equal, once each byte was sent */
		if (k < 2 && B.frames * payload >= REGION && memcmp(A.app, B.app, REGION))
			die("what arrived is not what was sent");
		if (k < 2)
			ms[k].run[r] = counted * (double)rte_get_tsc_hz() / ticks * (k ? MTU * 8e-9 : 1);
		for (unsigned i = 2; i <= 5 && k == 2; i++)
			ms[i].run[r] = percentile((const double[]){ 0.5, 0.99, 0.999, 1 }[i - 2]);
		bool keep = had >= 0.98 || tries <= repeat - r;
		if (!json) {
			printf("%s %u B, crc %s:", modes[k].name, payload, alg);
			for (unsigned i = k; i <= (k == 2 ? 5 : k); i++)
				printf(" %.5g", ms[i].run[r]);
			printf(" %s (had %.1f %% of two CPUs%s)\n", ms[k].unit, had * 100,
			       keep ? "" : ": again");
		}
		r += keep;
	}
}

/* ---- set-up ---- */
static void side_start(struct side *s, const char *name, struct rte_ring *tx, struct rte_ring *rx)
{
	s->port = port_start(name, tx, rx, &s->pool);
	fill_pattern(s->app, REGION, 0);
	memset(s->tmpl, 0x45, sizeof(s->tmpl));      /* no one reads it; it is copied and summed */
}

int main(int argc, char **argv)
{
	static const struct option opts[] = { COMMON_OPTIONS };
	bool good = parse(argc, argv, opts, RTE_DIM(opts));
	bool all = !strcmp(mode, "all"), bench = all || !strcmp(mode, "crc"), pick[3], any = bench;
	for (unsigned k = 0; k < 3; k++)
		any |= pick[k] = all || !strcmp(mode, modes[k].name);
	if (!good || !any)
		return fprintf(stderr,
			"roofline [--mode all|messages|goodput|latency|crc] [--seconds 2] "
			"[--warmup 0.3] [--repeat 5]\n"
			"  [--lcores 0,1] the CPUs of A and B  [--crc auto|none|scalar|sse42|avx512]\n"
			"  [--ring 1024] [--pool 2047] [--cache 256]\n"
			"  [--json] one object per metric and line\n"), 2;
	setlinebuf(stdout);
	eal_start(argv[0]);
	unsigned one = RING_F_SP_ENQ | RING_F_SC_DEQ;
	struct rte_ring *r0 = rte_ring_create("r0", ring, 0, one);
	struct rte_ring *r1 = rte_ring_create("r1", ring, 0, one);
	side_start(&A, "A", r0, r1);
	side_start(&B, "B", r1, r0);
	crc_on = strcmp(crc, "none") != 0;
	for (unsigned i = 0; i < 3 && bench && !json; i++)
		crc_bench((const unsigned[]){ HDR_ACK, HDR + 32, HDR_RETH + MTU }[i] - CRC_FROM);
	for (unsigned k = 0; k < 3; k++)
		if (pick[k])
			mode_run(k);
	for (unsigned k = 0; k < RTE_DIM(ms); k++)
		if (pick[RTE_MIN(k, 2u)])
			report(ms[k].name, ms[k].unit, ms[k].run);
	return rte_eal_cleanup();
}
