/* Calls from the rest of the package to the wrappers of the memif driver: see memif.c. */
#ifndef GOROCE_ETHDEV_MEMIF_H
#define GOROCE_ETHDEV_MEMIF_H

#include <stdint.h>

/* Called before and after the creation of a device, of the memif or another driver. The first fails
 * without memory; the second releases what the driver leaks when it fails. */
int gr_memif_probe_begin(void);
void gr_memif_probe_end(const char *name, int failed);

/* Closes the listener whose callback has this argument, if there is one. */
void gr_memif_stop_listening(const void *arg);

/* Called before and after the set-up of a port's transmit queues on the calling thread. */
void gr_memif_setup_begin(uint16_t port);
void gr_memif_setup_end(void);

/* Frees the interrupt handles that the set-up made, after the port was closed. */
void gr_memif_closed(uint16_t port);

/* Leaves the interrupt handles to the driver. */
void gr_memif_kept(uint16_t port);

#endif
