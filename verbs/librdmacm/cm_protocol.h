/*
 * What librdmacm.so.1 and the engine exchange, in addition to verbs/libibverbs/protocol.h. Package
 * verbs/protocol mirrors this file; its test compares the layouts.
 *
 * An event channel is a socket with one byte for each event that waits in the engine. A byte only
 * says that GR_CM_GET_EVENT may find an event: the engine drops the events of a destroyed ID and
 * moves those of a migrated one, and with them, as far as it still can, the bytes.
 */
#ifndef GOROCE_CM_PROTOCOL_H
#define GOROCE_CM_PROTOCOL_H

#include "../libibverbs/protocol.h"

#define GR_MAX_PRIVATE 256

enum gr_cm_op {
	GR_CM_CREATE_CHANNEL = GR_FIRST_CM_OP, /* the reply has the program's end of the socket */
	GR_CM_DESTROY_CHANNEL,
	GR_CM_GET_EVENT, /* EAGAIN: none */
	GR_CM_CREATE_ID,
	GR_CM_DESTROY_ID,
	GR_CM_MIGRATE_ID,
	GR_CM_BIND,
	GR_CM_RESOLVE_ADDR,
	GR_CM_RESOLVE_ROUTE,
	GR_CM_LISTEN,
	GR_CM_CONNECT,
	GR_CM_ACCEPT,
	GR_CM_REJECT,
	GR_CM_ESTABLISH,
	GR_CM_DISCONNECT,
	GR_CM_NOTIFY,
	GR_CM_QP_ATTR, /* the reply is struct gr_qp_attr, with the mask of what is set */
	GR_CM_QUERY,
	GR_CM_SET_OPTION,
};

/* An IP address with a port. */
struct gr_cm_addr {
	uint8_t addr[16]; /* IPv4 mapped into IPv6 */
	uint32_t scope;
	uint16_t family; /* 4, 6, or 0 for none */
	uint16_t port;   /* host order */
};

struct gr_cm_create_id {
	uint64_t cookie; /* comes back in events */
	uint32_t channel;
	uint32_t port_space; /* enum rdma_port_space */
	uint32_t qp_type;    /* enum ibv_qp_type */
	uint32_t reserved;
};

/* Of an ID: how many of its events have been fetched. */
struct gr_cm_reported {
	uint32_t events;
	uint32_t reserved;
};

/* GR_CM_MIGRATE_ID: a channel. GR_CM_LISTEN: a backlog. GR_CM_RESOLVE_ROUTE: milliseconds.
 * GR_CM_NOTIFY: enum ibv_event_type. GR_CM_QP_ATTR: enum ibv_qp_state. */
struct gr_cm_handle_value {
	uint32_t handle;
	uint32_t value;
};

/* GR_CM_BIND: the source alone. */
struct gr_cm_resolve {
	uint32_t handle;
	uint32_t timeout_ms;
	struct gr_cm_addr source, destination;
};

/* The reply to GR_CM_BIND, GR_CM_LISTEN and GR_CM_QUERY. */
struct gr_cm_route {
	struct gr_cm_addr local, peer;
	uint32_t bound; /* to the device */
	uint32_t mtu;   /* enum ibv_mtu */
	struct gr_path path;
};

/* struct rdma_conn_param, struct rdma_ud_param */
struct gr_cm_param {
	uint8_t responder, initiator, retry_count, rnr_retry;
	uint8_t flow_control, srq, private_len, reserved;
	uint32_t qpn, qkey;
};

/* GR_CM_CONNECT, GR_CM_ACCEPT, GR_CM_REJECT */
struct gr_cm_connect {
	uint64_t cookie;
	uint32_t handle;
	uint32_t reserved;
	struct gr_cm_param param;
	uint8_t private_data[GR_MAX_PRIVATE];
};

struct gr_cm_event {
	uint64_t cookie; /* of the ID; of the listener with a request */
	uint32_t kind;   /* enum rdma_cm_event_type */
	int32_t status;
	uint32_t new_id; /* handle of a request's ID */
	uint32_t port_space;
	uint32_t qp_type;
	uint32_t reserved[2];
	struct gr_cm_route route;
	struct gr_cm_param param;
	uint8_t private_data[GR_MAX_PRIVATE];
};

struct gr_cm_option {
	uint32_t handle, level, name, value;
};

#endif
