/* setup: what roofline.c and protocol.c have in common: options, the EAL, ports over two rings, the
 * CRC's algorithm, copying, round-trip times, and the report. Each program is one translation unit
 * that includes this file once, so that everything here is static. */
#ifndef SETUP_H
#define SETUP_H
#define _GNU_SOURCE
#include <errno.h>
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
	BURST = 32, MTU = 4096, MAX_RUNS = 101,
	HIST = 1 << 18,              /* round trips in TSC ticks; what is longer goes into the last */
};

static double seconds = 2, warmup = 0.3;
static unsigned repeat = 5, ring = 1024, pool = 2047, cache = 256;
static char mode[16] = "all", lcores[16] = "0,1", crc[16] = "auto";
static bool json, crc_on = true;

/* Round trips: samples, the longest of them, and how many had each length. */
static uint64_t hist_n __rte_cache_aligned, hist_max;
static uint32_t hist[HIST] __rte_cache_aligned;

#define inlined static __rte_always_inline
#define word(p) (*(unaligned_uint32_t *)(p))

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s (%s)\n", program_invocation_short_name, what, rte_strerror(rte_errno));
	exit(1);
}

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
static inline const char *crc_choose(void)
{
	for (int i = RTE_DIM(algs) - 1; crc_on && i >= 0; i--)
		if (rte_cpu_get_flag_enabled(algs[i].flag) == 1 &&
		    (!strcmp(crc, "auto") || !strcmp(crc, algs[i].name)))
			return rte_net_crc_set_alg(algs[i].alg), algs[i].name;
	return crc_on ? die("no such CRC algorithm here"), NULL : "none";
}

/* ---- memory ---- */
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
	memcpy(d, s, n);                     /* inlined where n is a small constant */
}

/* Writes bytes that repeat only after all of a region of at most 64 KiB. */
static inline void fill_pattern(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(((uint32_t)i + seed) * 2654435761u >> 13);
}

/* Sets every mbuf out so that the payload starts on a cache line, and with it the CRC's range on
 * 16 or 64 bytes; a transport that owns its pools can do so too. Freed raw, an mbuf stays as it is:
 * the hot path writes only lengths. */
static inline void set_data_off(struct rte_mempool *mp __rte_unused, void *hdr, void *obj,
				unsigned i __rte_unused)
{ ((struct rte_mbuf *)obj)->data_off = RTE_PKTMBUF_HEADROOM + 64 - *(unsigned *)hdr % 64; }

/* ---- ports ---- */
/* Hugepages when 256 MB of them are free, else ordinary pages. The main lcore is A's. */
static inline void eal_start(char *prog)
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

/* Creates a pool of frames and starts a port that sends into one ring and receives from another. */
static inline uint16_t port_start(const char *name, struct rte_ring *tx, struct rte_ring *rx,
				  struct rte_mempool **frames)
{
	struct rte_eth_conf conf = {0};
	uint16_t room = RTE_ALIGN(RTE_PKTMBUF_HEADROOM + 64 + 128 + MTU, 64); /* headers below 128 */
	*frames = rte_pktmbuf_pool_create(name, pool, cache, 0, room, SOCKET_ID_ANY);
	int port = tx && rx ? rte_eth_from_rings(name, &rx, 1, &tx, 1, 0) : -1;
	if (!*frames || port < 0 || rte_eth_dev_configure(port, 1, 1, &conf) ||
	    rte_eth_rx_queue_setup(port, 0, ring, 0, NULL, *frames) ||
	    rte_eth_tx_queue_setup(port, 0, ring, 0, NULL) || rte_eth_dev_start(port))
		die("no ring, pool or port");
	return port;
}

/* ---- options and results ---- */
struct option { const char *name, *format; void *to; };

/* Reads a command line of options with a value, and flags. It reports whether all are known. */
static inline bool parse(int argc, char **argv, const struct option *o, unsigned options)
{
	for (int i = 1; i < argc; i++) {
		unsigned k = 0;
		while (k < options && strcmp(argv[i], o[k].name))
			k++;
		if (k == options)
			return false;
		if (!o[k].format)
			*(bool *)o[k].to = true;
		else if (++i == argc || sscanf(argv[i], o[k].format, o[k].to) != 1)
			return false;
	}
	return repeat >= 1 && repeat <= MAX_RUNS && pool + 1 >= 4 * cache;
}

/* The options of both programs. */
#define COMMON_OPTIONS \
	{ "--mode", "%15s", mode }, { "--seconds", "%lf", &seconds }, \
	{ "--warmup", "%lf", &warmup }, { "--repeat", "%u", &repeat }, \
	{ "--lcores", "%15s", lcores }, { "--crc", "%15s", crc }, { "--ring", "%u", &ring }, \
	{ "--pool", "%u", &pool }, { "--cache", "%u", &cache }, { "--json", NULL, &json }

static inline double clock_s(clockid_t c)
{ struct timespec t; return clock_gettime(c, &t), t.tv_sec + t.tv_nsec * 1e-9; }

/* Runs from on this lcore and to on the other. It returns which part of two CPUs they had. */
static inline double run_both(lcore_function_t *from, lcore_function_t *to)
{
	double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID), wall = clock_s(CLOCK_MONOTONIC);
	rte_eal_remote_launch(to, NULL, 1);
	from(NULL);
	rte_eal_wait_lcore(1);
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall = clock_s(CLOCK_MONOTONIC) - wall;
	return cpu / wall / 2;
}

/* Returns half the round trip in ns that a part p of the samples do not exceed. */
static inline double percentile(double p)
{
	uint64_t want = hist_n * p, seen = 0, i = 0;
	for (; i < HIST && (seen += hist[i]) <= want; i++);
	return (i < HIST ? i : hist_max) * 0.5e9 / rte_get_tsc_hz();
}

inlined void record(uint64_t round_trip)
{
	hist_n++, hist[RTE_MIN(round_trip, HIST - 1ul)]++;
	hist_max = RTE_MAX(hist_max, round_trip);
}

static inline int ascending(const void *a, const void *b)
{ return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static inline void report(const char *name, const char *unit, double *v)
{
	qsort(v, repeat, sizeof(*v), ascending);
	double mid = v[repeat / 2];
	if (json)
		printf("{\"name\":\"%s\",\"unit\":\"%s\",\"median\":%.6g,\"min\":%.6g,"
		       "\"max\":%.6g,\"runs\":%u}\n",
		       name, unit, mid, v[0], v[repeat - 1], repeat);
	else if (*unit == 'm')
		printf("%s.%s %.4ge6 %s\n", program_invocation_short_name, name, mid / 1e6, unit);
	else
		printf("%s.%s %.4g %s\n", program_invocation_short_name, name, mid, unit);
}
#endif
