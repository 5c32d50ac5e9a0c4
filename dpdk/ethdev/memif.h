/* What the rest of the package has to tell the memif driver's wrappers: see memif.c. */
#ifndef GOROCE_ETHDEV_MEMIF_H
#define GOROCE_ETHDEV_MEMIF_H

#include <stdint.h>

/* Around the creation of a device, of the memif driver or another. The first fails without memory;
 * the second takes back what the driver forgets when it fails. */
int gr_memif_probe_begin(void);
void gr_memif_probe_end(const char *name, int failed);

/* Closes the listener that the driver would hear of with this argument, if there is one. */
void gr_memif_stop_listening(const void *arg);

/* Around the set-up of a port's transmit queues on the calling thread. */
void gr_memif_setup_begin(uint16_t port);
void gr_memif_setup_end(void);

/* Frees the interrupt handles that were made in its set-up: after the port was closed. */
void gr_memif_closed(uint16_t port);

/* Leaves them to the driver. */
void gr_memif_kept(uint16_t port);

#endif
