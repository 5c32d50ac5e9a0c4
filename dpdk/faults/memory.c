/* Calls by which DPDK gets memory. */
#include "fault.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_ring.h>

#define NO_MEMORY                   \
	{                           \
		rte_errno = ENOMEM; \
		errno = ENOMEM;     \
		return NULL;        \
	}

GR_FAULT(void *, rte_malloc, (const char *type, size_t size, unsigned align), (type, size, align),
	 NO_MEMORY)
GR_FAULT(void *, rte_zmalloc, (const char *type, size_t size, unsigned align), (type, size, align),
	 NO_MEMORY)
GR_FAULT(void *, rte_malloc_socket, (const char *type, size_t size, unsigned align, int socket),
	 (type, size, align, socket), NO_MEMORY)
GR_FAULT(void *, rte_zmalloc_socket, (const char *type, size_t size, unsigned align, int socket),
	 (type, size, align, socket), NO_MEMORY)
GR_FAULT(void *, rte_calloc_socket,
	 (const char *type, size_t n, size_t size, unsigned align, int socket),
	 (type, n, size, align, socket), NO_MEMORY)
GR_FAULT(const struct rte_memzone *, rte_memzone_reserve,
	 (const char *name, size_t len, int socket, unsigned flags), (name, len, socket, flags),
	 NO_MEMORY)
GR_FAULT(const struct rte_memzone *, rte_memzone_reserve_aligned,
	 (const char *name, size_t len, int socket, unsigned flags, unsigned align),
	 (name, len, socket, flags, align), NO_MEMORY)
GR_FAULT(struct rte_intr_handle *, rte_intr_instance_alloc, (uint32_t flags), (flags), NO_MEMORY)
GR_FAULT(struct rte_hash *, rte_hash_create, (const struct rte_hash_parameters *p), (p), NO_MEMORY)
GR_FAULT(int32_t, rte_hash_add_key_data, (const struct rte_hash *h, const void *key, void *data),
	 (h, key, data), return -ENOSPC)
GR_FAULT(struct rte_ring *, rte_ring_create,
	 (const char *name, unsigned count, int socket, unsigned flags),
	 (name, count, socket, flags), NO_MEMORY)
GR_FAULT(struct rte_mempool *, rte_mempool_create_empty,
	 (const char *name, unsigned n, unsigned size, unsigned cache, unsigned private, int socket,
	  unsigned flags),
	 (name, n, size, cache, private, socket, flags), NO_MEMORY)
GR_FAULT(int, rte_mempool_set_ops_byname, (struct rte_mempool *mp, const char *name, void *config),
	 (mp, name, config), return -EEXIST)
GR_FAULT(int, rte_mempool_populate_default, (struct rte_mempool *mp), (mp), return -ENOMEM)
GR_FAULT(int, rte_mempool_populate_iova,
	 (struct rte_mempool *mp, char *addr, rte_iova_t iova, size_t len,
	  rte_mempool_memchunk_free_cb_t *free_cb, void *opaque),
	 (mp, addr, iova, len, free_cb, opaque), return -ENOMEM)
