/* Allocation and release of mbufs in bulk. */
#ifndef GOROCE_MBUF_POOL_H
#define GOROCE_MBUF_POOL_H

#include "burst.h"

/* GCC compiles __builtin_prefetch to a prefetch for reading unless it may use PREFETCHW, which
 * every current x86-64 has, and which is a NOP on others. */
static inline void gr_prefetch_write(const void *p)
{
#ifdef RTE_ARCH_X86
	asm volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* Prefetches the cache lines of small frames for all frames of a burst at once. Otherwise the
 * writes of each frame wait for its lines, which another core had, since the check sequence reads
 * them at once. */
static inline void gr_fetch(const struct rte_mbuf *m)
{
	const char *frame = (const char *)m + sizeof(*m) + RTE_PKTMBUF_HEADROOM;

	gr_prefetch_write(m);
	gr_prefetch_write(frame);
	gr_prefetch_write(frame + RTE_CACHE_LINE_SIZE);
}

/* Takes up to n mbufs and returns their number. It does not access them: their fields are written
 * when they are sent. */
static unsigned gr_alloc(struct rte_mempool *mp, struct gr_burst *b, unsigned n)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(mp, rte_lcore_id());
	struct rte_mbuf **mbuf = gr_mbufs(b);
	unsigned got = 0;

	if (likely(rte_mempool_generic_get(mp, (void **)mbuf, n, cache) == 0)) {
		for (unsigned i = 0; i < n; i++)
			gr_fetch(mbuf[i]);
		return n;
	}
	/* Nearly empty: a bulk succeeds as a whole or not at all, so take ever smaller ones. */
	for (unsigned step = n / 2; step > 0 && got < n;) {
		if (step > n - got ||
		    rte_mempool_generic_get(mp, (void **)(mbuf + got), step, cache) != 0)
			step /= 2;
		else
			got += step;
	}
	return got;
}

/* Reports whether m can return to pool mp unchanged. */
static inline int gr_plain(const struct rte_mbuf *m, const struct rte_mempool *mp)
{
	const uint64_t borrowed = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	return m->pool == mp && rte_mbuf_refcnt_read(m) == 1 && m->nb_segs == 1 &&
	       (m->ol_flags & borrowed) == 0;
}

static void gr_free(struct gr_burst *b, unsigned n)
{
	struct rte_mbuf **mbuf = gr_mbufs(b);
	struct rte_mempool *mp = mbuf[0]->pool;
	unsigned plain = 0;

	while (plain < n && likely(gr_plain(mbuf[plain], mp)))
		plain++;
	if (likely(plain > 0))
		rte_mempool_generic_put(mp, (void **)mbuf, plain,
					rte_mempool_default_cache(mp, rte_lcore_id()));
	for (unsigned i = plain; i < n; i++)
		rte_pktmbuf_free(mbuf[i]);
}

#endif
