/* Running Go code on EAL's interrupt thread: see interrupt.c. */
#ifndef GOROCE_EAL_INTERRUPT_H
#define GOROCE_EAL_INTERRUPT_H

#include <stdint.h>

/* Makes the interrupt thread call goOnInterrupt(call). Returns 0 or a negative errno. */
int gr_on_interrupt(uintptr_t call);

#endif
