#include "guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gr_guard *guards;

void gr_guards_pass(void)
{
	pthread_mutex_lock(&lock);
	for (struct gr_guard *g = guards; g != NULL; g = g->next)
		while (atomic_load(&g->state) == GR_BUSY)
			sched_yield();
	pthread_mutex_unlock(&lock);
}

struct gr_guard *gr_guard_new(void)
{
	struct gr_guard *g = aligned_alloc(64, sizeof *g);

	if (g == NULL)
		abort(); /* as Go does */
	atomic_init(&g->state, GR_IDLE);
	pthread_mutex_lock(&lock);
	g->next = guards;
	guards = g;
	pthread_mutex_unlock(&lock);
	return g;
}

void gr_guard_free(struct gr_guard *g)
{
	struct gr_guard **link = &guards;

	pthread_mutex_lock(&lock);
	while (*link != g)
		link = &(*link)->next;
	*link = g->next;
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
