/* A guard keeps a queue from accessing memory that another process shares while it is unmapped. */
#ifndef GOROCE_ETHDEV_GUARD_H
#define GOROCE_ETHDEV_GUARD_H

#include <stdatomic.h>
#include <stddef.h>

enum { GR_IDLE, GR_BUSY, GR_SHUT };

struct gr_guard {
	_Alignas(64) atomic_int state;
	struct gr_guard *next;
};

struct gr_guard *gr_guard_new(void);
void gr_guard_free(struct gr_guard *g);
void gr_guard_shut(struct gr_guard *g);

/* Returns once every queue has been outside of its guard since the call. */
void gr_guards_pass(void);

/* Returns false if the guard is shut. A queue without a guard may always enter. */
static inline int gr_enter(struct gr_guard *g)
{
	int idle = GR_IDLE;
	return g == NULL || atomic_compare_exchange_strong(&g->state, &idle, GR_BUSY);
}

static inline void gr_leave(struct gr_guard *g)
{
	if (g != NULL)
		atomic_store_explicit(&g->state, GR_IDLE, memory_order_release);
}

#endif
