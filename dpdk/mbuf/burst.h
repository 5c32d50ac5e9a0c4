/* A burst in the layout of Burst in burst_unsafe.go. */
#ifndef GOROCE_MBUF_BURST_H
#define GOROCE_MBUF_BURST_H

#include <stdint.h>

#include <rte_mbuf.h>

#define GR_BURST 64

struct gr_burst {
	uintptr_t mbuf[GR_BURST]; /* their addresses: cgo would scan an array of pointers */
	uintptr_t data[GR_BURST]; /* where the frame begins */
	uint32_t len[GR_BURST];   /* how long it is */
	uint32_t room[GR_BURST];  /* from data to the end of the buffer */
	uint64_t stamp[GR_BURST]; /* of the device's clock, where it stamps; 0 without */
};

static inline struct rte_mbuf **gr_mbufs(struct gr_burst *b) { return (struct rte_mbuf **)b->mbuf; }

static inline void gr_burst_get(struct gr_burst *b, unsigned i, const struct rte_mbuf *m)
{
	b->data[i] = (uintptr_t)m->buf_addr + m->data_off;
	b->len[i] = m->data_len;
	b->room[i] = m->buf_len - m->data_off;
}

/* Writes only the first cache line of the mbuf: the content of the second (next, tx_offload) is
 * valid for any mbuf of one segment without transmit flags. */
static inline void gr_burst_set(struct gr_burst *b, unsigned i)
{
	struct rte_mbuf *m = gr_mbufs(b)[i];
	m->data_off = b->data[i] - (uintptr_t)m->buf_addr;
	m->ol_flags = 0;
	m->data_len = b->len[i];
	m->pkt_len = b->len[i];
}

#endif
