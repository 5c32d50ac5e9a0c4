/* Address handles. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "goroce.h"

void gr_put_path(struct gr_path *to, const struct ibv_ah_attr *from)
{
	memcpy(to->dgid, from->grh.dgid.raw, sizeof(to->dgid));
	to->flow_label = from->grh.flow_label;
	to->sgid_index = from->grh.sgid_index;
	to->hop_limit = from->grh.hop_limit;
	to->traffic_class = from->grh.traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port = from->port_num;
}

void gr_get_path(struct ibv_ah_attr *to, const struct gr_path *from)
{
	memcpy(to->grh.dgid.raw, from->dgid, sizeof(from->dgid));
	to->grh.flow_label = from->flow_label;
	to->grh.sgid_index = from->sgid_index;
	to->grh.hop_limit = from->hop_limit;
	to->grh.traffic_class = from->traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port_num = from->port;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct gr_create_ah r = {.pd = pd->handle};
	struct gr_handle h;
	struct ibv_ah *ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	gr_put_path(&r.path, attr);
	int err = gr_request(&gr_context(pd->context)->engine, GR_CREATE_AH, &r, sizeof(r), -1, &h,
			     sizeof(h), NULL, 0);
	if (err) {
		free(ah);
		errno = err;
		return NULL;
	}
	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = h.handle;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	int err = gr_simple(ah->context, GR_DESTROY_AH, ah->handle);
	if (!err)
		free(ah);
	return err;
}

/* The header that precedes a datagram: 20 bytes of nothing and an IPv4 header, or IPv6's. */
static bool addresses(const struct ibv_grh *grh, union ibv_gid *src, union ibv_gid *dst,
		      uint8_t *tclass, uint32_t *flow)
{
	const uint8_t *raw = (const uint8_t *)grh;
	if (raw[0] >> 4 == 6) {
		uint32_t first = ntohl(grh->version_tclass_flow);
		*src = grh->sgid;
		*dst = grh->dgid;
		*tclass = (uint8_t)(first >> 20);
		*flow = first & 0xfffff;
		return true;
	}
	const uint8_t *ip = raw + 20;
	if (ip[0] >> 4 != 4)
		return false;
	memset(src, 0, sizeof(*src));
	memset(dst, 0, sizeof(*dst));
	src->raw[10] = src->raw[11] = dst->raw[10] = dst->raw[11] = 0xff;
	memcpy(src->raw + 12, ip + 12, 4);
	memcpy(dst->raw + 12, ip + 16, 4);
	*tclass = ip[1];
	*flow = 0;
	return true;
}

int ibv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	union ibv_gid src, dst, own;
	uint8_t tclass;
	uint32_t flow;

	memset(attr, 0, sizeof(*attr));
	attr->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH) || !addresses(grh, &src, &dst, &tclass, &flow)) {
		errno = EINVAL; /* RoCE has no other addresses */
		return -1;
	}
	for (int i = 0; !ibv_query_gid(c, port, i, &own); i++) {
		if (memcmp(&own, &dst, sizeof(own)))
			continue;
		attr->is_global = 1;
		attr->grh.dgid = src;
		attr->grh.sgid_index = (uint8_t)i;
		attr->grh.hop_limit = 64;
		attr->grh.traffic_class = tclass;
		attr->grh.flow_label = flow;
		return 0;
	}
	errno = ENOENT;
	return -1;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	struct ibv_ah_attr attr;
	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* The engine resolves neighbours itself. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *attr,
				uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	(void)c, (void)attr, (void)mac, (void)vid;
	errno = EOPNOTSUPP;
	return -1;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return EOPNOTSUPP;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return EOPNOTSUPP;
}
