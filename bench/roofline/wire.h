/* wire: RoCEv2 frames over Ethernet and IPv4: their headers, what a receiver checks of them without
 * knowing the connection, and the invariant CRC. "IB" is the InfiniBand specification; annex A17 of
 * it is RoCEv2. Payloads are multiples of 4 bytes, so that no frame has a pad. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include "setup.h"

enum {
	SEND_ONLY = 0x04, WRITE_ONLY = 0x0a, ACK = 0x11, /* opcodes of RC (IB 9.2.1 table 38) */
	ACK_REQUEST = 0x80,          /* the A bit, in the byte before the PSN (IB 9.2.8) */
	SYNDROME_ACK = 0x1f,         /* an ACK without credits (IB 9.7.5.1.1 table 43) */
	SYNDROME_NAK = 0x60,         /* a NAK of a gap in the sequence (IB 9.7.5.2 table 44) */
	MASK24 = 0xffffff,           /* a queue pair's number, a PSN, an MSN */
	TTL = 64, ECT0 = 2,          /* initial TTL; ECN capable transport (RFC 3168 section 5) */
	UDP_PORT = 4791,             /* of RoCEv2 (A17.3.1) */
	CRC_FROM = 6, CRC_LEN = 4,   /* 8 bytes before the IP header are the LRH's place */
};

struct headers {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	struct {
		uint8_t op, flags;
		rte_be16_t pkey;
		rte_be32_t qpn, psn;     /* of 24 bits; the upper 8 are other fields */
	} __rte_packed bth;
	uint8_t ext[];               /* RETH or AETH, payload */
} __rte_packed __rte_aligned(2);

struct reth { rte_be64_t addr; rte_be32_t key, len; } __rte_packed;
struct aeth { rte_be32_t syndrome_msn; } __rte_packed;

enum {
	HDR = offsetof(struct headers, ext),
	RETH = sizeof(struct reth), AETH = sizeof(struct aeth),
};
_Static_assert(HDR == 54, "Ethernet 14, IPv4 20, UDP 8, BTH 12");

/* The headers of a connection with the mask on, and the sum of the IP header without its length. */
struct template { uint8_t bytes[HDR]; uint16_t sum; };

inlined uint32_t load32(const void *p) { uint32_t v; return memcpy(&v, p, 4), v; }

/* ---- checksum of the IP header (RFC 791) ---- */
inlined uint16_t fold(uint64_t sum)
{
	sum = (sum >> 32) + (uint32_t)sum;   /* at most 33 bits */
	sum = (sum >> 16) + (sum & 0xffff);  /* 18 */
	sum = (sum >> 16) + (sum & 0xffff);
	return (sum >> 16) + sum;
}

inlined uint16_t ip_sum(const struct rte_ipv4_hdr *ip)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < sizeof(*ip); i += 4)
		sum += load32((const uint8_t *)ip + i);
	return fold(sum);
}

/* ---- invariant CRC (IB 7.8.1, A17.3.3) ---- */
/* Sets what counts as ones: the 8 bytes in the LRH's place, and the fields that routers and
 * switches may change. Both ends put the mask into the frame itself, so that the CRC is one call;
 * the sender takes it off again, the receiver has read those fields before. A load waits for stores
 * to its bytes that are still queued: some time should pass between mask_on and frame_crc. */
inlined void mask_on(struct headers *h)
{
	memset((uint8_t *)h + CRC_FROM, 0xff, 8);
	h->ip.type_of_service = h->ip.time_to_live = 0xff;
	h->ip.hdr_checksum = h->udp.dgram_cksum = 0xffff;
	h->bth.qpn |= RTE_BE32(0xff000000u); /* FECN, BECN and reserved bits */
}

inlined void mask_off(struct headers *h, const uint8_t before_ip[8], uint16_t checksum)
{
	memcpy((uint8_t *)h + CRC_FROM, before_ip, 8);
	h->ip.type_of_service = ECT0;
	h->ip.time_to_live = TTL;
	h->ip.hdr_checksum = checksum;
	h->udp.dgram_cksum = 0;
	h->bth.qpn &= RTE_BE32(MASK24);
}

inlined uint32_t frame_crc(const struct headers *h, uint32_t len)
{
	const uint8_t *from = (const uint8_t *)h + CRC_FROM;
	return crc_on ? rte_net_crc_calc(from, len - CRC_FROM, RTE_NET_CRC32_ETH) : 0;
}

/* ---- templates ---- */
static inline void template_set(struct template *t, const struct rte_ether_addr *from,
				const struct rte_ether_addr *to, uint32_t ip_from, uint32_t ip_to,
				uint16_t udp_from, uint32_t qpn)
{
	struct headers *h = (void *)t->bytes;
	*h = (struct headers){
		.eth = { .dst_addr = *to, .src_addr = *from, .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4) },
		.ip = { .version_ihl = 0x45, .type_of_service = ECT0, .time_to_live = TTL,
			.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG), .next_proto_id = IPPROTO_UDP,
			.src_addr = rte_cpu_to_be_32(ip_from), .dst_addr = rte_cpu_to_be_32(ip_to) },
		.udp = { .src_port = rte_cpu_to_be_16(udp_from), .dst_port = RTE_BE16(UDP_PORT) },
		.bth = { .pkey = 0xffff, .qpn = rte_cpu_to_be_32(qpn) },
	};
	t->sum = ip_sum(&h->ip);
	mask_on(h);
}

/* Writes the headers of a frame, masked. It returns the IP header's checksum for mask_off. */
inlined uint16_t template_write(const struct template *t, struct headers *h, uint8_t op,
				uint32_t psn, uint32_t body)
{
	uint16_t udp_len = HDR + body + CRC_LEN - offsetof(struct headers, udp);
	memcpy(h, t->bytes, HDR);
	h->ip.total_length = rte_cpu_to_be_16(udp_len + sizeof(h->ip));
	h->udp.dgram_len = rte_cpu_to_be_16(udp_len);
	h->bth.op = op;
	h->bth.psn = rte_cpu_to_be_32(psn);
	return ~fold((uint64_t)t->sum + h->ip.total_length);
}

/* ---- receiving ---- */
/* Reports whether a frame is a RoCEv2 packet of the opcodes above, from the length of the frame to
 * the length of the opcode (IB 9.6.1, A17.4), except for its CRC. */
inlined bool headers_good(const struct headers *h, uint32_t len)
{
	if (len < HDR + CRC_LEN)
		return false;
	uint32_t total = rte_be_to_cpu_16(h->ip.total_length), op = h->bth.op;
	uint32_t ext = op == ACK ? AETH : op == WRITE_ONLY ? RETH : 0;
	return h->eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && h->ip.version_ihl == 0x45 &&
		h->ip.next_proto_id == IPPROTO_UDP && !(h->ip.fragment_offset & RTE_BE16(0x3fff)) &&
		h->udp.dst_port == RTE_BE16(UDP_PORT) && ip_sum(&h->ip) == 0xffff &&
		total + sizeof(h->eth) == len &&
		rte_be_to_cpu_16(h->udp.dgram_len) == total - sizeof(h->ip) && h->bth.flags == 0 &&
		(op == SEND_ONLY || op == WRITE_ONLY || op == ACK) && len >= HDR + ext + CRC_LEN;
}
#endif
