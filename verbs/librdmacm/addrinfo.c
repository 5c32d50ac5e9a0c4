/* rdma_getaddrinfo: addresses as getaddrinfo(3) finds them. */
#include <netdb.h>

#include "cma.h"

static int copy_addr(struct sockaddr **to, socklen_t *len, const struct sockaddr *from,
		     socklen_t from_len)
{
	*to = malloc(from_len);
	if (!*to)
		return EAI_MEMORY;
	memcpy(*to, from, from_len);
	*len = from_len;
	return 0;
}

static int port_space_of(const struct rdma_addrinfo *hints, int *qp_type)
{
	int space = hints ? hints->ai_port_space : 0, type = hints ? hints->ai_qp_type : 0;
	if (!space)
		space = type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (!type)
		type = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	*qp_type = type;
	return space;
}

/* find sets the destination, or with RAI_PASSIVE the source. */
static int find(struct rdma_addrinfo *r, const char *node, const char *service)
{
	struct addrinfo hints = {.ai_family = r->ai_family == AF_IB ? AF_UNSPEC : r->ai_family,
				 .ai_socktype = r->ai_port_space == RDMA_PS_TCP ? SOCK_STREAM
										: SOCK_DGRAM};
	struct addrinfo *found;
	bool passive = r->ai_flags & RAI_PASSIVE;

	if (passive)
		hints.ai_flags |= AI_PASSIVE;
	if (r->ai_flags & RAI_NUMERICHOST)
		hints.ai_flags |= AI_NUMERICHOST;
	int err = getaddrinfo(node, service, &hints, &found);
	if (err)
		return err;
	if (passive)
		err = copy_addr(&r->ai_src_addr, &r->ai_src_len, found->ai_addr, found->ai_addrlen);
	else
		err = copy_addr(&r->ai_dst_addr, &r->ai_dst_len, found->ai_addr, found->ai_addrlen);
	r->ai_family = found->ai_family;
	freeaddrinfo(found);
	return err;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	if (!res || (!node && !service && !hints))
		return fail(EINVAL);
	struct rdma_addrinfo *r = calloc(1, sizeof(*r));
	if (!r)
		return EAI_MEMORY;
	if (hints) {
		r->ai_flags = hints->ai_flags;
		r->ai_family = hints->ai_family;
	}
	r->ai_port_space = port_space_of(hints, &r->ai_qp_type);
	int err = node || service ? find(r, node, service) : 0;
	if (!err && !node && !service && hints->ai_dst_len)
		err = copy_addr(&r->ai_dst_addr, &r->ai_dst_len, hints->ai_dst_addr,
				hints->ai_dst_len);
	if (!err && !r->ai_src_len && hints && hints->ai_src_len)
		err = copy_addr(&r->ai_src_addr, &r->ai_src_len, hints->ai_src_addr,
				hints->ai_src_len);
	if (err) {
		rdma_freeaddrinfo(r);
		return err;
	}
	*res = r;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
		res = next;
	}
}
