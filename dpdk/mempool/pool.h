/* A pool of mbufs, in EAL's memory or in memory of our own with transparent hugepages. */
#ifndef GOROCE_MEMPOOL_POOL_H
#define GOROCE_MEMPOOL_POOL_H

#include <rte_mempool.h>

/* Returns NULL and sets *error on failure. own selects our memory instead of EAL's. */
struct rte_mempool *gr_pool_create(const char *name, unsigned n, unsigned cache, unsigned room,
				   int own, int *error);

#endif
