/* Rings of work requests, and how to wake the core that drains them. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "goroce.h"

void gr_queue_init(struct gr_queue *q, const struct gr_ring *ring, uint32_t limit, void *memory)
{
	q->id = ring->queue;
	q->mask = ring->entries - 1;
	q->stride = ring->stride;
	q->limit = limit;
	q->slots = (char *)memory + ring->offset;
}

void gr_lock_slow(gr_lock *lock)
{
	for (int i = 0; atomic_exchange_explicit(lock, 1, memory_order_acquire); i++) {
		if (i % 64 == 63)
			sched_yield();
		else
			__builtin_ia32_pause();
	}
}

bool gr_cores_are_scarce(void)
{
	enum { ENOUGH = 4 }; /* a spinning thread and a polling core, at both ends */
	static atomic_int cores;
	int n = atomic_load_explicit(&cores, memory_order_relaxed);
	if (!n) {
		cpu_set_t set;
		n = sched_getaffinity(0, sizeof(set), &set) ? ENOUGH : CPU_COUNT(&set);
		atomic_store_explicit(&cores, n, memory_order_relaxed);
	}
	return n < ENOUGH;
}

void gr_wake(struct gr_context *c)
{
	unsigned int one = 1;
	if (atomic_compare_exchange_strong(c->asleep, &one, 0))
		syscall(SYS_futex, c->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}
