/* DPDK's memif driver unmaps the memory it shares with its peer as soon as the peer is gone, on
 * EAL's interrupt thread, without asking whether a queue is at work there: a peer that dies would
 * take us with it, by a segmentation fault (seen with 22.11, once in some forty kills).
 *
 * The driver first marks the device disconnected, takes and releases a lock, and then calls
 * munmap. So munmap is where we can wait: once every queue has been seen outside, none of them
 * will touch the memory again, because each looks at the mark after it entered. This file is the
 * process's munmap for that reason; it costs other callers nothing but a look at an empty list. */
#define _GNU_SOURCE
#include "guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gr_guard *_Atomic guards;

int munmap(void *addr, size_t length)
{
	if (atomic_load(&guards) != NULL) {
		pthread_mutex_lock(&lock);
		for (struct gr_guard *g = guards; g != NULL; g = g->next)
			while (atomic_load(&g->state) == GR_BUSY)
				sched_yield();
		pthread_mutex_unlock(&lock);
	}
	return syscall(SYS_munmap, addr, length);
}

struct gr_guard *gr_guard_new(void)
{
	struct gr_guard *g = aligned_alloc(64, sizeof *g);

	if (g == NULL)
		abort(); /* as Go itself does */
	atomic_init(&g->state, GR_IDLE);
	pthread_mutex_lock(&lock);
	g->next = guards;
	guards = g;
	pthread_mutex_unlock(&lock);
	return g;
}

void gr_guard_free(struct gr_guard *g)
{
	pthread_mutex_lock(&lock);
	if (guards == g) {
		guards = g->next;
	} else {
		struct gr_guard *before = guards;
		while (before->next != g)
			before = before->next;
		before->next = g->next;
	}
	pthread_mutex_unlock(&lock);
	free(g);
}

void gr_guard_shut(struct gr_guard *g)
{
	int idle;
	do {
		idle = GR_IDLE;
		sched_yield();
	} while (!atomic_compare_exchange_strong(&g->state, &idle, GR_SHUT) && idle != GR_SHUT);
}
