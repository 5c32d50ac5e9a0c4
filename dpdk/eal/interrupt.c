/* An alarm of EAL expires on its interrupt thread. */
#include "interrupt.h"

#include <rte_alarm.h>

#include "_cgo_export.h"

static void run(void *call)
{
	goOnInterrupt((uintptr_t)call);
}

int gr_on_interrupt(uintptr_t call)
{
	return rte_eal_alarm_set(1, run, (void *)call);
}
