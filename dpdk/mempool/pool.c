#define _GNU_SOURCE
#include "pool.h"

#include <errno.h>
#include <sys/mman.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#define HUGE_PAGE ((size_t)2 << 20)

static size_t whole_pages(size_t size) { return (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1); }

static void give_back(struct rte_mempool_memhdr *hdr, void *size)
{
	munmap(hdr->addr, (size_t)size);
}

/* Returns anonymous memory aligned to a huge page, so that the kernel can use one. */
static void *map_aligned(size_t size)
{
	char *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	char *start = (char *)whole_pages((size_t)p);
	if (start > p)
		munmap(p, start - p);
	munmap(start + size, p + HUGE_PAGE - start);
	madvise(start, size, MADV_HUGEPAGE); /* only for speed: errors do not matter */
	return start;
}

static int populate_own(struct rte_mempool *mp)
{
	size_t object = mp->header_size + mp->elt_size + mp->trailer_size;
	size_t size = whole_pages(object * mp->size + RTE_MEMPOOL_ALIGN);
	void *memory = map_aligned(size);
	int got;

	if (memory == NULL)
		return -ENOMEM;
	got = rte_mempool_populate_iova(mp, memory, (rte_iova_t)memory, size, give_back,
					(void *)size);
	if (got < 0) {
		munmap(memory, size);
		return got;
	}
	return got == (int)mp->size ? got : -ENOMEM;
}

struct rte_mempool *gr_pool_create(const char *name, unsigned n, unsigned cache, unsigned room,
				   int own, int *error)
{
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = room};
	/* Our own memory is not used for DMA: objects may cross pages, and need no gaps. */
	unsigned flags = own ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
	struct rte_mempool *mp;
	int rc;

	mp = rte_mempool_create_empty(name, n, sizeof(struct rte_mbuf) + room, cache,
				      sizeof private, SOCKET_ID_ANY, flags);
	if (mp == NULL) {
		*error = rte_errno;
		return NULL;
	}
	rc = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
	if (rc == 0) {
		rte_pktmbuf_pool_init(mp, &private);
		rc = own ? populate_own(mp) : rte_mempool_populate_default(mp);
	}
	if (rc < 0) {
		rte_mempool_free(mp);
		*error = -rc;
		return NULL;
	}
	rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
	return mp;
}
