/* IDs: their creation, addresses and options. */
#include <arpa/inet.h>

#include "cma.h"

struct cma_id *cma_new_id(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps, enum ibv_qp_type type)
{
	struct cma_id *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->id.channel = channel;
	p->id.context = context;
	p->id.ps = ps;
	p->id.qp_type = type;
	p->responder = p->initiator = 255;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->acknowledged, NULL);
	return p;
}

void cma_free_id(struct cma_id *p)
{
	if (p->sync && p->id.channel)
		rdma_destroy_event_channel(p->id.channel);
	pthread_mutex_destroy(&p->mutex);
	pthread_cond_destroy(&p->acknowledged);
	free(p->ep_attr);
	free(p->connect_data);
	free(p);
}

int cma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		  enum rdma_port_space ps, enum ibv_qp_type type)
{
	if (!cma_open())
		return -1;
	struct cma_id *p = cma_new_id(channel, context, ps, type);
	if (!p)
		return fail(ENOMEM);
	if (!channel) {
		p->id.channel = rdma_create_event_channel();
		if (!p->id.channel) {
			cma_free_id(p);
			return -1;
		}
		p->sync = true;
	}
	struct gr_cm_create_id r = {.cookie = (uintptr_t)p,
				    .channel = ((struct cma_channel *)p->id.channel)->handle,
				    .port_space = ps, .qp_type = type};
	struct gr_handle reply;
	int err = cma_call(GR_CM_CREATE_ID, &r, sizeof(r), &reply, sizeof(reply));
	if (err) {
		cma_free_id(p);
		return fail(err);
	}
	p->handle = reply.handle;
	*id = &p->id;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	if (!id)
		return fail(EINVAL);
	enum ibv_qp_type type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	return cma_create_id(channel, id, context, ps, type);
}

/* wait_acknowledged waits until the program has acknowledged the events that it has fetched. */
static void wait_acknowledged(struct cma_id *p, uint32_t events)
{
	pthread_mutex_lock(&p->mutex);
	while ((int32_t)(events - p->events_completed) > 0)
		pthread_cond_wait(&p->acknowledged, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct cma_id *p = cma_id(id);
	struct gr_handle h = {.handle = p->handle};
	struct gr_cm_reported reply;
	int err = cma_call(GR_CM_DESTROY_ID, &h, sizeof(h), &reply, sizeof(reply));
	if (err)
		return fail(err);
	if (id->event)
		rdma_ack_cm_event(id->event);
	wait_acknowledged(p, reply.events);
	cma_free_id(p);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct cma_id *p = cma_id(id);
	bool sync = !channel;
	struct gr_cm_reported reply;

	if (p->sync && !channel)
		return fail(EINVAL);
	if (sync && !(channel = rdma_create_event_channel()))
		return -1;
	struct gr_cm_handle_value r = {p->handle, ((struct cma_channel *)channel)->handle};
	int err = cma_call(GR_CM_MIGRATE_ID, &r, sizeof(r), &reply, sizeof(reply));
	if (err) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return fail(err);
	}
	if (p->sync) {
		if (id->event) {
			rdma_ack_cm_event(id->event);
			id->event = NULL;
		}
		rdma_destroy_event_channel(id->channel);
	}
	/* the channel may be destroyed when nobody needs it for events that came through it */
	wait_acknowledged(p, reply.events);
	p->sync = sync;
	id->channel = channel;
	return 0;
}

int cma_put_addr(struct gr_cm_addr *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	if (!from)
		return 0;
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *a = (const void *)from;
		to->family = 4;
		to->port = ntohs(a->sin_port);
		to->addr[10] = to->addr[11] = 0xff;
		memcpy(to->addr + 12, &a->sin_addr, 4);
		return 0;
	}
	if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *a = (const void *)from;
		to->family = 6;
		to->port = ntohs(a->sin6_port);
		to->scope = a->sin6_scope_id;
		memcpy(to->addr, &a->sin6_addr, 16);
		return 0;
	}
	return EAFNOSUPPORT;
}

static void get_addr(struct sockaddr_storage *to, const struct gr_cm_addr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->family == 4) {
		struct sockaddr_in *a = (void *)to;
		a->sin_family = AF_INET;
		a->sin_port = htons(from->port);
		memcpy(&a->sin_addr, from->addr + 12, 4);
	} else if (from->family == 6) {
		struct sockaddr_in6 *a = (void *)to;
		a->sin6_family = AF_INET6;
		a->sin6_port = htons(from->port);
		a->sin6_scope_id = from->scope;
		memcpy(&a->sin6_addr, from->addr, 16);
	}
}

static void set_path(struct cma_id *p, const struct gr_cm_route *r)
{
	struct ibv_sa_path_rec *path = &p->path;
	const struct rdma_ib_addr *ib = &p->id.route.addr.addr.ibaddr;
	memset(path, 0, sizeof(*path));
	path->dgid = ib->dgid;
	path->sgid = ib->sgid;
	path->hop_limit = r->path.hop_limit;
	path->traffic_class = r->path.traffic_class;
	path->reversible = 1;
	path->numb_path = 1;
	path->pkey = ib->pkey;
	path->mtu_selector = path->rate_selector = path->packet_life_time_selector = 2; /* exactly */
	path->mtu = (uint8_t)r->mtu;
	path->packet_life_time = 18; /* 1.1 s, as the connection manager has it */
}

/* cma_set_route sets the addresses of an ID, and its device once it has one. */
void cma_set_route(struct cma_id *p, const struct gr_cm_route *r)
{
	struct rdma_addr *a = &p->id.route.addr;
	get_addr(&a->src_storage, &r->local);
	get_addr(&a->dst_storage, &r->peer);
	if (!r->bound)
		return;
	p->id.verbs = cma_open()->verbs;
	p->id.port_num = 1;
	memcpy(a->addr.ibaddr.sgid.raw, r->local.addr, sizeof(r->local.addr));
	memcpy(a->addr.ibaddr.dgid.raw, r->peer.addr, sizeof(r->peer.addr));
	a->addr.ibaddr.pkey = 0xffff;
	set_path(p, r);
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct gr_cm_resolve r = {.handle = cma_id(id)->handle};
	struct gr_cm_route reply;
	if (!addr)
		return fail(EINVAL);
	int err = cma_put_addr(&r.source, addr);
	if (!err)
		err = cma_call(GR_CM_BIND, &r, sizeof(r), &reply, sizeof(reply));
	if (!err)
		cma_set_route(cma_id(id), &reply);
	return fail(err);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *destination,
		      int timeout_ms)
{
	struct gr_cm_resolve r = {.handle = cma_id(id)->handle,
				  .timeout_ms = timeout_ms < 0 ? 0 : (uint32_t)timeout_ms};
	if (!destination)
		return fail(EINVAL);
	int err = cma_put_addr(&r.source, source);
	if (!err)
		err = cma_put_addr(&r.destination, destination);
	if (!err)
		err = cma_call(GR_CM_RESOLVE_ADDR, &r, sizeof(r), NULL, 0);
	return err ? fail(err) : cma_complete(id);
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct gr_cm_handle_value r = {cma_id(id)->handle, (uint32_t)timeout_ms};
	int err = cma_call(GR_CM_RESOLVE_ROUTE, &r, sizeof(r), NULL, 0);
	return err ? fail(err) : cma_complete(id);
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct gr_cm_handle_value r = {cma_id(id)->handle, (uint32_t)backlog};
	struct gr_cm_route reply;
	int err = cma_call(GR_CM_LISTEN, &r, sizeof(r), &reply, sizeof(reply));
	if (!err)
		cma_set_route(cma_id(id), &reply);
	return fail(err);
}

static __be16 port_of(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_port;
	return a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port : 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id) { return port_of(&id->route.addr.src_storage); }

__be16 rdma_get_dst_port(struct rdma_cm_id *id) { return port_of(&id->route.addr.dst_storage); }

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	struct gr_cm_option r = {cma_id(id)->handle, (uint32_t)level, (uint32_t)name, 0};
	if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH)
		return 0; /* on Ethernet the route is the address */
	if (!value || (len != sizeof(uint8_t) && len != sizeof(int)))
		return fail(EINVAL);
	if (len == sizeof(uint8_t))
		r.value = *(uint8_t *)value;
	else
		memcpy(&r.value, value, sizeof(int));
	return fail(cma_call(GR_CM_SET_OPTION, &r, sizeof(r), NULL, 0));
}

/* Datagrams to groups are not supported by the transport. */
int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	(void)id, (void)addr, (void)context;
	return fail(EOPNOTSUPP);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	(void)id, (void)attr, (void)context;
	return fail(EOPNOTSUPP);
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)id, (void)addr;
	return fail(EADDRNOTAVAIL); /* no ID has joined a group */
}
