/* Opening a device, and what it is asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "goroce.h"

static void set_ops(struct gr_context *c)
{
	struct verbs_context *v = &c->verbs;
	struct ibv_context_ops *ops = &v->context.ops;
	ops->poll_cq = gr_poll_cq;
	ops->req_notify_cq = gr_req_notify_cq;
	ops->post_send = gr_post_send;
	ops->post_recv = gr_post_recv;
	ops->post_srq_recv = gr_post_srq_recv;
	v->query_port = gr_query_port;
	v->query_device_ex = gr_query_device_ex;
	v->create_cq_ex = gr_create_cq_ex;
	v->create_qp_ex = gr_create_qp_ex;
	v->create_srq_ex = gr_create_srq_ex;
	v->sz = sizeof(*v);
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

/* hello begins the session: the engine gets the socket of events, we get the shared memory. */
static int hello(struct gr_context *c)
{
	struct gr_hello h = {.version = GR_VERSION};
	int events[2], fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events))
		return errno;
	int err = gr_request(&c->engine, GR_HELLO, &h, sizeof(h), events[1], &c->attr,
			     sizeof(c->attr), fds, 2);
	close(events[1]);
	char *memory = gr_map(fds[0], GR_SESSION_SIZE);
	char *wake = gr_map(fds[1], GR_WAKE_SIZE);
	c->tails = (atomic_uint *)(memory + GR_TAILS);
	c->heads = (atomic_uint *)(memory + GR_HEADS);
	c->asleep = (atomic_uint *)wake;
	c->verbs.context.async_fd = events[0];
	if (!err && (!memory || !wake))
		err = ENOMEM;
	if (!err && c->engine.daemon)
		err = gr_share_memory(&c->engine);
	if (!err)
		return 0;
	close(events[0]);
	if (memory)
		munmap(memory, GR_SESSION_SIZE);
	if (wake)
		munmap(wake, GR_WAKE_SIZE);
	return err;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct gr_context *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	int err = gr_connect(&c->engine);
	if (err) {
		free(c);
		errno = err;
		return NULL;
	}
	if ((err = hello(c))) {
		gr_disconnect(&c->engine);
		free(c);
		errno = err;
		return NULL;
	}
	gr_device_get(device);
	struct ibv_context *context = &c->verbs.context;
	context->device = device;
	context->cmd_fd = c->engine.fd;
	context->num_comp_vectors = 1;
	pthread_mutex_init(&context->mutex, NULL);
	pthread_mutex_init(&c->cookies.mutex, NULL);
	set_ops(c);
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct gr_context *c = gr_context(context);
	munmap(c->tails, GR_SESSION_SIZE);
	munmap(c->asleep, GR_WAKE_SIZE);
	close(context->async_fd);
	gr_disconnect(&c->engine);
	gr_device_put(context->device);
	pthread_mutex_destroy(&context->mutex);
	pthread_mutex_destroy(&c->cookies.mutex);
	free(c->cookies.slots);
	free(c);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *a)
{
	const struct gr_device *d = &gr_context(context)->attr;
	memset(a, 0, sizeof(*a));
	snprintf(a->fw_ver, sizeof(a->fw_ver), "goroce");
	a->node_guid = a->sys_image_guid = ibv_get_device_guid(context->device);
	a->max_mr_size = INT64_MAX;
	a->page_size_cap = 0xfffffffffffff000;
	a->max_qp = (int)d->max_qp;
	a->max_qp_wr = (int)d->max_qp_wr;
	a->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
			      IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_SYS_IMAGE_GUID;
	a->max_sge = a->max_sge_rd = a->max_srq_sge = (int)d->max_sge;
	a->max_cq = (int)d->max_cq;
	a->max_cqe = (int)d->max_cqe;
	a->max_mr = (int)d->max_mr;
	a->max_pd = (int)d->max_pd;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = (int)d->max_rd_atomic;
	a->max_res_rd_atom = (int)(d->max_rd_atomic * d->max_qp);
	a->atomic_cap = IBV_ATOMIC_HCA;
	a->max_ah = (int)d->max_ah;
	a->max_srq = (int)d->max_srq;
	a->max_srq_wr = (int)d->max_srq_wr;
	a->max_pkeys = 1;
	a->phys_port_cnt = 1;
	return 0;
}

int gr_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex all = {.comp_mask = 0};
	(void)input;
	ibv_query_device(context, &all.orig_attr);
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	all.phys_port_cnt_ex = 1;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* link_rate sets the largest width and speed that are not above the rate. */
static void link_rate(uint64_t bps, struct ibv_port_attr *a)
{
	/* codes of active_speed (InfiniBand spec 14.2.5.6), for one lane in Mb/s */
	static const struct { uint32_t mbps; uint8_t speed; } lanes[] = {
		{100000, 128}, {50000, 64}, {25000, 32}, {10000, 4}, {5000, 2}, {2500, 1}};
	uint64_t mbps = bps / 1000000;
	a->active_width = 1; /* 1X */
	a->active_speed = 1; /* 2.5 Gb/s, also for less */
	if (!mbps) { /* shared memory: unknown */
		a->active_speed = 4;
		return;
	}
	for (size_t i = 0; i < sizeof(lanes) / sizeof(*lanes); i++) {
		if (mbps >= 4 * (uint64_t)lanes[i].mbps) {
			a->active_width = 2; /* 4X */
			a->active_speed = lanes[i].speed;
			return;
		}
		if (mbps >= lanes[i].mbps) {
			a->active_speed = lanes[i].speed;
			return;
		}
	}
}

int gr_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		  size_t size)
{
	struct gr_context *c = gr_context(context);
	struct gr_port p;
	struct ibv_port_attr a = {.max_mtu = c->attr.max_mtu, .active_mtu = c->attr.max_mtu};

	if (port != 1)
		return EINVAL;
	int err = gr_request(&c->engine, GR_QUERY_PORT, NULL, 0, -1, &p, sizeof(p), NULL, 0);
	if (err)
		return err;
	a.state = p.active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a.phys_state = p.active ? 5 : 3; /* LinkUp, Disabled */
	a.gid_tbl_len = (int)c->attr.gid_count;
	a.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	a.max_msg_sz = 1u << 31;
	a.pkey_tbl_len = 1;
	a.max_vl_num = 1;
	a.link_layer = IBV_LINK_LAYER_ETHERNET;
	a.flags = IBV_QPF_GRH_REQUIRED;
	link_rate(p.link_bps, &a);
	memset(attr, 0, size);
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return 0;
}

/* Programs built with headers from before verbs_context.query_port call this. */
int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return gr_query_port(c, port, (struct ibv_port_attr *)attr,
			     offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	const struct gr_device *d = &gr_context(context)->attr;
	if (port != 1 || index < 0 || (uint32_t)index >= d->gid_count) {
		errno = EINVAL;
		return -1;
	}
	memcpy(gid->raw, d->gids[index], sizeof(gid->raw));
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry e = {.gid_index = index, .port_num = port,
				  .gid_type = IBV_GID_TYPE_ROCE_V2};
	if (flags)
		return EOPNOTSUPP;
	if (port > UINT8_MAX || index > INT32_MAX ||
	    ibv_query_gid(c, (uint8_t)port, (int)index, &e.gid))
		return EINVAL;
	memset(entry, 0, size);
	memcpy(entry, &e, size < sizeof(e) ? size : sizeof(e));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	uint32_t n = gr_context(c)->attr.gid_count;
	if (flags)
		return -EOPNOTSUPP;
	if (max < n)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		_ibv_query_gid_ex(c, 1, i, (void *)((char *)entries + i * size), 0, size);
	return n;
}

/* The types of rdma-core's private interface, which ibv_devinfo uses: 0 is IB or RoCE v1. */
int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, unsigned int *type)
{
	union ibv_gid gid;
	if (index > INT32_MAX || ibv_query_gid(c, port, (int)index, &gid)) {
		errno = EINVAL;
		return -1;
	}
	*type = 1;
	return 0;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
	(void)c;
	if (port != 1 || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = 0xffff;
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	(void)c;
	if (port == 1 && (pkey | __builtin_bswap16(0x8000)) == 0xffff)
		return 0;
	errno = EINVAL;
	return -1;
}
