/* IDs from the results of rdma_getaddrinfo, and the requests of a synchronous listener. */
#include "cma.h"

static int keep_attr(struct cma_id *p, struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	p->ep_pd = pd;
	if (!attr)
		return 0;
	p->ep_attr = malloc(sizeof(*attr));
	if (!p->ep_attr)
		return ENOMEM;
	*p->ep_attr = *attr;
	p->ep_attr->qp_type = p->id.qp_type;
	return 0;
}

static int keep_connect(struct cma_id *p, const struct rdma_addrinfo *res)
{
	if (!res->ai_connect_len)
		return 0;
	p->connect_data = malloc(res->ai_connect_len);
	if (!p->connect_data)
		return ENOMEM;
	memcpy(p->connect_data, res->ai_connect, res->ai_connect_len);
	p->connect_len = res->ai_connect_len;
	return 0;
}

static int make_active(struct rdma_cm_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	const int timeout_ms = 2000;
	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, timeout_ms) ||
	    rdma_resolve_route(id, timeout_ms))
		return errno;
	if (attr) {
		attr->qp_type = res->ai_qp_type;
		if (rdma_create_qp(id, pd, attr))
			return errno;
	}
	return keep_connect(cma_id(id), res);
}

int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *new;
	int err;

	if (!id || !res)
		return fail(EINVAL);
	if (cma_create_id(NULL, &new, NULL, res->ai_port_space, res->ai_qp_type))
		return -1;
	if (res->ai_flags & RAI_PASSIVE) {
		err = rdma_bind_addr(new, res->ai_src_addr) ? errno : 0;
		if (!err)
			err = keep_attr(cma_id(new), pd, attr);
	} else {
		err = make_active(new, res, pd, attr);
	}
	if (err) {
		rdma_destroy_ep(new);
		return fail(err);
	}
	*id = new;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct cma_id *p = cma_id(listen);
	struct rdma_cm_event *event;

	if (!p->sync || !id)
		return fail(EINVAL);
	if (listen->event) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	int err = event->status < 0 ? -event->status : event->status;
	if (!err && event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		err = EINVAL;
	if (err) {
		listen->event = event;
		return fail(err);
	}
	struct rdma_cm_id *new = event->id;
	if (p->ep_attr) {
		struct ibv_qp_init_attr attr = *p->ep_attr;
		if (!attr.srq)
			attr.srq = listen->srq;
		if (rdma_create_qp(new, p->ep_pd, &attr)) {
			err = errno;
			rdma_ack_cm_event(event);
			rdma_reject(new, NULL, 0);
			rdma_destroy_id(new);
			return fail(err);
		}
	}
	new->event = event;
	*id = new;
	return 0;
}
