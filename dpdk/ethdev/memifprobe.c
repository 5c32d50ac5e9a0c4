/* Releases what the memif driver leaks when the creation of a device fails: the device's port, of
 * which a process has RTE_MAX_ETHPORTS, its memory, and its socket, which may already listen. They
 * are found by the driver's allocations meanwhile. */
#include "memif.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_hash.h>
#include <rte_malloc.h>

/* For drivers; not declared in an installed header. */
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
int rte_eth_dev_release_port(struct rte_eth_dev *dev);

/* More than the driver's allocations for a device. */
#define MOST 8

/* Stands for the port that the new device does not have yet. */
#define NO_PORT UINT16_MAX

static _Thread_local struct {
	int under_way;
	void *address; /* see __wrap_rte_zmalloc */
	void *memory[MOST];
} probe;

int gr_memif_probe_begin(void)
{
	probe.address = rte_zmalloc(NULL, sizeof(struct rte_ether_addr), 0);
	if (probe.address == NULL)
		return -ENOMEM;
	probe.under_way = 1;
	gr_memif_setup_begin(NO_PORT);
	return 0;
}

/* Removes the socket, if it is one, from the driver's table. */
static void forget_socket(const void *socket)
{
	struct rte_hash *table = rte_hash_find_existing("memif-sh");
	const void *key;
	void *data;
	uint32_t at = 0;

	while (table != NULL && rte_hash_iterate(table, &key, &data, &at) >= 0) {
		if (data == socket) {
			rte_hash_del_key(table, key);
			return;
		}
	}
}

void gr_memif_probe_end(const char *name, int failed)
{
	struct rte_eth_dev *dev = failed ? rte_eth_dev_allocated(name) : NULL;

	gr_memif_setup_end();
	probe.under_way = 0;
	rte_free(probe.address);
	probe.address = NULL;
	if (dev != NULL)
		rte_eth_dev_release_port(dev);
	for (int i = 0; i < MOST; i++) {
		void *memory = probe.memory[i];
		probe.memory[i] = NULL;
		if (memory == NULL || !failed)
			continue;
		gr_memif_stop_listening(memory);
		forget_socket(memory);
		rte_free(memory);
	}
	if (failed)
		gr_memif_closed(NO_PORT);
	else
		gr_memif_kept(NO_PORT);
}

/* The driver writes a new device's address into an allocation without checking for NULL. So if
 * there is no memory, it gets an allocation made before. */
void *__real_rte_zmalloc(const char *type, size_t size, unsigned align);
void *__wrap_rte_zmalloc(const char *type, size_t size, unsigned align)
{
	void *memory = __real_rte_zmalloc(type, size, align);

	if (memory == NULL && size == sizeof(struct rte_ether_addr)) {
		memory = probe.address;
		probe.address = NULL;
	}
	for (int i = 0; probe.under_way && memory != NULL && i < MOST; i++) {
		if (probe.memory[i] == NULL) {
			probe.memory[i] = memory;
			break;
		}
	}
	return memory;
}

void __real_rte_free(void *memory);
void __wrap_rte_free(void *memory)
{
	for (int i = 0; i < MOST; i++)
		if (probe.memory[i] == memory)
			probe.memory[i] = NULL;
	__real_rte_free(memory);
}
