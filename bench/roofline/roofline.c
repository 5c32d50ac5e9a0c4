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
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_net_crc.h>

enum {
	BURST = 32, MTU = 4096, REGION = 64 << 10, MAX_RUNS = 101,
	HDR = 54, PSN = HDR - 4,     /* Ethernet 14, IPv4 20, UDP 8, BTH 12 */
	HDR_RETH = HDR + 16,         /* and the RETH of an RDMA WRITE */
	HDR_ACK = HDR + 4,           /* and the AETH of an acknowledgement */
	CRC_FROM = 6, CRC_LEN = 4,   /* 8 bytes before the IP header stand for the masked LRH */
	HIST = 1 << 18,              /* round trips in TSC ticks; what is longer goes into the last */
};

static double seconds = 2, warmup = 0.3;
static unsigned repeat = 5, ring = 1024, pool = 2047, cache = 256;
static char mode[16] = "all", lcores[16] = "0,1", crc[16] = "auto";
static bool json, crc_on = true;

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
static uint64_t hist_n __rte_cache_aligned, hist_max; /* by A: samples, the longest of them */
static uint32_t hist[HIST] __rte_cache_aligned;

#define inlined static __rte_always_inline
static void die(const char *what)
{ exit((fprintf(stderr, "roofline: %s (%s)\n", what, rte_strerror(rte_errno)), 1)); }
/* ---- CRC ---- */
static const struct {
	enum rte_net_crc_alg alg;
	const char *name;
	enum rte_cpu_flag_t flag;
} algs[] = {
	{ RTE_NET_CRC_SCALAR, "scalar", RTE_CPUFLAG_SSE2 },
	{ RTE_NET_CRC_SSE42, "sse42", RTE_CPUFLAG_PCLMULQDQ },
	{ RTE_NET_CRC_AVX512, "avx512", RTE_CPUFLAG_VPCLMULQDQ },
};

/* Activates the requested algorithm, or the widest. DPDK falls back in silence when the CPU lacks
 * one or the EAL does not allow 512 bits (its default; see eal_start), so this checks the CPU. */
static const char *crc_choose(void)
{
	for (int i = RTE_DIM(algs) - 1; crc_on && i >= 0; i--)
		if (rte_cpu_get_flag_enabled(algs[i].flag) == 1 &&
		    (!strcmp(crc, "auto") || !strcmp(crc, algs[i].name)))
			return rte_net_crc_set_alg(algs[i].alg), algs[i].name;
	return crc_on ? die("no such CRC algorithm here"), NULL : "none";
}

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
/* Sets every mbuf out so that the payload starts on a cache line, and with it the CRC's range on
 * 16 or 64 bytes; a transport that owns its pools can do so too. Freed raw, an mbuf stays as it is:
 * the hot path writes only lengths. */
static void set_data_off(struct rte_mempool *mp __rte_unused, void *hdr, void *obj,
			 unsigned i __rte_unused)
{ ((struct rte_mbuf *)obj)->data_off = RTE_PKTMBUF_HEADROOM + 64 - *(unsigned *)hdr % 64; }

/* Streams lines through the widest registers; rte_memcpy stops at 32 bytes. */
typedef uint8_t line_t __attribute__((vector_size(64), aligned(1), may_alias));
inlined void copy(void *to, const void *from, uint32_t n)
{
	line_t *d = to;
	const line_t *s = from;
	for (; n >= 256; n -= 256, d += 4, s += 4) {
		line_t l0 = s[0], l1 = s[1], l2 = s[2], l3 = s[3];
		d[0] = l0, d[1] = l1, d[2] = l2, d[3] = l3;
	}
	memcpy(d, s, n);                     /* n is a small constant: inlined */
}

#define data(m) rte_pktmbuf_mtod(m, uint8_t *)

inlined uint32_t crc_of(const uint8_t *f, uint32_t len)
{ return crc_on ? rte_net_crc_calc(f + CRC_FROM, len - CRC_FROM, RTE_NET_CRC32_ETH) : 0; }
#define word(p) (*(unaligned_uint32_t *)(p))
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
			hist_n++, hist[RTE_MIN(now - t, HIST - 1ul)]++, hist_max = RTE_MAX(hist_max, now - t);
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

static double percentile(double p)
{
	uint64_t want = hist_n * p, seen = 0, i = 0;
	for (; i < HIST && (seen += hist[i]) <= want; i++);
	return (i < HIST ? i : hist_max) * 0.5e9 / rte_get_tsc_hz();
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

static double clock_s(clockid_t c)
{ struct timespec t; return clock_gettime(c, &t), t.tv_sec + t.tv_nsec * 1e-9; }

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
		double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID), wall = clock_s(CLOCK_MONOTONIC);
		rte_eal_remote_launch(modes[k].to, NULL, 1);
		modes[k].from(NULL);
		rte_eal_wait_lcore(1);
		cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall = clock_s(CLOCK_MONOTONIC) - wall;
		/* in order and nothing lost: equal, once each byte was sent */
		if (k < 2 && B.frames * payload >= REGION && memcmp(A.app, B.app, REGION))
			die("what arrived is not what was sent");
		if (k < 2)
			ms[k].run[r] = counted * (double)rte_get_tsc_hz() / ticks * (k ? MTU * 8e-9 : 1);
		for (unsigned i = 2; i <= 5 && k == 2; i++)
			ms[i].run[r] = percentile((const double[]){ 0.5, 0.99, 0.999, 1 }[i - 2]);
		bool keep = cpu / wall / 2 >= 0.98 || tries <= repeat - r;
		if (!json) {
			printf("%s %u B, crc %s:", modes[k].name, payload, alg);
			for (unsigned i = k; i <= (k == 2 ? 5 : k); i++)
				printf(" %.5g", ms[i].run[r]);
			printf(" %s (had %.1f %% of two CPUs%s)\n", ms[k].unit, cpu / wall * 50,
			       keep ? "" : ": again");
		}
		r += keep;
	}
}

static int ascending(const void *a, const void *b)
{ return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static void report(const char *name, const char *unit, double *v)
{
	qsort(v, repeat, sizeof(*v), ascending);
	double mid = v[repeat / 2];
	if (json)
		printf("{\"name\":\"%s\",\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,"
		       "\"max\":%.6g,\"runs\":%u}\n",
		       name, unit, mid, v[0], v[repeat - 1], repeat);
	else if (*unit == 'm')
		printf("roofline.%s %.4ge6 %s\n", name, mid / 1e6, unit);
	else
		printf("roofline.%s %.4g %s\n", name, mid, unit);
}
/* ---- set-up ---- */
/* Hugepages when 256 MB of them are free, else ordinary pages. The main lcore is A's. */
static void eal_start(char *prog)
{
	char on[64], *argv[16] = { prog, "--lcores", on, "--main-lcore=0", "--no-shconf",
		"--no-pci", "--no-telemetry", "-m", "256", "--log-level=error",
		"--force-max-simd-bitwidth=512" };
	int argc = 11, a, b, pages = 0;
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	if (sscanf(lcores, "%d,%d", &a, &b) != 2 || (f && fscanf(f, "%d", &pages) != 1))
		die("--lcores takes two CPUs: 0,1");
	snprintf(on, sizeof(on), "0@%d,1@%d", a, b);
	argv[argc++] = pages >= 128 ? "--in-memory" : "--no-huge";
	if (rte_eal_init(argc, argv) < 0)
		die("EAL does not start");
	if (!json)
		printf("cpus %s, %s, ring %u, pool %u, cache %u\n", lcores,
		       pages >= 128 ? "hugepages" : "small pages", ring, pool, cache);
}

static void side_start(struct side *s, const char *name, struct rte_ring *tx, struct rte_ring *rx)
{
	struct rte_eth_conf conf = {0};
	uint16_t room = RTE_ALIGN(RTE_PKTMBUF_HEADROOM + 64 + HDR_RETH + MTU + CRC_LEN, 64);
	s->pool = rte_pktmbuf_pool_create(name, pool, cache, 0, room, SOCKET_ID_ANY);
	int port = tx && rx ? rte_eth_from_rings(name, &rx, 1, &tx, 1, 0) : -1;
	s->port = port;
	if (!s->pool || port < 0 || rte_eth_dev_configure(port, 1, 1, &conf) ||
	    rte_eth_rx_queue_setup(port, 0, ring, 0, NULL, s->pool) ||
	    rte_eth_tx_queue_setup(port, 0, ring, 0, NULL) || rte_eth_dev_start(port))
		die("no ring, pool or port");
	for (unsigned i = 0; i < REGION; i++)
		s->app[i] = (uint8_t)(i * 2654435761u >> 13);
	memset(s->tmpl, 0x45, sizeof(s->tmpl));      /* no one reads it; it is copied and summed */
}

int main(int argc, char **argv)
{
	static const struct { const char *name, *format; void *to; } opts[] = {
		{ "--mode", "%15s", mode }, { "--seconds", "%lf", &seconds },
		{ "--warmup", "%lf", &warmup },
		{ "--repeat", "%u", &repeat }, { "--lcores", "%15s", lcores }, { "--crc", "%15s", crc },
		{ "--ring", "%u", &ring }, { "--pool", "%u", &pool }, { "--cache", "%u", &cache },
	};
	bool good = true;
	for (int i = 1; i < argc; i++) {
		unsigned o = 0;
		for (; o < RTE_DIM(opts) && strcmp(argv[i], opts[o].name); o++);
		good &= o < RTE_DIM(opts) ? ++i < argc && sscanf(argv[i], opts[o].format, opts[o].to) == 1
		                          : (json |= !strcmp(argv[i], "--json"));
	}
	bool all = !strcmp(mode, "all"), bench = all || !strcmp(mode, "crc"), pick[3], any = bench;
	for (unsigned k = 0; k < 3; k++)
		any |= pick[k] = all || !strcmp(mode, modes[k].name);
	if (!good || !any || repeat < 1 || repeat > MAX_RUNS || pool + 1 < 4 * cache)
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
