/* The queue pairs of IDs. */
#include "cma.h"

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	struct gr_cm_handle_value r = {cma_id(id)->handle, a->qp_state};
	struct gr_qp_attr g;
	int err = cma_call(GR_CM_QP_ATTR, &r, sizeof(r), &g, sizeof(g));
	if (err)
		return fail(err);
	*mask = (int)g.mask;
	a->qp_access_flags = g.access;
	a->qkey = g.qkey;
	a->path_mtu = g.mtu;
	a->rq_psn = g.rq_psn;
	a->sq_psn = g.sq_psn;
	a->dest_qp_num = g.dest_qpn;
	a->pkey_index = g.pkey_index;
	a->port_num = g.port;
	a->max_rd_atomic = g.max_rd_atomic;
	a->max_dest_rd_atomic = g.max_dest_rd_atomic;
	a->min_rnr_timer = g.min_rnr_timer;
	a->timeout = g.timeout;
	a->retry_cnt = g.retry_count;
	a->rnr_retry = g.rnr_retry;
	memset(&a->ah_attr, 0, sizeof(a->ah_attr));
	a->ah_attr.is_global = g.path.is_global;
	a->ah_attr.port_num = g.path.port;
	a->ah_attr.sl = g.path.sl;
	a->ah_attr.grh.flow_label = g.path.flow_label;
	a->ah_attr.grh.sgid_index = g.path.sgid_index;
	a->ah_attr.grh.hop_limit = g.path.hop_limit;
	a->ah_attr.grh.traffic_class = g.path.traffic_class;
	memcpy(a->ah_attr.grh.dgid.raw, g.path.dgid, sizeof(g.path.dgid));
	return 0;
}

static int modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	struct cma_id *p = cma_id(id);
	int mask;

	if (rdma_init_qp_attr(id, &a, &mask))
		return errno;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && p->responder != RDMA_MAX_RESP_RES &&
	    a.max_dest_rd_atomic > p->responder)
		a.max_dest_rd_atomic = p->responder;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && p->initiator != RDMA_MAX_INIT_DEPTH &&
	    a.max_rd_atomic > p->initiator)
		a.max_rd_atomic = p->initiator;
	return ibv_modify_qp(qp, &a, mask);
}

/* cma_init_qp brings a new queue pair to INIT, and one for datagrams to RTS. */
int cma_init_qp(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	int err = modify(id, qp, IBV_QPS_INIT);
	if (!err && qp->qp_type == IBV_QPT_UD)
		err = modify(id, qp, IBV_QPS_RTR);
	if (!err && qp->qp_type == IBV_QPT_UD)
		err = modify(id, qp, IBV_QPS_RTS);
	return err;
}

/* cma_connect_qp brings the queue pair to RTS. In INIT it has not had the access rights yet. */
int cma_connect_qp(struct rdma_cm_id *id)
{
	int err = modify(id, id->qp, IBV_QPS_INIT);
	if (!err)
		err = modify(id, id->qp, IBV_QPS_RTR);
	if (!err)
		err = modify(id, id->qp, IBV_QPS_RTS);
	return err;
}

int cma_qp_error(struct rdma_cm_id *id)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
	return id->qp ? ibv_modify_qp(id->qp, &a, IBV_QP_STATE) : 0;
}

/* The ID has the completion queues that we made; those of the program are its own. */
static void destroy_cqs(struct rdma_cm_id *id)
{
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	if (id->send_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->send_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	id->recv_cq = id->send_cq = NULL;
	id->recv_cq_channel = id->send_cq_channel = NULL;
}

static int create_cq(struct rdma_cm_id *id, uint32_t size, struct ibv_comp_channel **channel,
		     struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return errno;
	*cq = ibv_create_cq(id->verbs, size ? (int)size : 1, id, *channel, 0);
	return *cq ? 0 : errno;
}

/* create_cqs makes the completion queues that the program has not named. */
static int create_cqs(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *a)
{
	int err = 0;
	if (!a->recv_cq) {
		err = create_cq(id, a->cap.max_recv_wr, &id->recv_cq_channel, &id->recv_cq);
		a->recv_cq = id->recv_cq;
	}
	if (!err && !a->send_cq) {
		err = create_cq(id, a->cap.max_send_wr, &id->send_cq_channel, &id->send_cq);
		a->send_cq = id->send_cq;
	}
	return err;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex a = *attr;
	if (id->qp || !id->verbs)
		return fail(EINVAL);
	if (!(a.comp_mask & IBV_QP_INIT_ATTR_PD) || !a.pd) {
		a.comp_mask |= IBV_QP_INIT_ATTR_PD;
		a.pd = id->pd ? id->pd : cma_default_pd();
		if (!a.pd)
			return -1;
	}
	if (a.pd->context != id->verbs)
		return fail(EINVAL);
	if (!a.srq)
		a.srq = id->srq;
	int err = create_cqs(id, &a);
	struct ibv_qp *qp = NULL;
	if (!err && !(qp = ibv_create_qp_ex(id->verbs, &a)))
		err = errno;
	if (!err)
		err = cma_init_qp(id, qp);
	if (err) {
		if (qp)
			ibv_destroy_qp(qp);
		destroy_cqs(id);
		return fail(err);
	}
	id->qp = qp;
	id->pd = a.pd;
	attr->cap = a.cap;
	attr->send_cq = a.send_cq;
	attr->recv_cq = a.recv_cq;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex a = {
		.qp_context = attr->qp_context, .send_cq = attr->send_cq, .recv_cq = attr->recv_cq,
		.srq = attr->srq, .cap = attr->cap, .qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all, .comp_mask = pd ? IBV_QP_INIT_ATTR_PD : 0, .pd = pd};
	if (rdma_create_qp_ex(id, &a))
		return -1;
	attr->cap = a.cap;
	attr->send_cq = a.send_cq;
	attr->recv_cq = a.recv_cq;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (!id->qp)
		return;
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	destroy_cqs(id);
}

int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (id->srq || !id->verbs)
		return fail(EINVAL);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)
		return fail(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd ? id->pd : cma_default_pd();
		if (!attr->pd)
			return -1;
	}
	id->srq = ibv_create_srq_ex(id->verbs, attr);
	if (!id->srq)
		return -1;
	if (!id->pd)
		id->pd = attr->pd;
	return 0;
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex a = {.srq_context = attr->srq_context, .attr = attr->attr,
					 .comp_mask = pd ? IBV_SRQ_INIT_ATTR_PD : 0, .pd = pd};
	if (rdma_create_srq_ex(id, &a))
		return -1;
	attr->attr = a.attr;
	return 0;
}

void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (!id->srq)
		return;
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
}
