/* The functions of the packet path. */
#ifndef GOROCE_ETHDEV_BURST_H
#define GOROCE_ETHDEV_BURST_H

#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "../mbuf/burst.h"
#include "guard.h"

/* Drops frames of several segments, since a packet.Buf is contiguous; pools are sized so that they
 * do not occur. Keeps the order and returns the number of frames left. */
static unsigned gr_drop_chains(struct rte_mbuf **mbuf, unsigned n)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < n; i++) {
		if (mbuf[i]->nb_segs == 1)
			mbuf[kept++] = mbuf[i];
		else
			rte_pktmbuf_free(mbuf[i]);
	}
	return kept;
}

/* Where drivers put the time of arrival, the same in all mbufs of the process: see Stamps. */
struct gr_stamps {
	int offset;
	uint64_t flag;
};

/* Polls queues in the given order until b has n frames. *dropped counts frames of several
 * segments. */
static unsigned gr_rx_burst(uint16_t port, const uint16_t *queue, unsigned queues,
			    struct gr_burst *b, unsigned n, struct gr_guard *guard,
			    const struct gr_stamps *stamps, uint32_t *dropped)
{
	struct rte_mbuf **mbuf = gr_mbufs(b);
	unsigned got = 0, chains = 0;

	if (unlikely(!gr_enter(guard)))
		return 0;
	for (unsigned i = 0; i < queues && got < n; i++)
		got += rte_eth_rx_burst(port, queue[i], mbuf + got, n - got);
	gr_leave(guard);
	for (unsigned i = 0; i < got; i++)
		rte_prefetch0(mbuf[i]);
	for (unsigned i = 0; i < got; i++)
		chains |= mbuf[i]->nb_segs ^ 1;
	if (unlikely(chains)) {
		unsigned kept = gr_drop_chains(mbuf, got);
		*dropped += got - kept;
		got = kept;
	}
	for (unsigned i = 0; i < got; i++) {
		gr_burst_get(b, i, mbuf[i]);
		rte_prefetch0((const void *)b->data[i]);
	}
	if (unlikely(stamps != NULL))
		for (unsigned i = 0; i < got; i++)
			b->stamp[i] = mbuf[i]->ol_flags & stamps->flag ?
				*RTE_MBUF_DYNFIELD(mbuf[i], stamps->offset, uint64_t *) : 0;
	return got;
}

static unsigned gr_tx_burst(uint16_t port, uint16_t queue, struct gr_burst *b, unsigned n,
			    struct gr_guard *guard)
{
	unsigned sent;

	for (unsigned i = 0; i < n; i++)
		gr_burst_set(b, i);
	if (unlikely(!gr_enter(guard)))
		return 0;
	sent = rte_eth_tx_burst(port, queue, gr_mbufs(b), n);
	gr_leave(guard);
	return sent;
}

#endif
