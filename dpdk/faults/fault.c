/* The counter of calls. The functions that count are exported by the program, so the dynamic linker
 * binds the libraries' calls to them: the program comes first in its order. */
#define _GNU_SOURCE
#include "fault.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned left; /* calls until the one that fails; 0: none does */
static char only[64];
static const char *failed;

void gr_fault_arm(unsigned n, const char *name)
{
	pthread_mutex_lock(&lock);
	left = n;
	failed = NULL;
	snprintf(only, sizeof only, "%s", name);
	pthread_mutex_unlock(&lock);
}

const char *gr_fault_disarm(void)
{
	pthread_mutex_lock(&lock);
	const char *name = failed;
	left = 0;
	failed = NULL;
	pthread_mutex_unlock(&lock);
	return name;
}

int gr_fault(const char *name)
{
	int fail = 0;

	pthread_mutex_lock(&lock);
	if (left > 0 && (only[0] == '\0' || strcmp(only, name) == 0) && --left == 0) {
		failed = name;
		fail = 1;
	}
	pthread_mutex_unlock(&lock);
	return fail;
}

void *gr_fault_real(const char *name)
{
	void *real = dlsym(RTLD_NEXT, name);

	if (real == NULL) {
		fprintf(stderr, "faults: no function %s: %s\n", name, dlerror());
		abort();
	}
	return real;
}
