/* Connections. */
#include "cma.h"

/* The most private data of each message. */
enum {
	MAX_REQUEST = 56,
	MAX_LOOKUP = 180,
	MAX_REPLY = 196,
	MAX_LOOKUP_REPLY = 136,
	MAX_REJECT = 148,
};

/* check reports whether the device has what a program asks for. */
static int check(struct rdma_cm_id *id, const struct rdma_conn_param *p)
{
	const struct cma_device *d = cma_open();
	if (!p || id->ps != RDMA_PS_TCP)
		return 0;
	if (p->responder_resources != RDMA_MAX_RESP_RES && p->responder_resources > d->max_responder)
		return EINVAL;
	if (p->initiator_depth != RDMA_MAX_INIT_DEPTH && p->initiator_depth > d->max_initiator)
		return EINVAL;
	return 0;
}

static uint8_t smaller(uint8_t a, uint8_t b) { return a < b ? a : b; }

/* set_depths takes the depths of a program, or the largest that the device and the peer have. */
static void set_depths(struct cma_id *p, const struct rdma_conn_param *param)
{
	const struct cma_device *d = cma_open();
	if (!param || param->initiator_depth == RDMA_MAX_INIT_DEPTH)
		p->initiator = smaller(p->initiator, d->max_initiator);
	else
		p->initiator = param->initiator_depth;
	if (!param || param->responder_resources == RDMA_MAX_RESP_RES)
		p->responder = smaller(p->responder, d->max_responder);
	else
		p->responder = param->responder_resources;
}

static int put_private(struct gr_cm_connect *r, const void *data, size_t len, size_t most)
{
	if (len > most || (len && !data))
		return EINVAL;
	r->param.private_len = (uint8_t)len;
	if (len)
		memcpy(r->private_data, data, len);
	return 0;
}

static int put_param(struct gr_cm_connect *r, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param, size_t most)
{
	struct cma_id *p = cma_id(id);
	r->handle = p->handle;
	r->param.initiator = p->initiator;
	r->param.responder = p->responder;
	r->param.retry_count = r->param.rnr_retry = 7;
	if (id->qp) {
		r->param.qpn = id->qp->qp_num;
		r->param.srq = id->qp->srq != NULL;
	} else if (param) {
		r->param.qpn = param->qp_num;
		r->param.srq = param->srq;
	}
	if (!param)
		return 0;
	r->param.retry_count = param->retry_count;
	r->param.rnr_retry = param->rnr_retry_count;
	r->param.flow_control = param->flow_control;
	return put_private(r, param->private_data, param->private_data_len, most);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct cma_id *p = cma_id(id);
	struct gr_cm_connect r = {.handle = p->handle};
	size_t most = id->ps == RDMA_PS_TCP ? MAX_REQUEST : MAX_LOOKUP;
	int err = check(id, param);
	if (err)
		return fail(err);
	set_depths(p, param);
	err = put_param(&r, id, param, most);
	if (!err && p->connect_len && !r.param.private_len) /* of rdma_getaddrinfo */
		err = put_private(&r, p->connect_data, p->connect_len, most);
	if (!err)
		err = cma_call(GR_CM_CONNECT, &r, sizeof(r), NULL, 0);
	if (err)
		return fail(err);
	return cma_complete(id);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct cma_id *p = cma_id(id);
	struct gr_cm_connect r = {.cookie = (uintptr_t)p};
	bool datagrams = id->ps != RDMA_PS_TCP;
	int err = check(id, param);
	if (err)
		return fail(err);
	set_depths(p, param);
	err = put_param(&r, id, param, datagrams ? MAX_LOOKUP_REPLY : MAX_REPLY);
	if (!err && id->qp && !datagrams)
		err = cma_connect_qp(id);
	if (!err)
		err = cma_call(GR_CM_ACCEPT, &r, sizeof(r), NULL, 0);
	if (err) {
		if (!datagrams)
			cma_qp_error(id);
		return fail(err);
	}
	return datagrams ? 0 : cma_complete(id);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	struct gr_cm_connect r = {.handle = cma_id(id)->handle};
	size_t most = id->ps == RDMA_PS_TCP ? MAX_REJECT : MAX_LOOKUP_REPLY;
	int err = put_private(&r, data, len, most);
	return fail(err ? err : cma_call(GR_CM_REJECT, &r, sizeof(r), NULL, 0));
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	return rdma_reject(id, data, len);
}

int rdma_establish(struct rdma_cm_id *id)
{
	if (id->qp)
		return fail(EINVAL); /* rdma_get_cm_event has done it */
	return fail(cma_simple(GR_CM_ESTABLISH, cma_id(id)->handle));
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	int err = cma_qp_error(id);
	if (!err)
		err = cma_simple(GR_CM_DISCONNECT, cma_id(id)->handle);
	return err ? fail(err) : cma_complete(id);
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	struct gr_cm_handle_value r = {cma_id(id)->handle, event};
	return fail(cma_call(GR_CM_NOTIFY, &r, sizeof(r), NULL, 0));
}

/* Enhanced connection establishment negotiates options of vendors, of which we have none. */
int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	return fail(ece && ece->vendor_id ? EOPNOTSUPP : 0);
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	if (!ece)
		return fail(EINVAL);
	memset(ece, 0, sizeof(*ece));
	return 0;
}
