/* What the rest of the package has to tell the memif driver's wrappers: see memif.c. */
#ifndef GOROCE_ETHDEV_MEMIF_H
#define GOROCE_ETHDEV_MEMIF_H

#include <stdint.h>

/* Around the set-up of a port's transmit queues on the calling thread. */
void gr_memif_setup_begin(uint16_t port);
void gr_memif_setup_end(void);

/* After the port was closed. */
void gr_memif_closed(uint16_t port);

#endif
