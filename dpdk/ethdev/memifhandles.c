/* The memif driver's interrupt handles: see memif.c. */
#include "memif.h"

#include <stdlib.h>

#include <rte_interrupts.h>

/* The driver leaks the interrupt handles of transmit queues, over 20 KiB each. */
struct handle {
	struct handle *next;
	struct rte_intr_handle *handle;
	uint16_t port;
};

static struct handle *handles;
static _Thread_local int setup = -1; /* the port whose queues are being set up */

void gr_memif_setup_begin(uint16_t port) { setup = port; }
void gr_memif_setup_end(void) { setup = -1; }

struct rte_intr_handle *__real_rte_intr_instance_alloc(uint32_t flags);
struct rte_intr_handle *__wrap_rte_intr_instance_alloc(uint32_t flags)
{
	struct rte_intr_handle *handle = __real_rte_intr_instance_alloc(flags);

	if (handle != NULL && setup >= 0) {
		struct handle *h = malloc(sizeof *h);
		if (h == NULL)
			abort();
		*h = (struct handle){handles, handle, setup};
		handles = h;
	}
	return handle;
}

void __real_rte_intr_instance_free(struct rte_intr_handle *handle);
void __wrap_rte_intr_instance_free(struct rte_intr_handle *handle)
{
	if (rte_thread_is_intr()) {
		for (struct handle **link = &handles; *link != NULL; link = &(*link)->next) {
			struct handle *h = *link;
			if (h->handle == handle) {
				*link = h->next;
				free(h);
				break;
			}
		}
	}
	__real_rte_intr_instance_free(handle);
}

void gr_memif_closed(uint16_t port)
{
	struct handle *next;

	for (struct handle *h = handles; h != NULL; h = next) {
		next = h->next;
		if (h->port == port)
			rte_intr_instance_free(h->handle);
	}
}

void gr_memif_kept(uint16_t port)
{
	for (struct handle **link = &handles; *link != NULL;) {
		struct handle *h = *link;
		if (h->port == port) {
			*link = h->next;
			free(h);
		} else {
			link = &h->next;
		}
	}
}
