/* Getting and giving back mbufs in bulk. */
#ifndef GOROCE_MBUF_POOL_H
#define GOROCE_MBUF_POOL_H

#include "burst.h"

/* Takes up to n mbufs and answers how many there were. The mbufs are not touched: their fields
 * are written when they are sent. */
static unsigned gr_alloc(struct rte_mempool *mp, struct gr_burst *b, unsigned n)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(mp, rte_lcore_id());
	struct rte_mbuf **mbuf = gr_mbufs(b);
	unsigned got = 0;

	if (likely(rte_mempool_generic_get(mp, (void **)mbuf, n, cache) == 0))
		return n;
	/* Nearly empty: a bulk is all or nothing, so take what is left in ever smaller ones. */
	for (unsigned step = n / 2; step > 0 && got < n;) {
		if (step > n - got ||
		    rte_mempool_generic_get(mp, (void **)(mbuf + got), step, cache) != 0)
			step /= 2;
		else
			got += step;
	}
	return got;
}

/* True when m can go back to pool mp as it is. */
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
