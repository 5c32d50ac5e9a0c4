/* The list of devices: the one that the environment describes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goroce.h"

#define NAME "goroce0"

static bool configured(void)
{
	const char *port = getenv("GOROCE_PORT"), *daemon = getenv("GOROCE_DAEMON");
	return (port && *port) || (daemon && *daemon);
}

/* guid derives the device's identity from what names its port (FNV-1a), locally administered. */
static uint64_t guid(void)
{
	static const char *const names[] = {"GOROCE_PORT", "GOROCE_DAEMON", "GOROCE_IP"};
	uint64_t h = 0xcbf29ce484222325;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *s = getenv(names[i]);
		for (; s && *s; s++)
			h = (h ^ (uint8_t)*s) * 0x100000001b3;
	}
	return (h & 0x00ffffffffffffff) | 0x0200000000000000;
}

struct ibv_device **ibv_get_device_list(int *num)
{
	int n = configured() ? 1 : 0;
	struct ibv_device **list = calloc(2, sizeof(*list));
	if (num)
		*num = 0;
	if (!list)
		return NULL;
	if (n) {
		struct gr_device_node *node = calloc(1, sizeof(*node));
		if (!node) {
			free(list);
			errno = ENOMEM;
			return NULL;
		}
		atomic_init(&node->refs, 1);
		struct ibv_device *d = &node->device;
		d->node_type = IBV_NODE_CA;
		d->transport_type = IBV_TRANSPORT_IB;
		strcpy(d->name, NAME);
		strcpy(d->dev_name, "uverbs0");
		strcpy(d->dev_path, "/sys/class/infiniband_verbs/uverbs0");
		strcpy(d->ibdev_path, "/sys/class/infiniband/" NAME);
		list[0] = d;
	}
	if (num)
		*num = n;
	return list;
}

void gr_device_put(struct ibv_device *d)
{
	struct gr_device_node *node = container_of(d, struct gr_device_node, device);
	if (atomic_fetch_sub(&node->refs, 1) == 1)
		free(node);
}

void gr_device_get(struct ibv_device *d)
{
	atomic_fetch_add(&container_of(d, struct gr_device_node, device)->refs, 1);
}

void ibv_free_device_list(struct ibv_device **list)
{
	for (int i = 0; list && list[i]; i++)
		gr_device_put(list[i]);
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *d) { return d->name; }

int ibv_get_device_index(struct ibv_device *d)
{
	(void)d;
	return 0;
}

__be64 ibv_get_device_guid(struct ibv_device *d)
{
	(void)d;
	return __builtin_bswap64(guid());
}

int ibv_fork_init(void) { return 0; }

/* What is shared with the engine is not in a child: the rings are MADV_DONTFORK. */
enum ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}
