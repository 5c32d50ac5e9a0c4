/* Names and rates. */
#include "goroce.h"

#define NAME(table, i) \
	((size_t)(i) < sizeof(table) / sizeof(*(table)) && (table)[i] ? (table)[i] : "unknown")

const char *ibv_node_type_str(enum ibv_node_type t)
{
	static const char *const names[] = {[IBV_NODE_CA] = "channel adapter",
		[IBV_NODE_SWITCH] = "switch", [IBV_NODE_ROUTER] = "router",
		[IBV_NODE_RNIC] = "iWARP NIC", [IBV_NODE_USNIC] = "usNIC",
		[IBV_NODE_USNIC_UDP] = "usNIC over UDP", [IBV_NODE_UNSPECIFIED] = "unspecified"};
	return NAME(names, t);
}

const char *ibv_port_state_str(enum ibv_port_state s)
{
	static const char *const names[] = {"no state change", "down", "init", "armed", "active",
		"active (deferred)"};
	return NAME(names, s);
}

const char *ibv_event_type_str(enum ibv_event_type e)
{
	static const char *const names[] = {[IBV_EVENT_CQ_ERR] = "CQ error",
		[IBV_EVENT_QP_FATAL] = "QP fatal error",
		[IBV_EVENT_QP_REQ_ERR] = "invalid request of the peer",
		[IBV_EVENT_QP_ACCESS_ERR] = "access violation of the peer",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "send queue drained",
		[IBV_EVENT_PATH_MIG] = "path migrated",
		[IBV_EVENT_PATH_MIG_ERR] = "path migration failed",
		[IBV_EVENT_DEVICE_FATAL] = "device fatal error",
		[IBV_EVENT_PORT_ACTIVE] = "port active", [IBV_EVENT_PORT_ERR] = "port error",
		[IBV_EVENT_LID_CHANGE] = "LID changed", [IBV_EVENT_PKEY_CHANGE] = "P_Key changed",
		[IBV_EVENT_SM_CHANGE] = "subnet manager changed",
		[IBV_EVENT_SRQ_ERR] = "SRQ error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last receive of the QP reached",
		[IBV_EVENT_CLIENT_REREGISTER] = "client reregistration",
		[IBV_EVENT_GID_CHANGE] = "GID table changed", [IBV_EVENT_WQ_FATAL] = "WQ fatal error"};
	return NAME(names, e);
}

const char *ibv_wc_status_str(enum ibv_wc_status s)
{
	static const char *const names[] = {"success", "local length error",
		"local QP operation error", "local EE context operation error",
		"local protection error", "work request flushed", "memory management operation error",
		"bad response", "local access error", "remote invalid request", "remote access error",
		"remote operation error", "transport retry count exceeded", "RNR retry count exceeded",
		"local RDD violation", "remote invalid RD request", "aborted by remote",
		"invalid EE context number", "invalid EE context state", "fatal error",
		"response timeout", "general error", "tag matching error",
		"tag matching rendezvous incomplete"};
	return NAME(names, s);
}

/* Rates by enum ibv_rate: Mb/s, and multiples of 2.5 Gb/s where the specification has one. */
static const struct { int mbps, mult; } rates[] = {
	[IBV_RATE_2_5_GBPS] = {2500, 1}, [IBV_RATE_5_GBPS] = {5000, 2},
	[IBV_RATE_10_GBPS] = {10000, 4}, [IBV_RATE_20_GBPS] = {20000, 8},
	[IBV_RATE_30_GBPS] = {30000, 12}, [IBV_RATE_40_GBPS] = {40000, 16},
	[IBV_RATE_60_GBPS] = {60000, 24}, [IBV_RATE_80_GBPS] = {80000, 32},
	[IBV_RATE_120_GBPS] = {120000, 48}, [IBV_RATE_14_GBPS] = {14062, 6},
	[IBV_RATE_56_GBPS] = {56250, 22}, [IBV_RATE_112_GBPS] = {112500, 45},
	[IBV_RATE_168_GBPS] = {168750, 67}, [IBV_RATE_25_GBPS] = {25781, 10},
	[IBV_RATE_100_GBPS] = {103125, 41}, [IBV_RATE_200_GBPS] = {206250, 82},
	[IBV_RATE_300_GBPS] = {309375, 124}, [IBV_RATE_28_GBPS] = {28125, 11},
	[IBV_RATE_50_GBPS] = {53125, 20}, [IBV_RATE_400_GBPS] = {425000, 160},
	[IBV_RATE_600_GBPS] = {637500, 240}, [IBV_RATE_800_GBPS] = {850000, 320},
	[IBV_RATE_1200_GBPS] = {1275000, 480}};

#define RATES (sizeof(rates) / sizeof(*rates))

int ibv_rate_to_mult(enum ibv_rate r)
{
	return (size_t)r < RATES && rates[r].mult ? rates[r].mult : -1;
}

int ibv_rate_to_mbps(enum ibv_rate r)
{
	return (size_t)r < RATES && rates[r].mbps ? rates[r].mbps : -1;
}

enum ibv_rate mult_to_ibv_rate(int mult)
{
	for (size_t i = 0; i < RATES; i++)
		if (rates[i].mult && rates[i].mult == mult)
			return (enum ibv_rate)i;
	return IBV_RATE_MAX;
}

enum ibv_rate mbps_to_ibv_rate(int mbps)
{
	for (size_t i = 0; i < RATES; i++)
		if (rates[i].mbps && rates[i].mbps == mbps)
			return (enum ibv_rate)i;
	return IBV_RATE_MAX;
}
